"""The predictions of each kind of model as subjects of an explanation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.errors import RequestError, unknown
from regard.explain import Axis, Unit
from regard.metrics.labels import SEPARATOR
from regard.tasks.generating import OUTPUT_PIECES, numbers
from regard.tasks.subjects import Prediction, at, axis, blank, labelled, named, picked, repeated, said, tensor, written
from regard.text import Tokenizing

EMBEDDED = "encoder.embedding.embedded"


def one_part(parts: Sequence[Any], what: str) -> Any:
    """The only part of what is to be explained."""
    if not parts:
        raise RequestError(f"There is no text to explain: give a {what} with at least one word.")
    if len(parts) > 1:
        raise RequestError(f"The {what} is read in {len(parts)} parts; explain one of them at a time.")
    return parts[0]


def sequence(
    model: Any, inputs: Axis, source: Sequence[int], target: Tokenizing, output: tuple[Sequence[int], str], hidden: int
) -> Prediction:
    """A text that was written after reading another; `hidden` stands for a piece that is taken away."""
    pieces, text = output
    wanted_T = tensor([*pieces, target.end], model)
    before_T = tensor([target.begin, *pieces], model)

    def score(given: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Float[Tensor, "N O"]:
        decoded = model(given, repeated(before_T, len(given)), real)
        return said(model.output, decoded, wanted_T)

    outputs = written(target, pieces, text, [target.end])
    return Prediction(model, inputs, outputs, tensor(source, model), hidden, EMBEDDED, score)


def continued(
    model: Any, inputs: Axis, prompt: Sequence[int], tokenizer: Tokenizing, output: tuple[Sequence[int], str]
) -> Prediction:
    """A text that goes on from another."""
    pieces, text = output
    wanted_T = tensor(pieces, model)

    def score(given: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Float[Tensor, "N O"]:
        if real is not None:
            raise RequestError('Pieces of a prompt cannot be left out, only hidden; set how = "blank".')
        whole_NT = torch.cat([given, repeated(wanted_T[:-1], len(given))], dim=1)
        decoded = model(whole_NT)
        return said(model.output, replace(decoded, hidden=decoded.hidden[:, given.shape[1] - 1 :]), wanted_T)

    if not len(pieces):
        raise RequestError("Nothing was written, so there is nothing to explain; give a target with --target.")
    outputs = written(tokenizer, pieces, text, ())
    return Prediction(model, inputs, outputs, tensor(prompt, model), blank(tokenizer), "embedding.embedded", score)


def translated(task: Any, model: nn.Module, row: Any, recipe: Any, target: str | None) -> Prediction:
    """A translation, or the one that is given."""
    translating, sides = task.translating(model, recipe), task.sides
    job = one_part(translating.work(row).jobs, "source")
    if target is None and row.get(OUTPUT_PIECES):
        pieces = numbers(row, OUTPUT_PIECES)
        output = (pieces, sides.target.decode(pieces))
    elif target is None:
        done = translating.done([job])[0]
        output = (done.hypotheses[0].pieces, done.text)
    else:
        output = (sides.begun(target), target)
    cut, opening = sides.source.encode(job.text), translating.opening
    framed = [*opening, *named(sides.source, sides.source.opening)]
    inputs = axis(job.text, cut, framed, named(sides.source, job.pieces[len(framed) + len(cut) :]))
    return sequence(model, inputs, job.pieces, sides.target, output, blank(sides.source))


def drafted(task: Any, model: nn.Module, row: Any, recipe: Any, target: str | None) -> Prediction:
    """A summary or a reply, or the one that is given."""
    drafting = task.drafting(model, recipe)
    job = one_part(drafting.work(row, task.fields[0]).jobs, task.fields[0])
    if target is None and row.get(OUTPUT_PIECES):
        pieces = numbers(row, OUTPUT_PIECES)
        output = (pieces, task.reader.text(pieces, job.read.words))
    elif target is None:
        draft = drafting.searched([job])[0]
        output = (draft.hypotheses[0].pieces, draft.text)
    else:
        output = (drafting.begun(target, job.read), target)
    inputs = _lines(task, job)
    if not hasattr(model, "encoder"):
        return continued(model, inputs, job.pieces, task.sides.target, output)
    return sequence(model, inputs, job.pieces, task.sides.target, output, blank(task.sides.source))


def _lines(task: Any, job: Any) -> Axis:
    """The pieces of a source of several lines, between what frames them."""
    read, tokenizer = job.read, task.sides.source
    names = task.reader.names(read.pieces, read.words)
    units = [
        Unit(read.text[slice(*span)] or name, span, span[0] == span[1])
        for name, span in zip(names, read.spans, strict=True)
    ]
    framed = [Unit(name, None, True) for name in named(tokenizer, job.pieces[: job.before])]
    after = [Unit(name, None, True) for name in named(tokenizer, job.pieces[job.before + len(units) :])]
    return Axis(read.text, (*framed, *units, *after))


def classified(task: Any, model: Any, row: Any, recipe: Any, target: str | None) -> Prediction:
    """The label of a text, or the one that is given."""
    classifying = task.classifying(model, recipe)
    cut = task.reading.tokenizer.encode(row["text"])
    work = classifying.work(row["text"], cut)
    start, end = one_part(work.windows if len(cut) else (), "text")
    if (start, end) != (0, len(cut)):
        raise RequestError(f"The text has {len(cut)} pieces, more than the model reads at once; explain a part of it.")
    labels = _labels(task, next(iter(classifying([row["text"]]))).text if target is None else target)
    for label in labels:
        if label not in task.labels.names:
            raise RequestError(unknown("label", label, task.labels.names))
    places = torch.tensor([task.labels.names.index(label) for label in labels])

    def score(given: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Float[Tensor, "N O"]:
        logits_NC = model(given, real)
        log_NC = functional.logsigmoid(logits_NC) if task.labels.several else logits_NC.log_softmax(-1)
        return picked(log_NC[:, None].expand(-1, len(places), -1), places.to(log_NC.device))

    tokenizer = task.reading.tokenizer
    inputs = axis(row["text"], cut, named(tokenizer, tokenizer.opening), named(tokenizer, tokenizer.closing))
    source = tensor(task.reading.wrapped(cut.ids), model)
    read = at(torch.zeros_like(places), len(inputs)) if model.head.pooling.how == "first" else None
    return Prediction(model, inputs, labelled(*labels), source, blank(tokenizer), EMBEDDED, score, read)


def _labels(task: Any, said: str) -> list[str]:
    """The label of a text; where there may be several, each of them."""
    if not task.labels.several:
        return [said]
    if not said.strip():
        raise RequestError("The text has none of the labels, so there is none to explain; name one with --target.")
    return [label.strip() for label in said.split(SEPARATOR)]


def tagged(task: Any, model: Any, row: Any, recipe: Any, target: str | None) -> Prediction:
    """The tags of words, or those that are given with spaces between."""
    tagging = task.tagging(model, recipe)
    work = tagging.taking.works([row])[0]
    sentence = one_part(work.parts if work.words else (), "text")
    given = task.words.tensors([sentence], next(model.parameters()).device)
    tags = target.split() if target is not None else [task.tags[number] for number in tagging.decided([work])[0].tags]
    _checked(tags, work, task.tags)
    chosen_W = torch.tensor([task.tags.index(tag) for tag in tags], device=given.pieces.device)

    def score(pieces: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Float[Tensor, "N O"]:
        words = _versions(given, pieces, real)
        emissions_NWC = words.through(model)
        return picked(model.marginals(emissions_NWC, words.words_real).clamp(min=1e-30).log(), chosen_W)

    tokenizer = task.words.reading.tokenizer
    inputs, outputs = _words(work, sentence, tokenizer), _tags(work, tags)
    read = at(given.first[0], len(inputs))
    return Prediction(model, inputs, outputs, given.pieces[0], blank(tokenizer), EMBEDDED, score, read)


def _versions(given: Any, pieces: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Any:
    """Words with other pieces; one that was changed loses its letters and its look too."""
    count, same_NS = len(pieces), pieces == given.pieces

    def spread(one: Tensor | None) -> Tensor | None:
        return None if one is None else one.expand(count, *one.shape[1:])

    letters_real, looks = spread(given.letters_real), spread(given.looks)
    return replace(
        given,
        pieces=pieces,
        real=spread(given.real) if real is None else real,
        letters=spread(given.letters),
        letters_real=None if letters_real is None else letters_real & same_NS[..., None],
        looks=None if looks is None else looks * same_NS,
        first=spread(given.first),
        words_real=spread(given.words_real),
    )


def _words(work: Any, sentence: Any, tokenizer: Any) -> Axis:
    """The pieces of words; those of one word share its characters."""
    units = [
        Unit(word.text if len(pieces) == 1 else tokenizer.piece(piece), (word.start, word.end))
        for word, pieces in zip(work.words, sentence.pieces, strict=True)
        for piece in pieces
    ]
    opening = [Unit(name, None, True) for name in named(tokenizer, tokenizer.opening)]
    closing = [Unit(name, None, True) for name in named(tokenizer, tokenizer.closing)]
    return Axis(work.text, (*opening, *units, *closing))


def marked(task: Any, model: Any, row: Any, recipe: Any, target: str | None) -> Prediction:
    """The tags a model wrote for words, or those that are given with spaces between."""
    writing = task.writing(model, recipe)
    work = writing.taking.works([row])[0]
    sentence = one_part(work.parts if work.words else (), "text")
    tokenizer = task.sides.target
    own = [tokenizer.piece(piece) for piece in writing.written([sentence])[0].pieces] if target is None else []
    tags = _checked(own if target is None else target.split(), work, tokenizer.pieces)
    wanted_T = tensor([tokenizer.id(tag) for tag in tags], model)
    before_T = tensor([tokenizer.begin, *wanted_T[:-1].tolist()], model)
    end = torch.tensor([tokenizer.end], device=wanted_T.device)

    def score(given: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Float[Tensor, "N O"]:
        decoded = model(given, repeated(before_T, len(given)), real)
        # As many tags as words are written, so that what an end would have had is theirs.
        log_NTV = model.output.log_probabilities(decoded).index_fill(-1, end, -torch.inf).log_softmax(-1)
        return picked(log_NTV, wanted_T)

    source, outputs = task.sides.source, _tags(work, tags)
    pieces = tensor(task.words.flat(sentence), model)
    return Prediction(model, _words(work, sentence, source), outputs, pieces, blank(source), EMBEDDED, score)


def _checked(tags: Sequence[str], work: Any, known: Sequence[str]) -> Sequence[str]:
    if len(tags) != len(work.words):
        raise RequestError(f"{len(tags)} tags for {len(work.words)} words; give one for each.")
    if strangers := [tag for tag in tags if tag not in known]:
        raise RequestError(unknown("tag", strangers[0], known))
    return tags


def _tags(work: Any, tags: Sequence[str]) -> Axis:
    units = tuple(Unit(f"{word.text}/{tag}") for word, tag in zip(work.words, tags, strict=True))
    return Axis(work.text, units)


def gone_on(task: Any, model: Any, row: Any, recipe: Any, target: str | None) -> Prediction:
    """What follows a prompt, or what is given to follow it."""
    continuing, tokenizer = task.continuing(model, recipe), task.reading.tokenizer
    work = continuing.work(row)
    one_part([work] if work.pieces else (), "prompt")
    text = row.get("text", "")
    cut = tokenizer.encode(text)
    framed = len(work.pieces) - len(cut)
    if framed < 0 or tuple(work.pieces[framed:]) != tuple(cut.ids):
        inputs = Axis(text, tuple(Unit(name, None) for name in named(tokenizer, work.pieces)))
    else:
        inputs = axis(text, cut, named(tokenizer, work.pieces[:framed]))
    if target is None:
        whole = numbers(row, OUTPUT_PIECES) if row.get(OUTPUT_PIECES) else _written(continuing, work)
        output = (whole, tokenizer.decode(whole))
    else:
        output = (tokenizer.encode(target).ids, target)
    return continued(model, inputs, work.pieces, tokenizer, output)


def _written(continuing: Any, work: Any) -> tuple[int, ...]:
    [hypotheses] = continuing.searched_in_groups([work])
    return tuple(hypotheses[0].pieces)
