"""`regard check`: promises are proven on a user's own model, and a model that breaks one is found out."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import tomli_w
import torch
from torch import Tensor, nn

from regard.api import Pipeline, checks_bundle, checks_inside, extending
from regard.api.broken import Broken
from regard.api.checks import PROMISES, check
from regard.api.checks_bundle import Subject, subject
from regard.attention import taps
from regard.config import Part
from regard.errors import ConfigError
from regard.metrics import METRICS
from regard.models import MODELS, Transformer
from tests.api.toy import recipe

# Short outputs of a model that has hardly learned to end them.
QUICK = ("search.method=greedy", "search.longest_factor=0.3", "search.longest_extra=4")


@pytest.fixture(scope="module", autouse=True)
def unchecked() -> Iterator[None]:
    """Without checking signatures, which the tests of the parts do: three times as fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        yield


@pytest.fixture(scope="module")
def given(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return subject(run / "bundle", QUICK, tmp_path_factory.mktemp("work"))


@pytest.fixture
def fresh(run: Path, tmp_path: Path) -> Subject:
    """One that a test may spoil."""
    return subject(run / "bundle", QUICK, tmp_path)


def spoiled(made: Subject, place: str, change: Callable[[nn.Module, Tensor], Tensor]) -> Subject:
    """The subject with what one of its modules puts out changed."""
    made.pipeline.model.get_submodule(place).register_forward_hook(lambda module, _, out: change(module, out))
    return made


def toy(folder: Path, **other: Any) -> Path:
    path = folder / "toy.toml"
    path.write_text(tomli_w.dumps(recipe(folder / "data", **other)))
    return path


@pytest.fixture
def own_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A metric from a file of the user's, gone after the test."""
    monkeypatch.setattr(extending, "_LOADED", {})
    monkeypatch.setitem(METRICS, "own", METRICS["exact"])
    monkeypatch.delitem(METRICS, "own")
    path = tmp_path / "parts.py"
    path.write_text("from regard.metrics.edits import Exact\nclass Own(Exact):\n  name = 'own'\nMETRICS = {'own': Own}")
    return extending.extend(path)[0]


def test_a_bundle_keeps_every_promise_that_needs_no_training_and_own_parts_their_contracts(
    run: Path, own_metric: str
) -> None:
    state = torch.get_rng_state()
    found = check(run, None, QUICK)
    promised = [name for name, promise in PROMISES.items() if promise.model] + ["resume"]
    assert [finding.name for finding in found[: len(promised)]] == promised
    assert len(found) > len(promised)
    assert [finding.level for finding in found[: len(promised)]] == ["ok"] * len(promised)
    assert all(finding.name.startswith(own_metric) for finding in found[len(promised) :])
    assert all(finding.kept for finding in found), found
    assert torch.equal(torch.get_rng_state(), state)


def test_a_bundle_of_a_part_that_is_not_known_asks_for_its_file(given: Subject, tmp_path: Path) -> None:
    made = given.pipeline.recipe.model_copy(update={"model": Part(name="my_own")})
    replace(given.pipeline, recipe=made).save(tmp_path / "bundle")
    with pytest.raises(ConfigError, match=r"'my_own'.*--extend"):
        check(tmp_path / "bundle")


def test_a_recipe_keeps_the_promise_of_resuming_and_nothing_is_left_behind(tmp_path: Path) -> None:
    path = toy(tmp_path)
    before = {each.name for each in tmp_path.iterdir()}
    (found,) = check(path, "resume")
    assert found.kept
    assert "bit for bit" in found.text
    assert {each.name for each in tmp_path.iterdir()} == before


def test_a_recipe_is_trained_a_little_for_a_promise_about_the_model(tmp_path: Path) -> None:
    (found,) = check(toy(tmp_path), "masks", QUICK)
    assert found.kept
    assert found.name == "masks"


def test_an_unknown_promise_is_answered_with_the_nearest(run: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'looking'"):
        check(run, "lookin")


def test_resuming_is_proven_on_a_bundle_by_the_recipe_it_has_kept(run: Path) -> None:
    (found,) = check(run, "resume")
    assert found.level == "ok"
    assert "bit for bit" in found.text


def test_what_cannot_be_proven_without_the_data_is_noted_and_no_failure(run: Path, tmp_path: Path) -> None:
    elsewhere = f"data.root={tmp_path / 'nowhere'}"
    found = {finding.name: finding for finding in check(run, None, (*QUICK, elsewhere))}
    assert [name for name, finding in found.items() if finding.level == "note"] == ["resume"]
    assert "nowhere" in found["resume"].text
    # Who asks for that alone is told that it failed.
    with pytest.raises(ConfigError, match=r"resume: .*not proven.*nowhere"):
        check(run, "resume", [elsewhere])


def test_a_bundle_whose_golden_outputs_are_not_its_own_is_found_out(given: Subject, tmp_path: Path) -> None:
    golden = [{**given.pipeline.golden[0], "text": "something else"}]
    replace(given.pipeline, golden=golden).save(tmp_path / "bundle")
    (found,) = check(tmp_path / "bundle", "round_trip")
    assert not found.kept
    assert "something else" in found.text


def test_lines_of_validation_are_used_where_they_are_at_hand_and_not_missed_where_not(
    run: Path, tmp_path: Path
) -> None:
    golden = len(Pipeline.load(run).golden)
    assert len(subject(run / "bundle", (), tmp_path).rows) > golden
    assert len(subject(run / "bundle", ["data.root=nowhere"], tmp_path).rows) == golden


def test_a_model_that_hears_its_neighbours_is_found_out(fresh: Subject) -> None:
    place = [name for name in taps(fresh.pipeline.model) if name.startswith("encoder") and name.endswith("output")][-1]
    made = spoiled(fresh, place, lambda _, out: out + 3 * out.mean((0, 1), keepdim=True) * len(out))
    with pytest.raises(Broken):
        checks_bundle.batch(made)
    with pytest.raises(Broken, match="padding"):
        checks_inside.masks(made)


def test_a_model_that_sees_the_future_is_found_out(fresh: Subject) -> None:
    made = spoiled(fresh, "embedding", lambda _, out: out + out.mean(1, keepdim=True))
    with pytest.raises(Broken, match="after it"):
        checks_inside.masks(made)


def test_a_model_that_changes_when_watched_is_found_out(fresh: Subject) -> None:
    place = next(name for name in taps(fresh.pipeline.model) if name.endswith("context"))
    made = spoiled(fresh, place, lambda tap, out: out + 0.1 * len(tap.watches))
    with pytest.raises(Broken, match="watched"):
        checks_inside.looking(made)


@dataclass(frozen=True)
class Dropping(Pipeline):
    """A pipeline that forgets empty lines."""

    def predict(self, inputs: Any) -> list[Any]:
        return [result for result in super().predict(inputs) if result.text]


def test_a_pipeline_that_drops_lines_is_found_out(given: Subject) -> None:
    dropping = Dropping(**{name: getattr(given.pipeline, name) for name in given.pipeline.__dataclass_fields__})
    with pytest.raises(Broken, match="inputs gave"):
        checks_bundle.lines(replace(given, pipeline=dropping))


class Forgetful(Transformer):
    """Counts its calls where no checkpoint looks."""

    calls = 0

    def forward(self, source: Tensor, target: Tensor, real: Tensor | None = None) -> Any:
        Forgetful.calls += 1
        found = super().forward(source, target, real)
        return replace(found, hidden=found.hidden * (1 + 0.01 * Forgetful.calls))


def test_a_model_with_state_outside_its_parameters_does_not_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, "forgetful", Forgetful)
    toy_model = {"name": "forgetful", "width": 16, "layers": 1, "attention": {"heads": 2}}
    (found,) = check(toy(tmp_path, model=toy_model), "resume")
    assert not found.kept
    assert "not the same bits" in found.text


def test_a_moved_run_is_checked_like_any_other(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run / "bundle", tmp_path / "moved")
    assert check(tmp_path / "moved", "round_trip")[0].kept
