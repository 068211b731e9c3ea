"""What an audit's figures mean, in sentences, and from where on."""

from collections.abc import Iterator
from dataclasses import replace

from regard.explain.audit.means import shown
from regard.explain.audit.removing import RANDOM, REVERSED
from regard.explain.audit.report import IDLE, SILENT, Audit, Trust

# Fewer texts tell nothing.
LEAST_TEXTS = 5
# Below this change of p the outputs do not notice that attention was shuffled; from the other on they hang on it.
STILL, MOVED = 0.02, 0.05
# How many times as much the loss of the words named first must hurt as that of random words.
BETTER = 1.5
# Where even the best order known hurts less than so many times as much, words cannot be told apart by their loss.
BLUNT = 1.1
# Random words whose loss is below this give no number of times.
NOTHING = 0.001
# A rank correlation below the first is hardly any agreement, from the second on it is close.
WEAK, CLOSE = 0.3, 0.6
# A share this many times what even attention would have is called a bias.
LEANING = 2.0

THRESHOLDS = {
    "texts": float(LEAST_TEXTS),
    "still": STILL,
    "moved": MOVED,
    "better": BETTER,
    "weak": WEAK,
    "close": CLOSE,
    "leaning": LEANING,
    "idle": IDLE,
    "silent": SILENT,
}

OPENING: dict[Trust, str] = {
    "yes": "Attention ({source}) can be read as a reason for this model's outputs.",
    "partly": "Attention ({source}) is part of the reason for this model's outputs, not all of it.",
    "no": "Attention ({source}) is no explanation for this model's outputs: do not read it as a reason.",
    "unclear": "{texts} texts are too few to tell whether attention ({source}) explains this model; give more.",
    "blunt": "Outputs hang on attention ({source}), but whether on the words it names cannot be told: taking away any "
    "word does about the same.",
    "none": "This model has no attention, so none can explain it; what is audited is the gradient of its inputs.",
}


def judged(audit: Audit) -> Audit:
    """The audit with its verdict."""
    trust = trusted(audit)
    return replace(audit, trust=trust, sentences=tuple(_sentences(audit, trust)), thresholds=THRESHOLDS)


def trusted(audit: Audit) -> Trust:
    """Whether attention explains the model: outputs hang on it, and the words it names matter more than others."""
    if not audit.exchanges:
        return "none"
    if audit.texts < LEAST_TEXTS:
        return "unclear"
    change = audit.exchanges["permuted"].probability.value
    if change < STILL:
        return "no"
    if _blunt(audit):
        return "blunt"
    if audit.gain.lowest <= 0:
        # Not shown to be better; shown not to be only where the interval leaves no room for it.
        chance = audit.orders[RANDOM].comprehensiveness.value
        return "no" if audit.gain.highest < (BETTER - 1) * max(chance, NOTHING) else "unclear"
    return "yes" if change >= MOVED and _times(audit) >= BETTER else "partly"


def _blunt(audit: Audit) -> bool:
    """Whether no order of words that is known does better than chance, the one by each word's own loss included."""
    falls = {name: order.comprehensiveness.value for name, order in audit.orders.items() if name != REVERSED}
    chance, given = falls.pop(RANDOM), falls.pop(audit.judged)
    return bool(falls) and chance >= NOTHING and max(given, *falls.values()) < BLUNT * chance


def _times(audit: Audit) -> float:
    """How many times as much the loss of words named first hurts as that of random words."""
    given, chance = (audit.orders[name].comprehensiveness.value for name in (audit.judged, RANDOM))
    return given / max(chance, NOTHING)


def _sentences(audit: Audit, trust: Trust) -> Iterator[str]:
    yield OPENING[trust].format(source=audit.source, texts=audit.texts)
    yield from _exchanged(audit)
    yield _removed(audit)
    yield from _bounded(audit)
    yield from _moved(audit)
    yield from _agreeing(audit)
    yield from _seeded(audit)
    yield from _headed(audit)
    yield from _leaning(audit)
    yield from _idle(audit)


def _exchanged(audit: Audit) -> Iterator[str]:
    if not audit.exchanges:
        return
    shuffled, even = audit.exchanges["permuted"], audit.exchanges["uniform"]
    change = shuffled.probability.value
    how = "barely changes" if change < STILL else "changes a little" if change < MOVED else "changes"
    told = f"The output {how} when attention is shuffled: its probability moves by {shuffled.probability}"
    told += f" (made even, by {even.probability})"
    if shuffled.flips is not None and even.flips is not None:
        told += f"; {shuffled.flips:.0%} of the texts get another output (made even, {even.flips:.0%})"
    yield f"{told}."


def _removed(audit: Audit) -> str:
    name = "attention" if audit.judged == "attention" else "the gradient"
    keys = (audit.judged, RANDOM, REVERSED)
    given, random, back = (shown(audit.orders[key].comprehensiveness.value) for key in keys)
    figures = f"p falls by {given}, against {random} for random words and {back} for those named last"
    if audit.gain.lowest <= 0:
        return f"Removing the words {name} names first does not clearly hurt more than random words: {figures}."
    if audit.orders[RANDOM].comprehensiveness.value < NOTHING:
        return f"Removing the words {name} names first hurts, and removing random words does not: {figures}."
    return f"Removing the words {name} names first hurts {_times(audit):.1f} times as much as random words: {figures}."


def _bounded(audit: Audit) -> Iterator[str]:
    given, chance = (audit.normalized.get(name) for name in (audit.judged, RANDOM))
    if given is not None and chance is not None:
        yield (
            f"Between the worst order of words (0) and the best (1) it reaches {given.value:.2f}, random orders "
            f"{chance.value:.2f} ({given.texts} texts)."
        )


def _moved(audit: Audit) -> Iterator[str]:
    if audit.distance is not None and audit.farthest is not None:
        yield (
            f"Attention can move by at least {audit.distance.value:.2f} of {audit.farthest.value:.2f} bits tried "
            f"(Jensen-Shannon) while the output stays within {audit.settings['epsilon']} of its probability; "
            "a harder search may find more."
        )


def _agreeing(audit: Audit) -> Iterator[str]:
    if audit.agreement:
        found = [f"{name.replace('_', ' ')} {one.value:.2f}" for name, one in audit.agreement.items()]
        best = max(one.value for one in audit.agreement.values())
        yield f"It ranks words {_alike(best)} other methods: {', '.join(found)} (rank correlation)."


def _seeded(audit: Audit) -> Iterator[str]:
    for name, one in audit.seeds.items():
        yield f"It ranks words {_alike(one.value)} the attention of {name}: {one.value:.2f} (rank correlation)."


def _alike(correlation: float) -> str:
    return "unlike" if correlation < WEAK else "somewhat like" if correlation < CLOSE else "much like"


def _headed(audit: Audit) -> Iterator[str]:
    if audit.heads is not None:
        name, fall = next(iter(audit.heads.falls.items()))
        yield (
            f"{audit.heads.silent} of {len(audit.heads.falls)} heads can be silenced one at a time for less than "
            f"{SILENT} of log p; missed most is {name} ({fall:.2f}, {audit.heads.texts} texts)."
        )


def _leaning(audit: Audit) -> Iterator[str]:
    if audit.leaning is None:
        return
    named = {"marks such as the end": audit.leaning.special, "the first piece of text": audit.leaning.first}
    named |= {f"the {name} of the text": share for name, share in audit.leaning.places.items()}
    named |= {f"the {name} pieces": share for name, share in audit.leaning.frequencies.items()}
    strong = [(what, share) for what, share in named.items() if share.weight > LEANING * share.evenly > 0]
    for what, share in strong:
        yield f"It leans towards {what}: {share.weight:.0%} of the weight, {share.evenly:.0%} if it were even."


def _idle(audit: Audit) -> Iterator[str]:
    if audit.idle is not None:
        yield (
            f"{audit.idle.share.value:.0%} of the attention on words lies on words without which p changes by less "
            f"than {IDLE}."
        )
