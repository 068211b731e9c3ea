"""Every Python block of the documents runs, in order, and prints what the text block after it says."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\s*```text\n(?P<said>.*?)```)?", re.DOTALL)
PAGES = sorted(
    path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")] if BLOCK.search(path.read_text(encoding="utf-8"))
)


def test_there_are_pages_to_run() -> None:
    assert {page.name for page in PAGES} >= {"README.md", "README.zh-CN.md", "attention.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_runs_and_prints_what_the_page_says(page: Path) -> None:
    torch.manual_seed(0)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 2
        code = compile("\n" * (line - 1) + block["code"], str(page), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # The pages are ours and in this repository; this is the point of the test.
            exec(code, names)
        if block["said"] is not None:
            assert printed.getvalue().rstrip() == block["said"].rstrip(), f"{page.name} line {line}"


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]), ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_both_readmes_say_the_same_in_code() -> None:
    english, chinese = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md"))
    blocks = [[re.sub(r"#.*", "", block["code"]) for block in BLOCK.finditer(page)] for page in (english, chinese)]
    assert blocks[0] == blocks[1]
    headings = [len(re.findall(r"^##+ ", page, re.MULTILINE)) for page in (english, chinese)]
    assert headings[0] == headings[1]
