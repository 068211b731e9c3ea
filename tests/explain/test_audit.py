"""The audit: models whose attention is known to decide, or known not to, are judged as what they are."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import islice

import jaxtyping
import pytest
import torch
from torch import nn

from regard.errors import RequestError
from regard.explain.audit import Audit, AuditSettings, Case, Cost, Watch, audit
from tests.explain.audited import cases, label_of, reads
from tests.explain.toys import Toy, classifier, language, recurrent, shown, translator

QUICK = AuditSettings(few=1, permutations=3, tries=4, randoms=4, steps=2)
TEXTS = 10
CHECKED = {f"test_every_family_can_be_audited[{name}]" for name in ("recurrent", "language", "pooling")}


@pytest.fixture(autouse=True)
def unchecked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures are checked where that takes little time beside the audits."""
    if request.node.name not in CHECKED:
        monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@cache
def audited(decides: bool) -> Audit:
    model = reads(decides)

    def again() -> list[str]:
        return [case.subject.outputs.units[0].text for case in cases(model, TEXTS)]

    others = {"other seed": reads(True, 1)} if decides else {}
    return audit(cases(model, TEXTS, others), QUICK, TEXTS, again)


def test_attention_that_decides_is_judged_a_reason() -> None:
    found = audited(True)
    assert found.trust == "yes"
    assert found.exchanges["permuted"].probability.value > 0.2
    assert found.orders["attention"].comprehensiveness.value > 2 * found.orders["random"].comprehensiveness.value
    assert found.orders["reversed"].comprehensiveness.value < found.orders["random"].comprehensiveness.value
    assert found.seeds["other seed"].value > 0.2
    assert found.normalized["attention"].value > found.normalized["random"].value


def test_attention_that_nothing_listens_to_is_judged_none() -> None:
    found = audited(False)
    assert found.trust == "no"
    assert found.exchanges["permuted"].probability.value == 0
    assert found.exchanges["permuted"].flips == found.exchanges["uniform"].flips == 0
    # Everything that was tried left the output where it was.
    assert found.distance == found.farthest
    assert found.idle is not None
    assert found.idle.share.value > audited(True).idle.share.value
    assert "do not read it as a reason" in found.sentences[0]


def test_a_model_to_which_any_hole_is_the_same_is_not_judged_by_holes() -> None:
    """With this seed the blank piece decides: one anywhere and the label is gone."""
    found = audit(cases(reads(True, 3), 20), QUICK, 20)
    assert found.trust == "blunt"
    assert "taking away any word does about the same" in found.sentences[0]


@pytest.mark.parametrize("seed", [1, 2, 4])
@pytest.mark.parametrize(
    ("decides", "shift", "trusts"), [(True, 0, {"yes"}), (False, 0, {"no"}), (True, 2, {"no", "unclear"})]
)
def test_the_verdict_is_right_whatever_the_seed(decides: bool, shift: int, trusts: set[str], seed: int) -> None:
    """Of models of known truth: attention decides; it does not; it decides by what stands elsewhere."""
    found = audit(cases(reads(decides, seed, shift), 20), QUICK, 20)
    assert found.trust in trusts, found.sentences
    assert (found.exchanges["permuted"].probability.value > 0.05) == decides


def test_attention_that_decides_cannot_move_as_far_as_attention_that_does_not() -> None:
    used, unused = (audited(decides) for decides in (True, False))
    assert used.distance.value / used.farthest.value < unused.distance.value / unused.farthest.value == 1


def test_texts_get_other_outputs_when_attention_that_decides_is_exchanged() -> None:
    exchanges = audited(True).exchanges
    assert 0.2 < exchanges["permuted"].flips < 1
    assert 0.2 < exchanges["uniform"].flips < 1


def test_sentences_say_the_figures() -> None:
    found = audited(True)
    told = " ".join(found.sentences)
    times = found.orders["attention"].comprehensiveness.value / found.orders["random"].comprehensiveness.value
    assert f"hurts {times:.1f} times as much" in told
    assert f"moves by {found.exchanges['permuted'].probability}" in told


def test_the_same_seed_gives_the_same_audit_and_another_another() -> None:
    def made(seed: int) -> Audit:
        found = audit(cases(reads(True), 2), QUICK.model_copy(update={"seed": seed}), 2)
        return replace(found, seconds=0.0, settings={})

    assert (first := made(0)) == made(0)
    assert first.exchanges != made(1).exchanges


def test_an_audit_is_valid_json() -> None:
    found = audited(True)
    plain = json.loads(json.dumps(found.plain(), allow_nan=False))
    assert plain["trust"] == "yes"
    assert plain["orders"]["attention"]["comprehensiveness"]["texts"] == TEXTS
    assert plain["thresholds"]["better"] == 1.5


def test_few_texts_tell_nothing() -> None:
    assert audit(cases(reads(True), 2), QUICK, 2).trust == "unclear"


FAMILIES: dict[str, Callable[[], Toy]] = {
    "transformer": translator,
    "recurrent": recurrent,
    "looking back": lambda: recurrent(attention={"score": "location_aware"}),
    "sparse": lambda: recurrent(attention={"score": "additive", "normalizer": "sparsemax"}),
    "language": language,
    "pooling": classifier,
    "self-attention": lambda: classifier(pooling="mean"),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_can_be_audited(name: str) -> None:
    toy = FAMILIES[name]()
    texts = [shown(toy, pieces) for pieces in ([8, 4, 6, 2], [9, 2])]
    if name == "language":
        texts = [shown(toy, pieces) for pieces in ([1, 8, 4, 6], [1, 9])]
    found = audit(map(Case, texts), QUICK, 2)
    json.dumps(found.plain(), allow_nan=False)
    assert found.texts == 2
    assert not found.left_out
    assert found.exchanges["permuted"].probability.value > 0
    assert 0 <= found.distance.value <= found.farthest.value <= 1
    assert found.leaning.special.weight <= 1
    # One word has no order, so the last text has no correlation.
    assert all(one.texts == 1 for one in found.agreement.values())


def test_several_layers_can_be_exchanged_at_once() -> None:
    toy = translator()
    one, all_of = (audit([Case(toy)], QUICK.model_copy(update={"layer": layer, "few": 0}), 1) for layer in (-1, "mean"))
    assert "mean of 2 layers" in all_of.source
    assert one.exchanges["uniform"].probability != all_of.exchanges["uniform"].probability


def test_a_model_without_attention_is_told_so_and_its_gradient_audited() -> None:
    found = audit((Case(replace(case.subject, looks=())) for case in cases(reads(True), 6)), QUICK, 6)
    assert found.trust == "none"
    assert "has no attention" in found.sentences[0]
    assert found.judged == "input_gradient"
    assert "attention" not in found.orders
    assert found.exchanges == {}
    assert found.leaning is None


def test_nothing_to_audit_is_refused() -> None:
    with pytest.raises(RequestError, match="no text to audit"):
        audit([], QUICK)
    with pytest.raises(RequestError, match="too long for it"):
        audit([RequestError("It is too long for it.")], QUICK)


def test_a_text_that_cannot_be_explained_is_left_out_and_counted() -> None:
    empty = label_of(reads(True), [])
    found = audit([Case(empty), RequestError("too long"), *cases(reads(True), 2)], QUICK, 4)
    assert (found.texts, found.left_out) == (2, 2)
    assert found.reason


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ({"layer": 5}, "There is no layer 5"),
        ({"head": 7}, "There is no head 7"),
        ({"kind": "pool"}, "has no pool attention"),
        ({"kind": "self", "queries": "outputs"}, "looks at outputs"),
    ],
)
def test_attention_that_cannot_be_audited_is_refused(choice: dict[str, object], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        audit([Case(translator())], AuditSettings.read(choice))


def test_cost_is_told_after_the_first_text_and_progress_after_each() -> None:
    told: list[Cost | tuple[int, int]] = []
    found = audit(
        cases(reads(True), 4), QUICK, 4, watch=Watch(told.append, lambda done, count: told.append((done, count)))
    )
    cost = told[0]
    assert isinstance(cost, Cost)
    assert cost.texts == 4
    assert cost.seconds > 0
    # Texts of one length cost much the same: versions that come again are not scored again.
    assert cost.passes == pytest.approx(found.passes, rel=0.1)
    assert told[1:] == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_little_time_means_few_texts() -> None:
    found = audit(cases(reads(True), 50), QUICK.model_copy(update={"seconds": 1e-3}), 50)
    assert found.texts == 1


def test_an_audit_leaves_the_model_as_it_was() -> None:
    model = reads(True)
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    text = list(islice(cases(model, 1), 1))
    audit(text, QUICK, 1)
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(tap.watches for tap in model.modules() if hasattr(tap, "watches"))
    assert isinstance(model.eval(), nn.Module)
