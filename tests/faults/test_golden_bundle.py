"""Bundles of every format there ever was still load and give what they gave when they were made."""

import json
from pathlib import Path

import pytest

from regard import api, bundle

GOLDEN = Path(__file__).parents[1] / "golden"
FORMATS = sorted(GOLDEN.glob("bundle-*"))


def test_there_is_one_of_every_format() -> None:
    assert [path.name for path in FORMATS] == [f"bundle-{number}" for number in range(1, bundle.FORMAT + 1)]


@pytest.mark.parametrize("folder", FORMATS, ids=lambda folder: folder.name)
def test_an_old_bundle_gives_its_golden_outputs(folder: Path) -> None:
    pipeline = api.load(folder, verify=True)
    golden = json.loads((folder / "golden.json").read_text("utf-8"))
    found = pipeline.predict([example["input"] for example in golden])
    assert [one.text for one in found] == [example["text"] for example in golden]


@pytest.mark.parametrize("folder", FORMATS, ids=lambda folder: folder.name)
def test_an_old_bundle_saved_again_is_the_same(folder: Path, tmp_path: Path) -> None:
    bundle.save(tmp_path / "again", bundle.load(folder))
    for path in folder.iterdir():
        if path.name != "manifest.json":
            assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()
