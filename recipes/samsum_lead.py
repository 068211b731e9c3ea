"""Score the first three lines of each chat as its summary: what a model has to beat.

python recipes/samsum_lead.py data/samsum/test.jsonl
"""

import json
import sys
from pathlib import Path

from regard.metrics import score

LINES = 3


def main(path: Path) -> None:
    rows = [json.loads(line) for line in path.open(encoding="utf-8")]
    lead = ["\n".join(row["dialogue"].splitlines()[:LINES]) for row in rows]
    for name in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
        print(score(lead, [row["summary"] for row in rows], name))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "data/samsum/test.jsonl"))
