"""What LibreTranslate's clients ask for: /translate, /languages, /detect.

Bodies are forms or JSON. Errors are {"error": "..."}, with 400 for whatever is wrong about a request.
"""

from asyncio import to_thread
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, ValidationError

from regard.errors import ConfigError, RequestError
from regard.serve import html
from regard.serve.answers import PlainError
from regard.serve.client_answers import Detection, FrontendResponse, Language, TranslateResponse
from regard.serve.client_routes import Told
from regard.serve.detecting import Detected, detected
from regard.serve.languages import Pair, name_of, pairs, split
from regard.serve.problems import Json, Unreadable, refusing
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf
from regard.tasks import Result
from regard.tasks.translating import Translation

Body = TypeVar("Body", bound=BaseModel)
AUTO = "auto"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class LibreTranslateRoute(Told):
    """What is wrong about a request is 400 to these clients; a key that is not ours is 403."""

    statuses: ClassVar[dict[int, int]] = {401: 403, 404: 400, 413: 400, 415: 400, 422: 400}


class TranslateBody(BaseModel):
    """What is to be translated; the key, where there is one, is looked at before."""

    q: str | list[str]
    source: str = Field(min_length=1)
    target: str = Field(min_length=1)
    format: str | None = None
    alternatives: int = Field(default=0, ge=0)

    @property
    def texts(self) -> list[str]:
        return [self.q] if isinstance(self.q, str) else self.q


class DetectBody(BaseModel):
    """The text whose language is asked for."""

    q: str | list[str]


class Translated(NamedTuple):
    """One text in the other language, what else it could be, and what language it was taken to be in."""

    text: str
    alternatives: list[str]
    detected: Detected


def router(shelf: Shelf, settings: ServeSettings) -> APIRouter:
    """LibreTranslate's routes over the translators of the shelf."""
    told = settings.languages
    for name, pair in told.items():
        if name not in shelf or not all(split(pair)):
            raise ConfigError(
                f"serve.languages.{name} = {pair!r}: expected a served model ({', '.join(shelf)}) and a pair of "
                "languages such as en-de."
            )
    routes = APIRouter(route_class=LibreTranslateRoute, tags=["LibreTranslate"], responses=refusing(PlainError))

    @routes.get("/languages", response_model=list[Language])
    async def languages() -> Response:
        """The languages that are served, and into which each is translated."""
        return Json(listed(pairs(shelf, told)))

    @routes.post("/translate", response_model=TranslateResponse, openapi_extra=_documented(TranslateBody))
    async def translate(request: Request) -> Response:
        """Texts in another language."""
        body = read(TranslateBody, await fields(request))
        found = await Translator(pairs(shelf, told), settings)(body)
        return Json(answer(body, found))

    @routes.post("/detect", response_model=list[Detection], openapi_extra=_documented(DetectBody))
    async def detect(request: Request) -> Response:
        """Which of the served languages a text is in, the likeliest first; confidence in percent."""
        body = read(DetectBody, await fields(request))
        text = body.q if isinstance(body.q, str) else "\n".join(body.q)
        found = await to_thread(detected, text, known(pairs(shelf, told)))
        return Json([one.plain() for one in found])

    @routes.get("/frontend/settings", response_model=FrontendResponse)
    async def frontend() -> Response:
        """What programs with a window of their own ask first."""
        return Json(shown(pairs(shelf, told), settings))

    return routes


class Translator:
    """Texts into one language, each by the bundle for the language it is in."""

    def __init__(self, served: Sequence[Pair], settings: ServeSettings) -> None:
        self.pairs, self.settings = {(pair.source, pair.target): pair for pair in served}, settings

    async def __call__(self, body: TranslateBody) -> list[Translated]:
        if body.format not in (None, "", "text", "html"):
            raise RequestError(f"{body.format[:40]} format is not supported")
        if body.alternatives >= self.settings.beams:
            raise RequestError(f"{body.alternatives} alternatives; fewer than {self.settings.beams} may be asked for.")
        languages = known(list(self.pairs.values()))
        for language, able in ((body.source, [AUTO, *languages]), (body.target, languages)):
            if language not in able:
                raise RequestError(f"{language[:40]} is not supported")
        # The first text ever loads the detector.
        sources = await to_thread(lambda: [self.source(text, body) for text in body.texts])
        together: dict[str, list[int]] = defaultdict(list)
        for place, source in enumerate(sources):
            together[source.language].append(place)
        found: dict[int, Translated] = {}
        for language, places in together.items():
            made = await self.translated(language, [body.texts[place] for place in places], body)
            found |= {place: Translated(*one, sources[place]) for place, one in zip(places, made, strict=True)}
        return [found[place] for place in range(len(sources))]

    def source(self, text: str, body: TranslateBody) -> Detected:
        """The language of a text: as told, or the likeliest of those it can be translated from."""
        if body.source != AUTO:
            return Detected(body.source, 100.0)
        able = [source for source, target in self.pairs if target == body.target]
        return detected(text, [*able, body.target])[0]

    async def translated(self, source: str, texts: list[str], body: TranslateBody) -> list[tuple[str, list[str]]]:
        """Each text in the other language, with alternatives; one that is in it already stays as it is."""
        if source == body.target:
            return [(text, []) for text in texts]
        pair = self.pairs.get((source, body.target))
        if pair is None:
            target, other = name_of(body.target), name_of(source)
            raise RequestError(
                f"{target} ({body.target}) is not available as a target language from {other} ({source})"
            )
        changes = [*pair.changes, *self.changes(pair, body)]
        rows = [{"source": html.opened(text) if body.format == "html" else text} for text in texts]
        results = await pair.served.predict(rows, changes)
        return [told(text, result, body) for text, result in zip(texts, results, strict=True)]

    def changes(self, pair: Pair, body: TranslateBody) -> list[str]:
        """What is asked for as settings; a beam search finds as many as it has beams."""
        found = ["predict.marks=true"] if body.format == "html" else []
        if body.alternatives and body.format != "html":
            search, best = pair.served.pipeline.recipe.search, body.alternatives + 1
            found += [f"search.best={best}", f"search.beams={max(best, search.beams)}"]
            found += ["search.method=beam"] if search.method == "greedy" else []
        return found


def told(text: str, result: Result, body: TranslateBody) -> tuple[str, list[str]]:
    """A translation, and what else it could be; of HTML only the translation, as others have no tags."""
    if "refused" in result.status:
        raise RequestError("The text is longer than this model reads, and was not to be split; send it in parts.")
    if body.format == "html":
        return html.closed(result.text, text), []
    others = result.alternatives or () if isinstance(result, Translation) else ()
    texts = dict.fromkeys(one.text for one in others)
    return result.text, [other for other in texts if other != result.text][: body.alternatives]


def answer(body: TranslateBody, found: Sequence[Translated]) -> dict[str, Any]:
    """Translations as these clients have them: a list where a list was given."""
    parts: dict[str, list[Any]] = {"translatedText": [one.text for one in found]}
    if body.source == AUTO:
        parts["detectedLanguage"] = [one.detected.plain() for one in found]
    if body.alternatives:
        parts["alternatives"] = [one.alternatives for one in found]
    return {name: value[0] if isinstance(body.q, str) else value for name, value in parts.items()}


def listed(served: Sequence[Pair]) -> list[dict[str, Any]]:
    """Every language that is translated from or into, and its targets; a text may stay as it is."""
    targets: dict[str, list[str]] = {language: [language] for language in known(served)}
    for pair in served:
        targets[pair.source].append(pair.target)
    return [{"code": code, "name": name_of(code), "targets": sorted(found)} for code, found in targets.items()]


def known(served: Sequence[Pair]) -> list[str]:
    """All languages, those that are translated from first."""
    return list(dict.fromkeys([*(pair.source for pair in served), *(pair.target for pair in served)]))


def shown(served: Sequence[Pair], settings: ServeSettings) -> dict[str, Any]:
    first = served[0] if served else None
    return {
        "charLimit": settings.characters,
        "frontendTimeout": 500,
        "apiKeys": settings.api_key_file is not None,
        "keyRequired": settings.api_key_file is not None,
        "suggestions": False,
        "filesTranslation": False,
        "supportedFilesFormat": [],
        "language": {
            "source": {"code": AUTO, "name": "Auto Detect"},
            "target": {"code": first.target, "name": name_of(first.target)} if first else None,
        },
    }


async def fields(request: Request) -> dict[str, Any]:
    """The fields of a body, which is a form or JSON; a field that a form has several times is a list."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        try:
            found = await request.json()
        except (ValueError, RecursionError):
            raise RequestError("The body is no JSON.") from None
        if not isinstance(found, dict):
            raise RequestError("The body is no JSON object.")
        return found
    if kind not in FORMS:
        raise Unreadable(f"A body of the kind {kind[:60]!r} is not read here; send a form or JSON.")
    async with request.form() as form:
        given = {name: form.getlist(name) for name in form}
    return {name: values if len(values) > 1 else values[0] for name, values in given.items()}


def read(kind: type[Body], given: Mapping[str, Any]) -> Body:
    """A body of its kind; the first thing that is wrong about it is told as LibreTranslate tells it."""
    if not given.get("q"):
        raise RequestError("Invalid request: missing q parameter")
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] in ("missing", "string_too_short"):
            raise RequestError(f"Invalid request: missing {name} parameter") from None
        raise RequestError(f"Invalid request: {name}: {first['msg']}") from None


def _documented(kind: type[BaseModel]) -> dict[str, Any]:
    """The body in the service's own description: as JSON or as a form."""
    schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
    content = {media: {"schema": schema} for media in ("application/json", *FORMS)}
    return {"requestBody": {"required": True, "content": content}}
