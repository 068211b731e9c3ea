"""Rows of every format, and what becomes of lines that are none."""

import csv
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import READERS, Counts, Row, Source, read
from regard.errors import ConfigError, DataError

ODD = "a\x00b\x0b\x0c\x1c\x1d\x1e\x7f\x85c\u2028d\u2029\u200b\U0001f600"
NAMED = {"source": "en", "target": "de"}
FORMATS = ["parallel", "tsv", "csv", "jsonl"]


def content(format: str, pairs: list[tuple[str, str]]) -> list[str]:
    """What each file of a format holds for these pairs."""
    if format == "parallel":
        return ["".join(f"{pair[side]}\n" for pair in pairs) for side in (0, 1)]
    if format == "tsv":
        return ["".join(f"{en}\t{de}\n" for en, de in [("en", "de"), *pairs])]
    if format == "csv":
        quoted = [[side.replace('"', '""') for side in pair] for pair in pairs]
        return ["en,de\n" + "".join(f'"{en}","{de}"\n' for en, de in quoted)]
    return ["".join(json.dumps({"de": de, "en": en, "more": [1]}, ensure_ascii=False) + "\n" for en, de in pairs)]


def source(folder: Path, format: str, files: list[bytes], **options) -> Source:
    paths = [folder / f"{number}.{format}" for number in range(len(files))]
    for path, file in zip(paths, files, strict=True):
        path.write_bytes(file)
    columns = {"source": 1, "target": 2} if format == "parallel" else NAMED
    return Source(tuple(map(str, paths)), columns, **{"header": format in ("tsv", "csv"), **options})


def pairs_of(format: str, given: Source, policy: str = "stop", counts: Counts | None = None) -> list[tuple[str, str]]:
    rows = read(format, given, policy, counts or Counts())
    return [(row.fields["source"], row.fields["target"]) for row in rows]


def test_every_format_is_tested() -> None:
    elsewhere = {name for name in READERS if (Path(__file__).parent / f"test_{name}.py").exists()}
    assert {*FORMATS, *elsewhere} == set(READERS)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("format", FORMATS)
def test_text_survives_every_format(tmp_path: Path, format: str, pack: type[bytes]) -> None:
    pairs = [("one", "eins"), (f"<{ODD}>", "ü" * 10_000), ('say "no", please', " spaces kept ")]
    files = [pack(text.encode()) for text in content(format, pairs)]
    assert pairs_of(format, source(tmp_path, format, files)) == pairs


@pytest.mark.parametrize("format", FORMATS)
def test_windows_files_read_the_same(tmp_path: Path, format: str) -> None:
    pairs = [("one", "eins"), ("two", "zwei")]
    files = [b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() for text in content(format, pairs)]
    assert pairs_of(format, source(tmp_path, format, files)) == pairs


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(FORMATS),
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\t"), min_size=1)] * 2)
    ),
)
def test_what_is_written_is_read(tmp_path: Path, format: str, pairs: list[tuple[str, str]]) -> None:
    first_line = [("first", "erste"), *pairs]  # a mark at the very start would be dropped
    files = [text.encode() for text in content(format, first_line)]
    assert pairs_of(format, source(tmp_path, format, files, blank="keep")) == first_line


BAD = [
    ("parallel", [b"a\nb\xff\nc\n", b"A\nB\nC\n"], "0.parallel line 2: byte 0xff at byte 2 is not UTF-8", "encoding"),
    ("parallel", [b"a\nb\nc\n", b"A\nB\xc3\nC\n"], "1.parallel line 2: byte 0xc3 at byte 2 is not UTF-8", "encoding"),
    ("parallel", [b"a\nb\nc\n", b"A\n \t\nC\n"], "1.parallel line 2: target is empty.", "empty"),
    ("tsv", [b"en\tde\na\tA\nb\nc\tC\n"], "0.tsv line 3: 1 column, expected 2 separated by a tab.", "columns"),
    ("tsv", [b"en\tde\na\tA\nb\tB\tB\nc\tC\n"], "0.tsv line 3: 3 columns, expected 2 separated by a tab.", "columns"),
    ("tsv", [b"en\tde\na\tA\n\tB\nc\tC\n"], "0.tsv line 3: source is empty.", "empty"),
    ("tsv", [b"en\tde\na\tA\nb\tB\xe4\nc\tC\n"], "0.tsv line 3: byte 0xe4 at byte 4 is not UTF-8", "encoding"),
    ("csv", [b"en,de\na,A\nb\nc,C\n"], "0.csv line 3: 1 column, expected 2 separated by a comma.", "columns"),
    ("csv", [b"en,de\na,A\n\nc,C\n"], "0.csv line 3: 0 columns, expected 2 separated by a comma.", "columns"),
    ("csv", [b'en,de\na,A\n"b"b,B\nc,C\n'], "0.csv line 3: ',' expected after '\"'.", "csv"),
    ("csv", [b"en,de\na,A\nb\rb,B\nc,C\n"], "0.csv line 3: new-line character seen in unquoted field", "csv"),
    ("csv", [b'en,de\na,A\n"b\n\xff",B\nc,C\n'], "0.csv lines 3 to 4: byte 0xff at byte 3 is not UTF-8", "encoding"),
    ("jsonl", [b'{"en":"a","de":"A"}\n{"en":\n{"en":"c","de":"C"}\n'], "0.jsonl line 2: not JSON (", "json"),
    ("jsonl", [b'{"en":"a","de":"A"}\n\n{"en":"c","de":"C"}\n'], "0.jsonl line 2: not JSON (", "json"),
    ("jsonl", [b'{"en":"a","de":"A"}\n[1]\n{"en":"c","de":"C"}\n'], "0.jsonl line 2: expected an object", "json"),
    ("jsonl", [b'{"en":"a","de":"A"}\n' + b"[" * 99999 + b'\n{"en":"c","de":"C"}'], "line 2: not JSON (", "json"),
    (
        "jsonl",
        [b'{"en":"a","de":"A"}\n{"en":"b","dee":"B"}\n{"en":"c","de":"C"}\n'],
        "0.jsonl line 2: Unknown key 'de'. Did you mean 'dee'?",
        "key",
    ),
    (
        "jsonl",
        [b'{"en":"a","de":"A"}\n{"en":"b","de":null}\n{"en":"c","de":"C"}\n'],
        "0.jsonl line 2: de is null.",
        "empty",
    ),
    (
        "jsonl",
        [b'{"en":"a","de":"A"}\n{"en":"b","de":[1e999]}\n{"en":"c","de":"C"}\n'],
        "0.jsonl line 2: de holds NaN or infinity",
        "json",
    ),
    (
        "jsonl",
        [b'{"en":"a","de":"A"}\n{"en":"b","de":{"x":"\\udc00"}}\n{"en":"c","de":"C"}\n'],
        "0.jsonl line 2: de holds half of a surrogate pair",
        "encoding",
    ),
    (
        "jsonl",
        [b'{"en":"a","de":"A"}\n{"en":"b","de":"\\ud800"}\n{"en":"c","de":"C"}\n'],
        "0.jsonl line 2: de holds half of a surrogate pair",
        "encoding",
    ),
]


@pytest.mark.parametrize(("format", "files", "sentence", "reason"), BAD, ids=lambda value: str(value)[:20])
def test_a_bad_line_is_named_or_skipped_and_counted(
    tmp_path: Path, format: str, files: list[bytes], sentence: str, reason: str
) -> None:
    given = source(tmp_path, format, files)
    with pytest.raises(DataError) as caught:
        pairs_of(format, given)
    assert sentence in str(caught.value)
    counts = Counts()
    assert pairs_of(format, given, "skip", counts) == [("a", "A"), ("c", "C")]
    (entry,) = counts.left_out.values()
    assert list(counts.left_out) == [reason]
    assert entry.count == 1
    assert f"{entry.places[0]}: " in str(caught.value)


def test_only_the_first_places_are_kept(tmp_path: Path) -> None:
    counts = Counts()
    given = source(tmp_path, "parallel", [b"x\n" * 1000, b"\n" * 1000])
    assert pairs_of("parallel", given, "skip", counts) == []
    assert counts.left_out["empty"].count == 1000
    assert counts.left_out["empty"].places == [f"{tmp_path}/1.parallel line {number}" for number in range(1, 6)]
    assert Counts.of(json.loads(json.dumps(counts.plain()))) == counts
    assert "1,000 left out: empty" in str(counts)
    assert "line 5, ...)" in str(counts)


@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_files_of_different_lengths_are_refused_with_both_counts(tmp_path: Path, policy: str) -> None:
    given = source(tmp_path, "parallel", [b"a\nb\nc", b"A\nB\n"])
    with pytest.raises(DataError, match=r"0\.parallel has 3 lines, .*1\.parallel has 2 lines: .* same number of lines"):
        next(read("parallel", given, policy, Counts()))


@pytest.mark.parametrize("format", FORMATS)
def test_a_cut_off_file_stops_even_when_skipping(tmp_path: Path, format: str) -> None:
    pairs = [(f"{number**9}", f"{number**8}") for number in range(3000)]
    files = [gzip.compress(text.encode())[:-30] for text in content(format, pairs)]
    with pytest.raises(DataError, match="the gzip data end too early"):
        pairs_of(format, source(tmp_path, format, files), "skip")


def test_columns_by_number_need_no_header(tmp_path: Path) -> None:
    given = Source((str(tmp_path / "x"),), {"target": 3, "source": 2})
    (tmp_path / "x").write_bytes(b"1\ta\tA\n2\tb\tB\n")
    assert list(read("tsv", given, "stop", Counts())) == [
        Row(f"{tmp_path}/x line 1", {"target": "A", "source": "a"}),
        Row(f"{tmp_path}/x line 2", {"target": "B", "source": "b"}),
    ]


def test_columns_by_number_may_skip_a_header(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"en,de\na,A\n")
    given = Source((str(tmp_path / "x"),), {"source": 1, "target": 2}, header=True)
    assert pairs_of("csv", given) == [("a", "A")]


def test_too_few_columns_on_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a\n")
    with pytest.raises(DataError, match="line 1: 1 column, expected 2 separated by a tab"):
        pairs_of("tsv", Source((str(tmp_path / "x"),), {"source": 1, "target": 2}))
    with pytest.raises(DataError, match="line 1: the header has 1 column, 2 asked"):
        pairs_of("tsv", Source((str(tmp_path / "x"),), {"source": 1, "target": 2}, header=True))


def test_an_unknown_column_offers_the_nearest(tmp_path: Path) -> None:
    given = source(tmp_path, "csv", [b"english,german\na,A\n"])
    with pytest.raises(DataError, match=r"line 1: Unknown column 'en'\..* Known: english, german"):
        pairs_of("csv", given)


def test_a_header_that_cannot_be_read_stops_even_when_skipping(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: byte 0xff"):
        pairs_of("tsv", source(tmp_path, "tsv", [b"en\xff\tde\na\tA\n"]), "skip")


def test_a_quoted_field_may_span_lines(tmp_path: Path) -> None:
    given = source(tmp_path, "csv", [b'en,de\n"a\n\nb","A"\nc,C\n'])
    assert list(read("csv", given, "stop", Counts())) == [
        Row(f"{tmp_path}/0.csv lines 2 to 4", {"source": "a\n\nb", "target": "A"}),
        Row(f"{tmp_path}/0.csv line 5", {"source": "c", "target": "C"}),
    ]


@pytest.mark.parametrize("policy", ["stop", "skip"])
@pytest.mark.parametrize(("record", "line"), [(b'"b,B\n', 3), (b'"b\nb","B\n', 4), (b'b,"say ""B\n""no""', 3)])
def test_a_quote_without_end_stops_where_it_was_opened(tmp_path: Path, policy: str, record: bytes, line: int) -> None:
    given = source(tmp_path, "csv", [b"en,de\na,A\n" + record + b"c,C\n" * 50])
    with pytest.raises(DataError, match=rf"0\.csv line {line}: a quote is opened here and its end not found"):
        pairs_of("csv", given, policy)


def test_a_quote_without_end_in_a_huge_file_stops_too(tmp_path: Path) -> None:
    given = source(tmp_path, "csv", [b'en,de\na,A\n"b,B\n' + b"c,C\n" * 1000])
    usual = csv.field_size_limit(1000)
    try:
        with pytest.raises(DataError, match=r"0\.csv line 3: a quote is opened here and its end not found"):
            pairs_of("csv", given, "skip")
    finally:
        csv.field_size_limit(usual)


def test_a_cell_may_be_as_long_as_a_line(tmp_path: Path) -> None:
    long = "word " * 100_000
    given = source(tmp_path, "csv", [f'en,de\n"{long}",A\n{long},B\n'.encode()])
    assert pairs_of("csv", given) == [(long, "A"), (long, "B")]


def test_blank_fields_may_be_kept(tmp_path: Path) -> None:
    assert pairs_of("parallel", source(tmp_path, "parallel", [b"\na\n", b" \n\n"], blank="keep")) == [
        ("", " "),
        ("a", ""),
    ]


def test_an_unknown_format_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Unknown format 'jsnl'\. Did you mean 'jsonl'\?"):
        next(read("jsnl", Source(("x",), {"source": 1}), "stop", Counts()))


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_file_has_no_rows(tmp_path: Path, format: str) -> None:
    files = [b""] * (2 if format == "parallel" else 1)
    assert pairs_of(format, source(tmp_path, format, files)) == []


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUES)
def test_a_json_value_stays_text_or_becomes_its_json(tmp_path: Path, value: object) -> None:
    (tmp_path / "x").write_text(json.dumps({"v": value}) + "\n", "utf-8")
    (row,) = read("jsonl", Source((str(tmp_path / "x"),), {"value": "v"}, blank="keep"), "stop", Counts())
    assert (row.fields["value"] if isinstance(value, str) else json.loads(row.fields["value"])) == value


def test_json_values_are_written_without_spaces(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(
        '{"n": 1, "yes": true, "f": 0.50, "list": [1, "ü"], "o": {"b": 1, "a": null}}\n', "utf-8"
    )
    given = Source((str(tmp_path / "x"),), {name: name for name in ("n", "yes", "f", "list", "o")})
    (row,) = read("jsonl", given, "stop", Counts())
    assert list(row.fields.values()) == ["1", "true", "0.5", '[1,"ü"]', '{"b":1,"a":null}']


def test_null_is_blank_where_blanks_are_kept(tmp_path: Path) -> None:
    given = source(tmp_path, "jsonl", [b'{"en": null, "de": "x"}\n'], blank="keep")
    assert pairs_of("jsonl", given) == [("", "x")]
