"""What Hugging Face's InferenceClient asks for, pointed at one address a bundle: POST /hf/NAME.

It sends {"inputs", "parameters"} to the bare address, whatever the task; the bundle's own decides what is given back.
A parameter that would change the answer and cannot be done is refused.
"""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Response

from regard.errors import RequestError
from regard.serve.answers import PlainError
from regard.serve.client_answers import ConversationResponse, HuggingFaceResponse
from regard.serve.huggingface_reading import answering, classification, embedding, masked, tagging
from regard.serve.huggingface_requests import Body, HuggingFaceRoute
from regard.serve.huggingface_writing import generation, summarization, translation
from regard.serve.openai_clients import answered, replying, talker
from regard.serve.openai_requests import Conversation
from regard.serve.problems import refusing
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Served, Shelf

# What answers for each task.
ANSWERS: dict[str, Callable[[Served, Body, ServeSettings], Awaitable[Response]]] = {
    "translation": translation,
    "summarization": summarization,
    "classification": classification,
    "tagging": tagging,
    "tagging_generative": tagging,
    "answering": answering,
    "language": generation,
    "dialogue": generation,
    "masked": masked,
    "embedding": embedding,
}


def router(shelf: Shelf, settings: ServeSettings) -> APIRouter:
    """One address for each bundle."""
    routes = APIRouter(route_class=HuggingFaceRoute, tags=["Hugging Face"], responses=refusing(PlainError))

    @routes.post("/hf/{name}", response_model=HuggingFaceResponse)
    async def ask(name: str, body: Body) -> Response:
        """What InferenceClient(model=".../hf/NAME") asks for, by the task of the bundle."""
        served = shelf.find(name)
        if served.task not in ANSWERS:
            raise RequestError(f"The task {served.task} has no form of Hugging Face's; ask at /v1/predict.")
        return await ANSWERS[served.task](served, body, settings)

    @routes.post("/hf/{name}/v1/chat/completions", response_model=ConversationResponse)
    async def talk(name: str, body: Conversation) -> Response:
        """What its `chat_completion` asks for; whatever model the body names, it is the one of the address."""
        return await answered(replying(talker(shelf, name), body, settings))

    @routes.get("/hf/{name}/health")
    async def health(name: str) -> Response:
        """Nothing, where there is such a bundle."""
        shelf.find(name)
        return Response()

    return routes
