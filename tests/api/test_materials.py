"""Test sets by name, with and without what training has seen."""

from pathlib import Path

import pytest

from regard.api import Materials, read
from regard.errors import ConfigError
from tests.api.toy import recipe


def test_an_unseen_test_set_leaves_out_what_stands_in_training(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    train = (tmp_path / "data" / "train.en").read_text("utf-8").splitlines()
    test = tmp_path / "data" / "test.en"
    lines = test.read_text("utf-8").splitlines()
    test.write_text("\n".join([train[3].upper(), *lines[1:]]) + "\n", "utf-8")
    plan["data"]["test"]["unseen"] = {**plan["data"]["test"]["test"], "unseen": True}
    materials = Materials(read(plan))
    assert len(list(materials.test("test"))) == len(lines)
    assert [row.fields["source"] for row in materials.test("unseen")] == lines[1:]


def test_an_unknown_test_set_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'test'"):
        Materials(read(recipe(tmp_path / "data"))).test("tets")


def test_several_references_stand_on_one_line_of_held_out_data_only(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    plan["data"]["references"] = " | "
    valid = tmp_path / "data" / "valid.de"
    valid.write_text("".join(f"{line} | Ja.\n" for line in valid.read_text("utf-8").splitlines()), "utf-8")
    from regard.tasks import TASKS

    chosen = read(plan)
    materials = Materials(chosen)
    task = TASKS["translation"].learn(chosen, materials.texts(), {})
    stores = materials.stores(tmp_path / "stores", task)
    first = next(iter(materials.valid)).fields["target"].split(" | ")[0]
    assert task.sides.target.decode(stores.valid[0]["target"].tolist()) == first
