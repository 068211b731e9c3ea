"""A small corpus of our own in three languages, and one tokenizer of every kind learned from it."""

from functools import cache
from itertools import product

from regard.text import TOKENIZERS, Tokenizer, TokenizerSettings

ENGLISH = [f"The {size} {animal} {does}, doesn't it?" for size, animal, does in product(
    ("small", "large"), ("dog", "cat", "horse"), ("sleeps (well)", "is running", "sees 3,000.50 people")
)]  # fmt: skip
GERMAN = [f"Ein {size} {animal} läuft über die Straße – schön!" for size, animal in product(
    ("kleiner", "großer"), ("Hund", "Esel", "Löwe")
)]  # fmt: skip
CHINESE = [f"{who}在{where}{does}。" for who, where, does in product(
    ("我们", "他们", "老师"), ("北京", "公园里", "家里"), ("看书，喝茶", "工作", "睡觉")
)]  # fmt: skip
LINES = ENGLISH + GERMAN + CHINESE

# The kinds that know no alphabet but what they saw, or all of Unicode, and so can restore spaces.
SPACED = ["bpe", "byte_bpe", "unigram", "characters"]


@cache
def learned(
    kind: str, size: int = 400, lower: bool = False, unicode: str = "none", extra: tuple[str, ...] = ()
) -> Tokenizer:
    settings = TokenizerSettings.model_validate(
        {"kind": kind, "size": size, "lower": lower, "unicode": unicode, "extra": extra}
    )
    return Tokenizer.learn(settings, LINES, seed=1)


KINDS = list(TOKENIZERS)
