"""Parts of one's own: they join the dicts, keep the contracts of their kinds, or are refused with the reason."""

from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest

from regard.api import extending
from regard.api.contracts import CONTRACTS, contract
from regard.api.extending import extend, hint, own_parts
from regard.api.findings import Finding
from regard.api.kinds import KINDS
from regard.attention import NORMALIZERS, POSITIONS, SCOPES, SCORES, Mechanism, MechanismSettings, Sizes
from regard.errors import ConfigError, unknown
from regard.metrics import METRICS, score
from regard.models import MODELS

PARTS = '''
"""Parts that are as they should be."""
import numpy as np
from regard.attention.scores import Product
from regard.attention import SCORES as known
from regard.attention import Sizes
from regard.metrics import Metric
from regard.models import Transformer

class Halved(Product):
    """q . k / by."""
    def __init__(self, sizes: Sizes, *, by: float = 2.0) -> None:
        super().__init__()
        self.scale = 1 / by

class Length(Metric):
    """The share of lines of the right number of words."""
    name = "length"
    def statistics(self, outputs, references):
        pairs = zip(outputs, references)
        return np.array([[len(one.split()) == len(other[0].split()), 1] for one, other in pairs], dtype=float)
    def value(self, totals):
        return float(100 * totals[0] / totals[1])
    def signature(self, references):
        return "words:spaces"

class Own(Transformer):
    """A model of one's own."""

SCORES = {"halved": Halved}
METRICS = {"length": Length}
MODELS = {"own": Own}
'''
HEAD = "from regard.attention.scores import *\nimport torch\nfrom regard.metrics import Metric\n"


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checking signatures, which the tests of the models do: three times as fast."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def known_parts_as_before() -> Iterator[None]:
    """The dicts as they were, whatever a test has added."""
    before = {name: dict(kind.known) for name, kind in KINDS.items()}
    yield
    for name, kind in KINDS.items():
        kind.known.clear()
        kind.known.update(before[name])
    extending._LOADED.clear()


def written(folder: Path, text: str, name: str = "my_parts.py") -> Path:
    (folder / name).write_text(text)
    return folder / name


def broken(findings: list[Finding]) -> list[str]:
    return [finding.name.partition(": ")[2] for finding in findings if not finding.kept]


def refused(path: Path, *words: str) -> None:
    before = {name: list(kind.known) for name, kind in KINDS.items()}
    with pytest.raises(ConfigError) as caught:
        extend(path)
    sentence = str(caught.value)
    assert "Traceback" not in sentence
    assert sentence.endswith((".", "?"))
    assert [word for word in (path.name, *words) if word not in sentence] == [], sentence
    assert {name: list(kind.known) for name, kind in KINDS.items()} == before


def test_parts_of_a_file_join_the_known_ones_with_their_settings(tmp_path: Path) -> None:
    assert extend(written(tmp_path, PARTS)) == ["score halved", "model own", "metric length"]
    made = Mechanism(MechanismSettings.of(score={"name": "halved", "by": 4.0}), Sizes(4, 4, 4))
    assert made.score.scale == 0.25
    assert score(["a b", "c"], ["x y", "z z"], "length").value == 50.0
    assert "own" in MODELS


def test_the_same_file_twice_is_harmless_and_a_changed_one_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, PARTS)
    assert extend(path) == extend(path) == [str(part) for part in own_parts()]
    written(tmp_path, PARTS + "\n")
    refused(path, "changed", "anew")


def test_parts_from_two_files_of_one_name_stand_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    extend(written(tmp_path, PARTS))
    second = written(tmp_path / "other", HEAD + "class Same(Dot):\n  'q . k.'\nSCORES = {'same': Same}")
    assert extend(second) == ["score same"]
    assert SCORES["same"].__module__ != SCORES["halved"].__module__


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "SCORES = {'dot': Dot}", ["SCORES['dot']", "already", "regard.attention.scores"]),
        (HEAD + "SCORES = {'mine': 3}", ["SCORES['mine']", "class built on regard.attention.scores.Score", "3"]),
        (HEAD + "SCORES = {'mine': Metric}", ["no score", "class built on"]),
        (HEAD + "SCORES = {'my score': Dot}", ["letters, digits"]),
        (HEAD + "class N(Metric):\n  'x.'\nMETRICS = {'n': N}", ["METRICS['n']", "`name`"]),
        (HEAD + "MODELS = {'m': torch.nn.Linear}", ["MODELS['m']", "Settings"]),
        (HEAD + "TASKS = {'t': Metric}", ["TASKS['t']", "Recipe"]),
        (
            HEAD + "class S(Dot):\n  def __init__(self, sizes, *, by):\n    pass\nSCORES = {'s': S}",
            ["'by'", "type and a default"],
        ),
        (HEAD + "SCORES = [Dot]", ["SCORES", "dict"]),
        ("SCORE = {'a': 1}", ["no part", "'SCORES'"]),
        ("x = 1\ny = x / 0\n", ["line 2", "ZeroDivisionError"]),
        ("def broken(:\n  pass\n", ["line 1", "SyntaxError"]),
        ("import sys\nsys.exit(3)\n", ["line 2", "SystemExit"]),
        ("\n\nraise ValueError\n", ["line 3", "ValueError"]),
    ],
)
def test_a_file_that_will_not_do_is_refused_with_the_reason_and_adds_nothing(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    refused(written(tmp_path, text), *words)


def test_one_bad_entry_keeps_the_good_ones_out_too(tmp_path: Path) -> None:
    refused(written(tmp_path, PARTS.replace('"length": Length}', '"length": Length, "bleu": Length}')), "'bleu'")


def test_a_file_that_is_not_there_is_answered_with_one_that_is(tmp_path: Path) -> None:
    written(tmp_path, PARTS)
    refused(tmp_path / "my_part.py", "--extend", "'my_parts.py'")


def test_an_unknown_part_is_answered_with_how_to_add_it() -> None:
    assert hint(unknown("score", "halved", SCORES)).endswith("name its file with --extend.")
    assert hint("device = 'tpu' cannot be used here.") == "device = 'tpu' cannot be used here."


# --- contracts -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
def test_good_parts_of_ones_own_keep_their_contracts(tmp_path: Path) -> None:
    extend(written(tmp_path, PARTS))
    for kind, name in own_parts():
        found = contract(kind, name)
        assert len(found) == len(CONTRACTS[kind])
        assert broken(found) == [], found


ATTENTION_PARTS = [("score", SCORES), ("scope", SCOPES), ("normalizer", NORMALIZERS), ("position", POSITIONS)]


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, known in ATTENTION_PARTS for name in known] + [("task", "translation")]
)
def test_our_own_parts_keep_the_same_contracts(kind: str, name: str) -> None:
    assert broken(contract(kind, name)) == []


@pytest.mark.parametrize("name", METRICS)
def test_our_own_metrics_keep_the_same_contract(name: str) -> None:
    assert broken(contract("metric", name, {"language": "de"} if name == "bleu_lower" else {})) == []


def test_a_language_model_is_told_that_the_contract_is_not_for_it() -> None:
    assert [finding.level for finding in contract("model", "recurrent_language")] == ["note"]


BAD_SCORES = {
    "padding changes nothing": "(query @ key.mT) * key.mean()",
    "deterministic": "(query @ key.mT) + torch.rand(())",
    "gradients flow": "(query @ key.mT).detach()",
    "right shape, finite": "(query @ key.mT) / 0",
}


@pytest.mark.parametrize("clause", BAD_SCORES)
def test_a_score_that_breaks_a_clause_is_found_out(tmp_path: Path, clause: str) -> None:
    text = f"""{HEAD}
class Bad(Score):
    'Not good.'
    def __init__(self, sizes):
        super().__init__()
    def forward(self, query, key, place, history=None):
        return {BAD_SCORES[clause]}
SCORES = {{"bad": Bad}}
"""
    extend(written(tmp_path, text))
    assert clause in broken(contract("score", "bad"))


BAD_METRICS = {
    "perfect outputs give the best value": ("[[a == b[0]] for a, b in pairs]", "-totals[0]"),
    "a line's numbers do not depend on other lines": ("[[(a == b[0]) / len(outputs)] for a, b in pairs]", "totals[0]"),
}


@pytest.mark.parametrize("clause", BAD_METRICS)
def test_a_metric_that_breaks_a_clause_is_found_out(tmp_path: Path, clause: str) -> None:
    rows, value = BAD_METRICS[clause]
    text = f"""{HEAD}
import numpy as np
class Bad(Metric):
    'Not good.'
    name = "bad"
    def statistics(self, outputs, references):
        pairs = list(zip(outputs, references))
        return np.array({rows}, dtype=float)
    def value(self, totals):
        return float({value})
    def signature(self, references):
        return "bad:1"
METRICS = {{"bad": Bad}}
"""
    extend(written(tmp_path, text))
    assert broken(contract("metric", "bad")) == [clause]


@pytest.mark.usefixtures("unchecked")
def test_a_model_that_mixes_its_texts_and_forgets_its_state_is_found_out(tmp_path: Path) -> None:
    text = """
from dataclasses import replace
from regard.models import Transformer
class Bad(Transformer):
    'Mixes texts.'
    def forward(self, source, target, real=None):
        found = super().forward(source, target, real)
        return replace(found, hidden=found.hidden + found.hidden.mean((0, 1), keepdim=True))
MODELS = {"bad": Bad}
"""
    extend(written(tmp_path, text))
    found = broken(contract("model", "bad"))
    assert {"stepwise = whole", "a batch is its texts alone", "the future changes nothing"} <= set(found)
    assert "saved = loaded" not in found
