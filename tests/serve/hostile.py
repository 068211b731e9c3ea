"""Texts that would run if anything took them for markup, and a service whose every answer is made of them."""

from base64 import b64encode
from itertools import product
from typing import Any

PAYLOADS = ("window.hit=1", "top.hit=1", "self['hit']=1")
BEFORE = ("", '">', "'>", "</textarea>", "]]>-->")
VECTORS = (
    "<script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<svg><script>{}</script></svg>",
    "<iframe srcdoc='<script>parent.{}</script>'></iframe>",
    "<details open ontoggle={}>x</details>",
    "<input autofocus onfocus={}>",
    "<video><source onerror={}></video>",
    "<body onload={}>",
    "<a href=javascript:{}>x</a>",
    "javascript:{}",
    "<object data=javascript:{}></object>",
    "<math><mtext><img src onerror={}></mtext></math>",
    "<style onload={}></style>",
    "<marquee onstart={}>x</marquee>",
    "' onmouseover={} x='",
    '" autofocus onfocus={} x="',
    "{{{{constructor.constructor('{}')()}}}}",
    "${{{}}}",
    "<template><img src onerror={}></template>",
)
TEXTS = [before + vector.format(payload) for before, vector, payload in product(BEFORE, VECTORS, PAYLOADS)]
FIELDS = {
    "translation": ["source"],
    "summarization": ["document"],
    "classification": ["text"],
    "tagging": ["text"],
    "answering": ["question", "passage"],
    "language": ["text"],
    "dialogue": ["turns"],
    "masked": ["text"],
    "embedding": ["text"],
}
WHOLE = " ".join(TEXTS)


def models() -> dict[str, Any]:
    """A model of each task; names, scores, caveats and verdicts are hostile."""
    return {"object": "list", "data": [_model(number, task) for number, task in enumerate(FIELDS)]}


def _model(number: int, task: str) -> dict[str, Any]:
    golden = [{"input": dict.fromkeys(FIELDS[task], text), "text": text} for text in TEXTS[number * 5 : number * 5 + 5]]
    told = {"id": task, "task": task, "title": TEXTS[number], "fields": FIELDS[task], "parameters": 1, "golden": golden}
    scores = {text: {"value": 1.0, "signature": text} for text in TEXTS[:3]}
    methods = {"weights": TEXTS[10], "occlusion": TEXTS[11], TEXTS[12]: TEXTS[13]}
    more = {"methods": methods, "scores": scores, "languages": {"source": [TEXTS[14]]}, "settings": {}}
    return told | more | {"writes": True, "looks": True, "audit": TEXTS[15]}


def result() -> dict[str, Any]:
    """A result with the fields of every task."""
    share, places = 1 / len(TEXTS), _spans()
    written = [{"text": text, "score": -1.0, "pieces": [text], "probabilities": [0.5]} for text in TEXTS]
    answers = [{**one, "confidence": share, "start": 0, "end": 1} for one in written]
    entities = [{"start": a, "end": b, "label": text, "text": text, "confidence": 0.5} for (a, b), text in places]
    fills = [[{"text": text, "piece": text, "probability": share} for text in TEXTS]]
    return {
        "text": WHOLE,
        "score": -1.0,
        "status": TEXTS[:4],
        "probabilities": dict.fromkeys(TEXTS, share),
        "alternatives": answers,
        "entities": entities,
        "fills": fills,
        "confidence": 0.5,
        "start": 0,
        "end": 9,
        "vector": [1.0, 0.0],
    }


def _spans() -> list[tuple[tuple[int, int], str]]:
    found, start = [], 0
    for text in TEXTS:
        found.append(((start, start + len(text)), text))
        start += len(text) + 1
    return found


def explored() -> dict[str, Any]:
    """An exploration whose every piece is hostile."""
    count = len(TEXTS)
    axis = {"text": WHOLE, "units": [{"text": text, "span": span, "special": False} for span, text in _spans()]}
    words = [[place, place + 1] for place in range(count)]
    attention = {
        "name": TEXTS[20],
        "title": TEXTS[21],
        "kind": "odd",
        "queries": "outputs",
        "keys": "inputs",
        "layers": 1,
        "heads": 2,
        "rows": count,
        "columns": count,
        "taps": [TEXTS[22]],
        "bytes": b64encode(bytes([1, 200, 3, 60, 5] * (2 * count * count // 5))).decode(),
        "check": 0.0,
    }
    nodes = [
        {"id": n, "parent": n - 1 if n else None, "step": n, "text": text, "piece": n, "score": -1.0}
        | {"probability": 0.5, "state": "won" if n == count - 1 else "kept"}
        for n, text in enumerate(TEXTS)
    ]
    others = [{"text": text, "probability": 0.2, "piece": 1, "joins": False, "ends": False} for text in TEXTS[:5]]
    return {
        "result": result(),
        "inputs": axis,
        "outputs": axis,
        "words": {"inputs": words, "outputs": words},
        "attentions": [attention],
        "probabilities": [0.5] * count,
        "alternatives": [others] * count,
        "pieces": list(range(count)),
        "tree": {"beams": 1, "cut": False, "nodes": nodes},
        "notes": TEXTS[30:32],
    }


def answers() -> dict[str, Any]:
    """What the service says to each route."""
    told = {"source": WHOLE, "text": WHOLE, "outputs": TEXTS, "scores": [-1.0] * 300, "probabilities": [0.3] * 300}
    same = {"before": told, "after": told, "changes": [0.1] * 300, "change": -1.0, "note": TEXTS[40]}
    return {
        "models": models(),
        "predict": {"model": "x", "results": [result(), result()]},
        "explore": explored(),
        "explore/cell": {"formula": TEXTS[41], "text": TEXTS[42]},
        "whatif": same,
    }
