"""Classifying and tagging many texts: texts a second as ratios to Transformers' pipelines, in one run.

python benchmarks/understanding.py CLASSIFIER TEXTS TAGGER SENTENCES [COUNT]

CLASSIFIER and TAGGER are bundles above a BERT (recipes/sst2-minilm.toml, recipes/conll2003-minilm.toml); TEXTS is a
table with a column "sentence", SENTENCES a file of CoNLL 2003. Transformers gets the same encoder and tokenizer, and a
head of the same shape with the same parameters; its classes have no CRF, so its tagger decides less than ours. Its
pipelines are called as people do, with batch_size=32 and as they come. Everything but the loading is timed.
"""

import csv
import logging
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from machine import clock, machine
from torch import Tensor

from regard.api import Pipeline
from regard.convert.huggingface import exporting, tokenizing
from regard.convert.huggingface.choosing import Known
from regard.models.embedder import Embedder, EmbedderSettings

Run = Callable[[list[str]], list[str]]
ROUNDS = 2


def theirs(ours: Pipeline, task: str, kind: str) -> Any:
    """Transformers' pipeline with our encoder and head."""
    import transformers

    logging.getLogger("transformers").setLevel(logging.CRITICAL)
    model, tokenizer = ours.model, ours.task.reading.tokenizer
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exporting.write(
            Embedder(model.encoder, EmbedderSettings()),
            Known(tokenizer.padding, tokenizer.begin, tokenizer.end, 512),
            folder,
        )
        tokenizing.write(tokenizer, folder, 512)
        made = getattr(transformers, kind).from_pretrained(folder, num_labels=len(model.head.classify.weight))
        loaded = transformers.AutoTokenizer.from_pretrained(folder)
    made.classifier = model.head.classify
    if kind == "BertForSequenceClassification":
        made.bert.pooler = torch.nn.Identity()
        made.forward = lambda **given: averaged(made, **given)
    return transformers.pipeline(task, model=made.eval(), tokenizer=loaded, device="cpu")


def averaged(model: Any, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> Any:
    """Logits of the mean of a text's states, as our head has them."""
    from transformers.modeling_outputs import SequenceClassifierOutput

    states_BTD = model.bert(input_ids, attention_mask).last_hidden_state
    real_BT1 = attention_mask[..., None]
    return SequenceClassifierOutput(logits=model.classifier((states_BTD * real_BT1).sum(1) / real_BT1.sum(1)))


def classifying(bundle: str) -> dict[str, Run]:
    ours = Pipeline.load(bundle, ["device=cpu"])
    pipe, names = theirs(ours, "text-classification", "BertForSequenceClassification"), ours.task.labels.names
    numbers = {f"LABEL_{number}": name for number, name in enumerate(names)}

    def run(texts: list[str], **options: int) -> list[str]:
        return [numbers[found["label"]] for found in pipe(texts, **options)]

    return {
        "regard": lambda texts: [result.text for result in ours.predict(texts)],
        "transformers, batch_size=32": lambda texts: run(texts, batch_size=32),
        "transformers": run,
    }


def tagging(bundle: str) -> dict[str, Run]:
    ours = Pipeline.load(bundle, ["device=cpu"])
    pipe = theirs(ours, "token-classification", "BertForTokenClassification")
    pipe.model.config.id2label = dict(enumerate(ours.task.tags))

    def run(texts: list[str], **options: int) -> list[str]:
        found = pipe(texts, aggregation_strategy="simple", **options)
        return [" ".join(sorted(f"{one['entity_group']}:{one['start']}" for one in each)) for each in found]

    def predicted(texts: list[str]) -> list[str]:
        return [told(result) for result in ours.predict(texts)]

    return {
        "regard": predicted,
        "transformers, batch_size=32": lambda texts: run(texts, batch_size=32),
        "transformers": run,
    }


def told(result: Any) -> str:
    return " ".join(sorted(f"{entity.label}:{entity.start}" for entity in result.entities))


def race(title: str, runs: dict[str, Run], texts: list[str]) -> None:
    best: dict[str, tuple[float, list[str]]] = {}
    now = clock()
    for run in runs.values():
        run(texts[:32])
    for _ in range(ROUNDS):
        for name, run in runs.items():
            began = now()
            found = run(texts)
            best[name] = min(best.get(name, (float("inf"), found)), (now() - began, found))
    ours, wanted = best["regard"]
    print(f"\n{title}, {len(texts)} texts")
    for name, (took, found) in best.items():
        same = sum(one == other for one, other in zip(found, wanted, strict=True))
        print(
            f"  {name:28} {len(texts) / took:7.1f} a second   regard x{took / ours:.2f}   {same} as regard", flush=True
        )


def sentences(path: str) -> list[str]:
    """The sentences of a CoNLL file, their words between spaces."""
    blocks = Path(path).read_text("utf-8").split("\n\n")
    found = [" ".join(line.split(" ")[0] for line in block.splitlines()) for block in blocks]
    return [text for text in found if text and not text.startswith("-DOCSTART-")]


def main() -> None:
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    classifier, table, tagger, file = sys.argv[1:5]
    count = int(sys.argv[5]) if sys.argv[5:] else 800
    print(machine())
    with open(table, encoding="utf-8", newline="") as lines:
        texts = [row["sentence"] for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]
    race("Classification", classifying(classifier), texts[:count])
    race("Tagging", tagging(tagger), sentences(file)[:count])


if __name__ == "__main__":
    main()
