"""Write the chats of SAMSum as JSON lines of turns and replies, to learn to reply from.

    python recipes/samsum_turns.py data/samsum data/samsum-turns

What one person writes in a row is one turn; names are left out. Every turn but the first of a chat is a reply, and all
turns before it are its history. The parts are those of the corpus; a chat of training that stands in a held-out part
too, whatever its case and spaces, is left out of training.
"""

import json
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from regard.files import write_atomically

PARTS = ("test", "validation", "train")
SAID = re.compile(r"([^:\n]{1,40}): *(.*)")


def turns(chat: str) -> list[str]:
    """What was said, one person's lines in a row as one turn."""
    said = [match.groups() for line in chat.splitlines() if (match := SAID.fullmatch(line.strip()))]
    spoken = (" ".join(text for _, text in lines if text) for _, lines in groupby(said, lambda one: one[0]))
    return [turn for turn in spoken if turn]


def examples(chat: str) -> Iterator[dict[str, object]]:
    said = turns(chat)
    for place in range(1, len(said)):
        yield {"turns": said[:place], "reply": said[place]}


def main(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    held_out: set[str] = set()
    for part in PARTS:
        chats = [json.loads(line)["dialogue"] for line in (source / f"{part}.jsonl").open(encoding="utf-8")]
        keys = [" ".join(chat.split()).casefold() for chat in chats]
        kept = [chat for chat, key in zip(chats, keys, strict=True) if part != "train" or key not in held_out]
        held_out.update(keys)
        rows = [json.dumps(row, ensure_ascii=False) for chat in kept for row in examples(chat)]
        with write_atomically(folder / f"{part}.jsonl") as file:
            file.write("".join(f"{row}\n" for row in rows).encode())
        print(f"{folder / part}.jsonl: {len(rows):,} replies of {len(kept):,} chats")


if __name__ == "__main__":
    main(
        Path(sys.argv[1] if len(sys.argv) > 1 else "data/samsum"),
        Path(sys.argv[2] if len(sys.argv) > 2 else "data/samsum-turns"),
    )
