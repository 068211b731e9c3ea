"""What docs/serving.md shows of clients that people have runs as it stands there."""

import re
from pathlib import Path

import pytest

from regard.serve.settings import ServeSettings
from tests.serve.client_bundles import made
from tests.serve.conftest import serving

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"
# The names the page has, and the tiny bundles that stand for them.
NAMES = {
    "en-de": "en-to-de",
    "shakespeare": "story",
    "smollm2": "talk",
    "sst2": "mood",
    "conll": "names",
    "squad": "asking",
}


def test_the_clients_of_the_page_do_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundles = [made(name, tmp_path).rename(tmp_path / shown) for shown, name in NAMES.items()]
    blocks = re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 3
    with serving(bundles, ServeSettings()) as running:
        for block in blocks:
            # The page is ours and in this repository.
            exec(block.replace("http://127.0.0.1:8000", running.url), {})
    said = capsys.readouterr().out
    assert str(list(NAMES)) in said
    assert "'language': 'de'" in said
