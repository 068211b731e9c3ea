"""Lines in = lines out, whatever they hold."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.api import Pipeline, choosing
from regard.cli.lines import Answers, Given, Talk, one_by_one, settling, streamed, typed
from regard.cli.lines import given as given_lines
from regard.errors import DataError, RegardError, RequestError
from tests.cli.toy import regard

NASTY = [
    "",
    " ",
    "\t",
    "the\u2028dog",
    "a\x0bb\x0cc",
    "\x85",
    "\x00\x1b[31m",
    "\r",
    "a\rb",
    "\ufeffx",
    "🐕‍🦺",
    "é" * 3,
    "dog\r",
]
QUICK = ["search.beams=1", "search.longest_extra=3"]
QUICKLY = [word for change in QUICK for word in ("--set", change)]


def bytes_out(result: object) -> bytes:
    return result.stdout_bytes  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def pipeline(run: Path) -> Pipeline:
    return Pipeline.load(run, QUICK)


@settings(max_examples=8)
@given(
    st.lists(
        st.sampled_from(NASTY)
        | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=12),
        min_size=1,
        max_size=6,
    )
)
@example(["the dog", "\u2028", "\x85"])
def test_every_line_gets_its_own_line(pipeline: Pipeline, texts: list[str]) -> None:
    data = "".join(f"{text}\n" for text in texts).encode()
    for reading in (streamed, one_by_one):
        answers = Answers(as_json=False, tell=lambda _: None)
        out = b"".join(answers.line(line, result) for line, result in reading(pipeline, read(data)))
        assert out.count(b"\n") == len(texts) == answers.count
        assert b"\r" not in out


@given(lines=st.lists(st.binary(max_size=8).filter(lambda line: b"\n" not in line), min_size=1, max_size=8))
@settings(max_examples=5)
def test_bytes_that_are_no_text_get_a_line_too(pipeline: Pipeline, lines: list[bytes]) -> None:
    data = b"x\n" + b"".join(line + b"\n" for line in lines)
    answers = Answers(as_json=True, tell=lambda _: None)
    out = [json.loads(answers.line(*pair)) for pair in streamed(pipeline, read(data))]
    faults = [not decodable(line) for line in [b"x", *lines]]
    assert [("error" in row) for row in out] == faults
    assert answers.bad == sum(faults)


def read(data: bytes) -> Iterator[Given]:
    """The lines of these bytes as standard input gives them."""
    before, sys.stdin = sys.stdin, type("Input", (), {"buffer": BytesIO(data)})()  # type: ignore[assignment]
    try:
        yield from list(given_lines("-"))
    finally:
        sys.stdin = before


def decodable(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def test_lines_end_at_newlines_only(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    lines = ["the dog", "", "a\u2028b\x0bc\x0cd\x85e", "x" * 10_000, "cat \x00\x07"]
    file.write_bytes("\n".join(lines).encode())
    quick = [word for change in [*QUICK, "predict.longest=2000", "predict.long=split"] for word in ("--set", change)]
    result = regard("predict", run, file, *quick)
    assert result.exit_code == 0
    assert bytes_out(result).count(b"\n") == len(lines)
    assert bytes_out(result).split(b"\n")[1] == b""
    assert "1 of 5" in result.stderr


def test_terms_that_are_not_as_the_glossary_says_are_counted(run: Path, tmp_path: Path) -> None:
    terms, lines = tmp_path / "terms.tsv", tmp_path / "lines.txt"
    terms.write_text("dog\tΩ\ncat\t!Ω\n", "utf-8")
    lines.write_text("the dog\nthe cat\n", "utf-8")
    result = regard("predict", run, lines, "--set", f"predict.glossary={terms}")
    assert "1 of 2 terms are not as the glossary says; --json tells which." in result.stderr
    result = regard("predict", run, lines, "--set", f"predict.glossary={terms}", "--json")
    assert [json.loads(line)["glossary"][0]["met"] for line in result.stdout.splitlines()] == [False, True]


def test_a_line_that_is_not_utf_8_is_named_and_leaves_with_1(run: Path) -> None:
    result = regard("predict", run, given=b"the dog\nbad \xff\nthe cat\n")
    assert result.exit_code == 1
    assert bytes_out(result).split(b"\n")[1] == b""
    assert bytes_out(result).count(b"\n") == 3
    assert "standard input line 2: byte 0xff" in result.stderr
    assert "1 of 3 lines could not be answered" in result.stderr


@pytest.mark.parametrize("options", [[], ["--json"], ["--stream"], ["--embeddings"]])
def test_a_line_without_its_field_is_named_and_costs_no_other_line(
    others: dict[str, Path], tmp_path: Path, options: list[str]
) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"text": "Ada sees Rome"}\n{"txt": "Bo"}\n{"text": null}\n"Cy sees Rome"\n', "utf-8")
    result = regard("predict", others["tagging"], file, *options)
    assert result.exit_code == 1
    assert f"{file} line 2: The input has the fields txt; it lacks text." in result.stderr
    assert f"{file} line 3: The input has the fields none; it lacks text." in result.stderr
    assert "2 of 4 lines could not be answered" in result.stderr
    lines = bytes_out(result).decode().splitlines()
    assert len(lines) == 4
    if not options:
        assert [bool(line) for line in lines] == [True, False, False, True]
    if options == ["--json"]:
        assert [json.loads(line).get("source") for line in lines[1:3]] == ['{"txt": "Bo"}', "{}"]


@pytest.mark.parametrize("options", [[], ["--json"], ["--stream"], ["--embeddings"]])
def test_a_field_that_is_no_text_is_named_and_costs_no_other_line(
    others: dict[str, Path], tmp_path: Path, options: list[str]
) -> None:
    file = tmp_path / "in.jsonl"
    rows = [{"text": ["Ada", "left"]}, {"text": {"a": 1}}, {"text": "Bo", "tags": ["O"]}, {"text": 3}, '["Cy"]']
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    result = regard("predict", others["tagging"], file, *options)
    assert result.exit_code == 1
    assert f'{file} line 1: In the input, text is ["Ada", "left"], a JSON list or object' in result.stderr
    assert f'{file} line 2: In the input, text is {{"a": 1}}, a JSON list or object' in result.stderr
    assert "2 of 5 lines could not be answered" in result.stderr
    lines = bytes_out(result).decode().splitlines()
    assert len(lines) == 5
    if not options:
        assert [bool(line) for line in lines] == [False, False, True, True, True]


@pytest.mark.parametrize("place", range(5))
def test_a_line_the_model_cannot_take_costs_no_other_line(run: Path, tmp_path: Path, place: int) -> None:
    rows: list[dict[str, object]] = [{"source": f"the {word}"} for word in ("dog", "cat", "red", "runs", "sees")]
    wanted = bytes_out(regard("predict", run, given=b"the dog\nthe cat\nthe red\nthe runs\nthe sees\n")).split(b"\n")
    rows[place]["prefix_pieces"] = [99_999]
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    result = regard("predict", run, file)
    assert result.exit_code == 1
    assert f"{file} line {place + 1}: " in result.stderr
    assert bytes_out(result).split(b"\n") == [b"" if n == place else line for n, line in enumerate(wanted)]


@pytest.mark.parametrize("options", [[], ["--json"], ["--stream"], ["--stream", "--json"]])
def test_a_line_without_an_answer_gets_no_text_that_follows_nothing(
    others: dict[str, Path], tmp_path: Path, options: list[str]
) -> None:
    file = tmp_path / "in.jsonl"
    rows = ['{"text": "the", "prefix": "dog"}', '{"txt": "the"}', "no JSON", '{"text": "", "prefix": "dog"}']
    file.write_text("\n".join(rows), "utf-8")
    changes = ["--set", "predict.pieces=5"]
    result = regard("predict", others["language"], file, *options, *changes)
    assert result.exit_code == 1
    assert "2 of 4 lines could not be answered and got an empty output" in result.stderr
    lines = bytes_out(result).decode().rstrip("\n").split("\n")
    texts = [json.loads(line)["text"] if "--json" in options else line for line in lines]
    assert [bool(text) for text in texts] == [True, False, False, True]
    if "--json" in options:
        assert ["error" in json.loads(line) for line in lines] == [False, True, True, False]


def test_the_vector_of_a_line_without_an_answer_is_empty(others: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"txt": "Bo"}\n{"text": ""}\n', "utf-8")
    result = regard("predict", others["tagging"], file, "--embeddings", "--json")
    bad, empty = map(json.loads, bytes_out(result).decode().splitlines())
    assert (bad["embedding"], "lacks text" in bad["error"]) == ([], True)
    assert len(empty["embedding"]) == 8


def test_what_was_not_answered_is_no_part_of_a_conversation(others: dict[str, Path]) -> None:
    pipeline = Pipeline.load(others["language"], ["predict.chat=plain", "predict.pieces=2"])
    talk, (result,) = Talk(pipeline), pipeline.predict(["the dog"])
    for text, fault in (("too much", RequestError("No.")), ("the dog", None)):
        line = talk.asked(Given(text))
        talk.heard(line.refused(fault) if fault else line, result)
    talk.heard(talk.asked(Given("", fault="no text")), result)
    said = [("user", "the dog"), ("assistant", result.text)]
    assert [(one["role"], one["content"]) for one in talk.messages] == said


def test_a_stream_answers_a_line_before_the_next_is_read_in_json_too(run: Path) -> None:
    changes = ["--set", "search.longest_extra=1", "--set", "search.beams=1"]
    command = [sys.executable, "-m", "regard", "predict", str(run), "--stream", "--json", *changes]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for text in (b"the dog", b"the cat"):
        process.stdin.write(text + b"\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], 60)
        assert ready
        assert json.loads(process.stdout.readline())["source"] == text.decode()
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    process.stdout.close()


def test_what_concerns_every_line_is_said_once(run: Path, others: dict[str, Path]) -> None:
    result = regard("predict", others["tagging"], "--with", run, given=b"Ada\n")
    assert "Only models trained with the very same tokenizer" in str(result.exception)
    assert isinstance(result.exception, RegardError)


def test_what_was_read_before_a_damaged_place_is_answered(pipeline: Pipeline) -> None:
    def lines() -> Iterator[Given]:
        yield from read(b"the dog\nthe cat\n")
        raise DataError("line 3: damaged")

    found = []

    def collect() -> None:
        for line, _ in streamed(pipeline, lines()):
            found.append(line.asked)

    with pytest.raises(DataError, match="line 3"):
        collect()
    assert found == ["the dog", "the cat"]


def test_json_has_the_source_and_all_of_the_result(run: Path) -> None:
    result = regard("predict", run, "--json", "--set", "search.best=2", given="the dog\nein\u2028s\n".encode())
    rows = [json.loads(line) for line in bytes_out(result).decode().rstrip("\n").split("\n")]
    assert [row["source"] for row in rows] == ["the dog", "ein\u2028s"]
    assert {"text", "score", "status", "probabilities"} <= rows[0].keys()
    assert len(rows[0]["alternatives"]) == 2


def test_a_file_gets_what_standard_output_would(run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the dog\nred cat\n")
    plain = regard("predict", run, tmp_path / "in.txt")
    filed = regard("predict", run, tmp_path / "in.txt", "--out", tmp_path / "out.txt", "--verify")
    assert (filed.exit_code, bytes_out(filed)) == (0, b"")
    assert (tmp_path / "out.txt").read_bytes() == bytes_out(plain)


def test_a_model_in_company_of_itself_says_the_same(run: Path) -> None:
    alone, together = (regard("predict", run, *more, given=b"the dog\n") for more in ([], ["--with", run]))
    assert together.exit_code == 0
    assert bytes_out(alone) == bytes_out(together)


def test_settings_are_changed_by_set(run: Path) -> None:
    result = regard("predict", run, "--set", "search.longest_extra=2", "--json", given=b"the dog\n")
    assert len(json.loads(bytes_out(result))["pieces"]) <= 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["predict", "{run}y"], "Did you mean 'x'?"),
        (["predict", "{run}", "--set", "search.beam=2"], "Did you mean 'search.beams'?"),
        (["predict", "{run}", "--set", "search.method=baem"], "beam"),
        (["predict", "{run}", "{run}/recipe.tml"], "Did you mean 'recipe.toml'?"),
        (["predict", "{run}", "--set", "nonsense"], "expected a setting and its value"),
    ],
)
def test_what_is_not_known_is_offered_the_nearest(run: Path, words: list[str], told: str) -> None:
    result = regard(*(word.format(run=run) for word in words))
    assert isinstance(result.exception, RegardError)
    assert told in str(result.exception)


def test_a_reader_that_has_enough_ends_it_quietly(run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the dog\n" * 2100)
    changes = ["--set", "search.longest_extra=1", "--set", "search.beams=1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "predict", str(run), str(tmp_path / "in.txt"), *changes],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.wait(timeout=120), process.stderr.read()) == (0, b"")  # type: ignore[union-attr]
    process.stderr.close()  # type: ignore[union-attr]


class Eager:
    """Makes at once what others make beside the work."""

    def __init__(self, *given: Any) -> None:
        pass

    def submit(self, make: Callable[[], Any]) -> Future[Any]:
        made: Future[Any] = Future()
        made.set_result(make())
        return made

    def shutdown(self, wait: bool) -> None:
        pass


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines are compared from the first line on."""
    monkeypatch.setattr(choosing, "PATIENCE", 0.0)
    monkeypatch.setattr(choosing, "ThreadPoolExecutor", Eager)


def test_a_file_that_is_soon_done_is_not_measured(run: Path, tmp_path: Path) -> None:
    few = tmp_path / "few"
    few.write_text("the dog runs\n" * 300, "utf-8")
    plain, found = regard("predict", run, few), regard("predict", run, few, "--engine", "auto")
    assert bytes_out(found) == bytes_out(plain)
    assert "Lines a second: " not in found.stderr


@pytest.mark.usefixtures("impatient")
def test_a_long_file_is_measured_and_gives_the_same_lines(run: Path, tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    lines = [f"the {('dog', 'cat')[number % 2]} runs\n" * (1 + number % 2) for number in range(420)]
    few.write_text("".join(lines[:9]), "utf-8")
    many.write_text("".join(lines), "utf-8")
    for path, measured in ((few, False), (many, True)):
        plain, found = regard("predict", run, path), regard("predict", run, path, "--engine", "auto")
        assert bytes_out(found) == bytes_out(plain)
        assert found.exit_code == 0
        assert ("Lines a second: " in found.stderr) == measured


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("bad", ['{"src": "the dog"}', '{"source": "the dog", "prefix_pieces": [99999]}'])
def test_a_bad_line_costs_no_other_where_engines_are_measured(run: Path, tmp_path: Path, bad: str) -> None:
    lines = ['{"source": "the dog"}'] * 610
    lines[20] = bad
    (tmp_path / "in.jsonl").write_text("\n".join(lines), "utf-8")
    result = regard("predict", run, tmp_path / "in.jsonl", "--engine", "auto", *QUICKLY)
    assert result.exit_code == 1
    assert "1 of 610 lines could not be answered" in result.stderr
    assert bytes_out(result).count(b"\n") == 610
    assert not bytes_out(result).split(b"\n")[20]


@pytest.mark.parametrize("words", [(), ("--stream",), ("--json",)])
def test_auto_runs_an_export_by_its_own_engine(run: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    pytest.importorskip("ctranslate2")
    few = tmp_path / "few"
    few.write_text("the dog runs\n", "utf-8")
    assert regard("export", run, "--to", "ctranslate2", "--out", tmp_path / "export").exit_code == 0
    beams = ("--set", "search.method=diverse", "--set", "search.beams=2", "--set", "search.groups=2")
    result = regard("predict", tmp_path / "export", few, "--engine", "auto", *beams, *words)
    assert result.exit_code == 1
    assert "The engine ctranslate2 cannot" in result.stderr
    assert regard("predict", run, few, "--engine", "auto", *beams, *words).exit_code == 0


@pytest.mark.parametrize("beams", ["1", "3"])
def test_onnx_gives_the_lines_of_torch(run: Path, tmp_path: Path, beams: str) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    lines = tmp_path / "lines"
    lines.write_text("the dog runs\n\nred cat sees the red dog\ncat\n", "utf-8")
    words = ("predict", run, lines, "--set", f"search.beams={beams}", "--set", "search.best=1")
    plain, found = regard(*words), regard(*words, "--engine", "onnx")
    assert found.exit_code == plain.exit_code == 0
    assert bytes_out(found) == bytes_out(plain) != b""


def test_who_types_is_answered_by_an_engine_that_cannot_show_beams_as_they_grow(pipeline: Pipeline) -> None:
    pytest.importorskip("ctranslate2")
    ours = pipeline.with_settings("search.beams=3")
    theirs, shown = ours.with_engine("ctranslate2"), []
    line, result = typed(theirs, Given("the dog runs"), shown.append)
    assert not line.fault
    assert "".join(shown) == result.text == ours.predict(["the dog runs"])[0].text
    # Who asked to see it grow is told that it cannot be.
    line, _ = settling(theirs, Given("the dog runs"), shown.append)
    assert "while they grow" in line.fault
