"""A bundle exported: verified before it has its name, run by the same command, and gone without a trace if it fails."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from regard.api import Pipeline, exported_huggingface, exported_transformers, exporting
from regard.api.exporting import TARGETS, export, farthest
from regard.api.importing import from_huggingface
from regard.cli.app import app
from regard.convert.ctranslate2 import Pieces, write
from regard.convert.ctranslate2.models import unlike
from regard.convert.huggingface.tokenizing import write as write_tokenizer
from regard.demo import DEMOS
from regard.errors import ConfigError, DataError, RegardError
from regard.tasks import Recipe
from tests.engines.toys import BRIEF, SEQUENCES, SIZE, made, pipeline
from tests.tasks import test_masked as masked

ctranslate2 = pytest.importorskip("ctranslate2")
pytest.importorskip("onnxruntime")
transformers = pytest.importorskip("transformers")

SMALL = {
    "translation": ("model.width=16",),
    "dialogue": ("model.width=16",),
    "language": ("model.width=16",),
    "summarization": ("model.encoder.width=16", "model.decoder.width=16"),
    "classification": ("model.width=16",),
    "tagging": ("model.width=16",),
    "answering": ("model.width=16", "head.width=16"),
}
# What the demos' models cannot become: they are recurrent.
NEVER = {(task, target) for task in ("summarization", "classification", "tagging", "answering") for target in TARGETS}
NEVER -= {(task, "onnx") for task in SMALL}
NEVER.add(("language", "shortlist"))
# What may write other texts than the model: how other they are is told instead.
LOSSY = {"shortlist"}


def test_every_demo_is_here() -> None:
    assert set(SMALL) == {"translation", *DEMOS}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("task", SMALL)
def test_every_task_is_exported_or_it_is_said_why_not(task: str, target: str, tmp_path: Path) -> None:
    ours = pipeline(task, *SMALL[task])
    if (task, target) in NEVER:
        with pytest.raises(ConfigError) as refused:
            export(ours, target, tmp_path / "out")
        assert str(refused.value).endswith(".")
        assert "\n" not in str(refused.value)
        assert list(tmp_path.iterdir()) == []
        return
    found = export(ours, target, tmp_path / "out")
    assert (found.differences.bleu is not None) == bool(found.costs) == (target in LOSSY)
    assert target in LOSSY or found.differences.others == 0
    assert target in LOSSY or found.differences.largest < 1e-3
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    told = json.loads((tmp_path / "out" / "export.json").read_text())
    assert set(told["files"]) == {str(path.relative_to(tmp_path / "out")) for path in files(tmp_path / "out")}


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != "export.json"]


@pytest.mark.parametrize("target", ["ctranslate2", "onnx"])
def test_the_folder_of_an_export_is_predicted_with(target: str, tmp_path: Path) -> None:
    ours = pipeline("translation", *SMALL["translation"])
    export(ours, target, tmp_path / "out")
    theirs = Pipeline.load(tmp_path / "out", ["device=cpu"], engine=target)
    rows = [entry["input"] for entry in ours.golden]
    assert [one.text for one in theirs.predict(rows)] == [one.text for one in ours.predict(rows)]
    path = tmp_path / "out" / ("model.bin" if target == "ctranslate2" else "step.onnx")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match="is not what was exported"):
        Pipeline.load(tmp_path / "out", ["device=cpu"], engine=target)


def test_an_export_for_transformers_comes_back_with_its_two_tokenizers(tmp_path: Path) -> None:
    ours = pipeline("translation", *SMALL["translation"])
    export(ours, "huggingface", tmp_path / "out")
    again = from_huggingface(tmp_path / "out").with_settings(*BRIEF)
    rows = [entry["input"] for entry in ours.golden]
    assert [one.text for one in again.predict(rows)] == [one.text for one in ours.predict(rows)]


ENCODER = ("model.name=transformer", "model.width=16", "model.layers=1", "model.attention.heads=2")
NORMED = (*ENCODER, "model.embedding.norm=true")
HEADS = {
    "classification": (*NORMED, "head.pooling={how='first',layer='tanh'}", "head.dropout=0.3"),
    "tagging": (*NORMED, "head.crf=false", "head.characters=false", "head.looks=false", "head.dropout=0.3"),
    "answering": (*NORMED, "head={name='spans'}", "model.embedding.segments=2"),
    "dialogue": ("model.width=16",),
}


@pytest.mark.parametrize(
    ("task", "changes"),
    [*HEADS.items(), ("tagging", (*HEADS["tagging"], "tags.learn=bioes", "model.position={name='learned',length=40}"))],
)
def test_an_export_for_transformers_comes_back_to_its_task(task: str, changes: tuple[str, ...], tmp_path: Path) -> None:
    ours = pipeline(task, *changes)
    export(ours, "huggingface", tmp_path / "out")
    again = from_huggingface(tmp_path / "out", "dialogue" if task == "dialogue" else "")
    assert again.recipe.task == task
    assert again.facts["left"] == []
    rows = [entry["input"] for entry in ours.golden]
    for one, other in zip(ours.predict(rows), again.predict(rows), strict=True):
        assert farthest(one.plain(), other.plain()) < 1e-3
    if task in ("tagging", "classification"):
        told = transformers.AutoConfig.from_pretrained(tmp_path / "out")
        mine, theirs = (made.task.tags if task == "tagging" else made.task.labels.names for made in (ours, again))
        assert tuple(told.id2label.values()) == mine == theirs
        assert again.recipe.head == ours.recipe.head


def test_an_exported_reader_answers_what_ours_answers_by_transformers_own_tokenizer(tmp_path: Path) -> None:
    changes = (*HEADS["answering"], "predict.no_answer=never", "predict.longest_answer=1", "model.embedding.segments=2")
    ours = pipeline("answering", *changes)
    with torch.no_grad():
        # Which of the two texts a piece is in matters a great deal.
        ours.model.encoder.embedding.segments.normal_(0.0, 3.0)
    export(ours, "huggingface", tmp_path / "out")
    cut = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    theirs = transformers.AutoModelForQuestionAnswering.from_pretrained(tmp_path / "out").eval()
    for entry in ours.golden:
        row = entry["input"]
        given = cut(row["question"], row["passage"], return_tensors="pt")
        assert set(given["token_type_ids"][0].tolist()) == {0, 1}
        with torch.no_grad():
            found = theirs(**given)
        scores = (found.start_logits + found.end_logits)[0]
        inside = [place for place, text in enumerate(given.sequence_ids()) if text == 1]
        (wanted,) = ours.predict([row])
        assert float(scores[inside].max() - scores[0]) == pytest.approx(wanted.score, abs=1e-3)


def test_quantizing_tells_the_difference_and_leaves_the_model_alone(tmp_path: Path) -> None:
    ours = pipeline("dialogue", *SMALL["dialogue"])
    before = {name: value.clone() for name, value in ours.model.state_dict().items()}
    found = export(ours, "ctranslate2", tmp_path / "out", "int8")
    assert found.differences.bleu is not None
    assert found.differences.inputs == len(ours.golden)
    # Beams may have been left to our own search; what is told is the worse of theirs and greedy search.
    greedy = ours.with_settings("search.method=greedy", "search.best=1")
    rows = [entry["input"] for entry in ours.golden]
    pairs = zip(greedy.predict(rows), greedy.with_engine("ctranslate2", tmp_path / "out").predict(rows), strict=True)
    assert found.differences.others >= sum(one.text != other.text for one, other in pairs)
    assert all(torch.equal(before[name], value) for name, value in ours.model.state_dict().items())


@pytest.mark.parametrize("quantize", exporting.QUANTIZATIONS)
@pytest.mark.parametrize("task", ["dialogue", "answering"])
def test_numbers_that_a_processor_lacks_are_told_of(
    task: str, quantize: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ours = pipeline(task, *(HEADS if task == "answering" else SMALL)[task])
    found = export(ours, "ctranslate2", tmp_path / "out", quantize)
    assert "compute type" not in capfd.readouterr().err
    told = json.loads((tmp_path / "out" / "export.json").read_text())
    runs = ctranslate2.Translator if task == "dialogue" else ctranslate2.Encoder
    used = runs(str(tmp_path / "out")).compute_type
    lacking = not used.startswith(quantize)
    assert [used in note for note in found.notes if note.startswith("quantize = ")] == [True] * lacking
    assert told.get("compute_type") == (used if lacking else None)


def test_an_export_that_gives_something_else_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = pipeline("translation", *SMALL["translation"])
    written = TARGETS["ctranslate2"]

    def spoilt(given: Pipeline, folder: Path, quantize: str, recipe: Recipe) -> Any:
        other = made("transformer", SEQUENCES["pre"])
        assert other is not None
        stored = written(given, folder, quantize, recipe)
        with torch.no_grad():
            given.model.output.readout.weight.add_(torch.randn_like(given.model.output.readout.weight))
        return stored

    monkeypatch.setitem(TARGETS, "ctranslate2", spoilt)
    kept = ours.model.output.readout.weight.detach().clone()
    try:
        with pytest.raises(DataError, match="does not give what the model gives"):
            export(ours, "ctranslate2", tmp_path / "out")
    finally:
        ours.model.output.readout.weight.data.copy_(kept)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is there already"):
        export(pipeline("dialogue", *SMALL["dialogue"]), "onnx", tmp_path)
    with pytest.raises(ConfigError, match="only ctranslate2 can"):
        export(pipeline("dialogue", *SMALL["dialogue"]), "onnx", tmp_path / "new", "int8")


def test_the_command_exports_and_refuses(tmp_path: Path) -> None:
    pipeline("dialogue", *SMALL["dialogue"]).save(tmp_path / "bundle")
    arguments = ["export", str(tmp_path / "bundle"), "--to", "ctranslate2", "--out", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert json.loads(done.stdout)["same"] == 3
    with pytest.raises(RegardError, match="is there already"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_pieces_without_a_name_of_their_own_get_one() -> None:
    assert len(set(unlike(["a", "", "a", ""]))) == 4


def test_a_spec_holds_copies(tmp_path: Path) -> None:
    model = made("transformer", SEQUENCES["pre"])
    before = model.encoder.embedding.vectors.detach().clone()
    names = [f"piece {number}" for number in range(SIZE)]
    write(model, Pieces.of(names, names, 1, 2, 3), tmp_path, "int8")
    assert torch.equal(model.encoder.embedding.vectors, before)
    assert np.fromfile(tmp_path / "model.bin", dtype=np.int8).size


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ({"a": [1.0, {"b": 2}]}, {"a": [1.5, {"b": 2}]}, 0.5),
        ({"a": "x"}, {"a": "y"}, float("inf")),
        ([1.0], [1.0, 2.0], float("inf")),
        ({"a": None}, {"a": None}, 0.0),
    ],
)
def test_distances_are_taken_of_numbers_in_the_same_place(one: Any, other: Any, distance: float) -> None:
    assert farthest(one, other) == distance


LANGUAGE = ("model.width=16", "search.method=greedy", "predict.longest=40")


@pytest.mark.parametrize("begin", [True, False])
def test_transformers_goes_on_with_a_prompt_as_ours_does(begin: bool, tmp_path: Path) -> None:
    ours = pipeline("language", *LANGUAGE, f"predict.begin={str(begin).lower()}")
    export(ours, "huggingface", tmp_path / "out")
    cut = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    prompts = [entry["input"]["text"] for entry in ours.golden]
    for prompt, wanted in zip(prompts, ours.predict(prompts), strict=True):
        given = cut(prompt, return_tensors="pt")
        written = theirs.generate(**given)[0, given["input_ids"].shape[1] :]
        pieces = [piece for piece in cut.convert_ids_to_tokens(written) if piece != cut.eos_token]
        assert pieces == list(wanted.pieces)


LLAMA = (
    "model.position=rotary",
    "model.norm=rms",
    "model.attention.bias=false",
    "model.feedforward={hidden=24,gated=true,activation='silu',bias=false}",
)
FORMS = {"gpt2": (), "llama": LLAMA, "qwen3": (*LLAMA, "model.attention.normed=true")}


@pytest.mark.parametrize("form", FORMS)
def test_transformers_goes_on_with_padded_prompts_as_with_each_alone(form: str, tmp_path: Path) -> None:
    ours = pipeline("language", *LANGUAGE, "predict.pieces=12", *FORMS[form])
    export(ours, "huggingface", tmp_path / "out")
    cut = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    assert theirs.config.model_type == form
    text = ours.golden[0]["input"]["text"]
    prompts = [text[:4], text[:30], text[:14]]
    together = cut(prompts, padding=True, return_tensors="pt")
    assert len(set(together["attention_mask"].sum(1).tolist())) == 3

    def gone_on(given: Any) -> list[str]:
        written = theirs.generate(**given)[:, given["input_ids"].shape[1] :]
        return cut.batch_decode(written, skip_special_tokens=True)

    alone = [gone_on(cut([prompt], return_tensors="pt"))[0] for prompt in prompts]
    assert gone_on(together) == alone == [one.text.lstrip() for one in ours.predict(prompts)]


@pytest.mark.parametrize(("task", "side"), [("language", "left"), ("dialogue", "left"), ("translation", "right")])
def test_padding_stands_before_a_text_that_is_gone_on_with(task: str, side: str, tmp_path: Path) -> None:
    changes = ("model.name=transformer_language",) if task == "dialogue" else ()
    export(pipeline(task, *SMALL[task], *changes), "huggingface", tmp_path / "out")
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "out").padding_side == side


@pytest.mark.parametrize(
    ("target", "settings"),
    [
        ("ctranslate2", ["predict.glossary"]),
        ("ctranslate2", ["predict.simultaneous"]),
        ("onnx", ["predict.simultaneous"]),
        ("onnx", []),
        ("huggingface", ["predict.glossary", "predict.alignment", "predict.marks"]),
        ("huggingface", ["predict.simultaneous"]),
    ],
)
def test_an_export_tells_what_is_asked_around_a_search_and_left_out(
    target: str, settings: list[str], tmp_path: Path
) -> None:
    ours = pipeline("translation", *SMALL["translation"])
    (tmp_path / "terms.tsv").write_text("reads\tliest\nbook\tBuch\n", "utf-8")
    asked = {
        "predict.glossary": f"predict.glossary={tmp_path / 'terms.tsv'}",
        "predict.simultaneous": "predict.simultaneous.words=2",
        "predict.alignment": "predict.alignment=true",
        "predict.marks": "predict.marks=true",
    }
    # What onnx keeps is nothing to be told of.
    kept = settings or ["predict.glossary", "predict.alignment"]
    found = export(ours.with_settings(*map(asked.__getitem__, kept)), target, tmp_path / "out")
    assert [note.split(":")[0] for note in found.notes if note.startswith("predict.")] == settings
    assert found.differences.others == 0
    assert json.loads((tmp_path / "out" / "export.json").read_text())["target"] == target


def test_how_many_turns_are_read_is_left_out_and_told(tmp_path: Path) -> None:
    ours = pipeline("dialogue", *SMALL["dialogue"], "history=2")
    assert any(note.startswith("history = 2: ") for note in export(ours, "huggingface", tmp_path / "out").notes)
    ours = pipeline("language", *LANGUAGE).with_settings("predict.chat=chatml")
    assert any(note.startswith("predict.chat: ") for note in export(ours, "huggingface", tmp_path / "chat").notes)


PLAIN_DIALOGUE = ("model.width=16", "model.name=transformer_language")


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        ("language", (*LANGUAGE, *LLAMA)),
        ("dialogue", (*PLAIN_DIALOGUE, "search.no_repeat=2")),
        ("dialogue", (*SMALL["dialogue"], "search.no_repeat=2")),
        ("translation", (*SMALL["translation"], "search.method=sample", "search.top_p=0.5", "search.length=wu")),
    ],
)
def test_transformers_itself_is_asked_to_write_golden_texts(
    task: str, changes: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    compared = exported_transformers._compared
    monkeypatch.setattr(
        exported_transformers, "_compared", lambda *given: (seen.append(len(given[-1])), compared(*given))[1]
    )
    export(pipeline(task, *changes), "huggingface", tmp_path / "out")
    assert len(seen) == 3
    assert min(seen) > 0


def padded_after(tokenizer: Any, folder: Path, *given: Any) -> None:
    """A tokenizer as it was written before padding had a side."""
    write_tokenizer(tokenizer, folder, *given)
    path = folder / "tokenizer_config.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"padding_side": "right"}))


def ended(tokenizer: Any, folder: Path, longest: int, segments: bool, frame: Any) -> None:
    """A tokenizer that ends a text that is gone on with."""
    write_tokenizer(tokenizer, folder, longest, segments, frame._replace(closing=(tokenizer.end,)))


@pytest.mark.parametrize("wrong", [padded_after, ended])
def test_an_export_with_which_transformers_writes_something_else_is_none(
    wrong: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = pipeline("language", *LANGUAGE)
    texts = [ours.golden[0]["input"]["text"][:size] for size in (4, 30, 14)]
    ours = ours.with_golden([{"text": text} for text in texts])
    monkeypatch.setattr(exported_huggingface.tokenizing, "write", wrong)
    with pytest.raises(DataError, match="does not give what the model gives"):
        export(ours, "huggingface", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_transformers_cannot_be_asked_to_write_is_told(tmp_path: Path) -> None:
    ours = pipeline("language", *LANGUAGE)
    ours = ours.with_settings(f"predict.ends={json.dumps([ours.task.reading.tokenizer.piece(9)])}")
    notes = export(ours, "huggingface", tmp_path / "out").notes
    assert any("several pieces end a text" in note for note in notes)


def test_a_language_model_comes_back_with_how_it_is_asked(tmp_path: Path) -> None:
    ours = pipeline("language", *LANGUAGE, "predict.pieces=50")
    export(ours, "huggingface", tmp_path / "out")
    again = from_huggingface(tmp_path / "out")
    assert again.recipe.predict.begin
    assert again.recipe.predict.longest == 40
    assert again.recipe.predict.pieces == 50
    prompts = ["", *(entry["input"]["text"] for entry in ours.golden), ours.golden[0]["input"]["text"] * 5]
    for one, other in zip(ours.predict(prompts), again.predict(prompts), strict=True):
        assert farthest(one.plain(), other.plain()) < 1e-3


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_transformers_writes_no_piece_that_is_no_text(method: str, tmp_path: Path) -> None:
    ours = pipeline("translation", "model.width=16", "model.tied=none", f"search.method={method}")
    weight = ours.model.output.readout.weight
    rows = [entry["input"] for entry in ours.golden]
    often = ours.task.sides.target.id(ours.predict(rows)[0].pieces[0])
    with torch.no_grad():
        # An unknown piece would be likelier than what is written, whichever sign that has.
        size = weight[often].abs().max()
        weight[3] = weight[often] + size * weight[often].sign()
    export(ours, "huggingface", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "generation_config.json").read_text())["suppress_tokens"] == [0, 1, 3]
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out").eval()
    cut = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    given = [cut(row["source"], return_tensors="pt") for row in rows]
    assert any(3 in theirs.generate(**one, suppress_tokens=None)[0] for one in given)
    assert not any(3 in theirs.generate(**one)[0] for one in given)


def test_pieces_that_are_not_to_be_written_are_told_of_where_they_are_text(tmp_path: Path) -> None:
    ours = pipeline("translation", *SMALL["translation"])
    export(ours, "huggingface", tmp_path / "out")
    assert "left_of_search" not in from_huggingface(tmp_path / "out").facts
    path = tmp_path / "out" / "generation_config.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"suppress_tokens": [0, 1, 3, 7, 99_999]}))
    assert from_huggingface(tmp_path / "out").facts["left_of_search"] == ["suppress_tokens = [7]"]


def test_transformers_cuts_a_text_at_the_positions_there_are(tmp_path: Path) -> None:
    changes = ("model.width=16", "model.position={name='learned',length=24}", "predict.longest=20")
    ours = pipeline("translation", *changes)
    export(ours, "huggingface", tmp_path / "out")
    cut = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert cut.model_max_length == 20
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out").eval()
    theirs.generate(**cut(ours.golden[0]["input"]["source"] * 20, truncation=True, return_tensors="pt"))
    assert from_huggingface(tmp_path / "out").recipe.predict.longest == 20
    # What is read at once bounds what is read, not what is written.
    target = transformers.AutoTokenizer.from_pretrained(tmp_path / "out" / "target")
    assert target.model_max_length == 24
    # A limit of others is no more than a hint.
    (tmp_path / "out" / "export.json").unlink()
    assert from_huggingface(tmp_path / "out").recipe.predict.longest == 24
    export(ours.with_settings("predict.longest=300"), "huggingface", tmp_path / "longer")
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "longer").model_max_length == 24


def test_short_outputs_that_are_the_same_have_all_the_bleu_there_is(tmp_path: Path) -> None:
    found = export(pipeline("dialogue", *SMALL["dialogue"]), "ctranslate2", tmp_path / "out", "float16").differences
    assert found.others == 0
    assert found.bleu == 100.0


def test_an_export_of_a_masked_model_is_compared_by_what_it_fills_in(tmp_path: Path) -> None:
    task, model = masked.made()
    ours = Pipeline(masked.recipe(), task, model, {}, {}).with_golden([{"text": line} for line in masked.LINES[:3]])
    assert all(result.fills for _, result in exporting._outputs(ours))
    assert export(ours, "onnx", tmp_path / "out").differences.inputs == 3
