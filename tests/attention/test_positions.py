"""Every position scheme against its formula, past its length, at unknown places, and without any place at all."""

import math

import pytest
import torch
from hypothesis import given as drawing
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import POSITIONS, Position
from regard.attention.places import Place
from regard.config import make
from regard.errors import ConfigError, ModelError
from tests.attention.build import Recipe, attend, build, given, gradients_hold, part, refused

WIDTH, HEADS = 4, 2
INSIDE = [name for name, scheme in POSITIONS.items() if scheme.acts == "attention"]
EMBEDDED = [name for name, scheme in POSITIONS.items() if scheme.acts == "embedding"]
BOUNDED = ["one_hot", "learned"]


def made(name: str, width: int = WIDTH, heads: int = HEADS, **options: object) -> Position:
    return make("position", POSITIONS, part(name, **options), width, heads).double()


def place(queries: object, keys: object) -> Place:
    sizes = [len(at) if isinstance(at, range) else at.shape[-1] for at in (queries, keys)]
    return Place(queries, keys, slice(0, sizes[0]), slice(0, sizes[1]), torch.device("cpu"))


def zeros(length: int, width: int = WIDTH) -> Tensor:
    return torch.zeros(1, length, width, dtype=torch.float64)


# --- on the embeddings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["pairs", "halves"])
def test_sinusoidal_positions_are_waves(layout: str) -> None:
    found = made("sinusoidal", 6, layout=layout, base=100.0).embed(zeros(9, 6), range(9))[0]
    for t in range(9):
        for i in range(3):
            angle = t / 100.0 ** (2 * i / 6)
            sine, cosine = (2 * i, 2 * i + 1) if layout == "pairs" else (i, i + 3)
            assert found[t, sine].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert found[t, cosine].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_learned_positions_are_rows_of_a_table() -> None:
    scheme, embedded = made("learned", length=5), torch.randn(2, 3, WIDTH, dtype=torch.float64)
    torch.testing.assert_close(scheme.embed(embedded, range(2, 5)), embedded + scheme.table[2:5])
    somewhere = torch.tensor([[4, 0, 1], [2, 2, 3]])
    torch.testing.assert_close(scheme.embed(embedded, somewhere), embedded + scheme.table[somewhere])


def test_one_hot_positions_are_a_coordinate_of_their_own() -> None:
    scheme, embedded = made("one_hot", length=5), torch.randn(1, 3, WIDTH, dtype=torch.float64)
    one_hot = torch.nn.functional.one_hot(torch.tensor([2, 3, 4]), 5).double()
    torch.testing.assert_close(scheme.embed(embedded, range(2, 5)), embedded + one_hot @ scheme.projection.weight.mT)


@pytest.mark.parametrize("name", EMBEDDED)
def test_embeddings_get_the_same_position_alone_or_in_a_stretch(name: str) -> None:
    scheme = made(name)
    whole = scheme.embed(zeros(6), range(6))
    torch.testing.assert_close(scheme.embed(zeros(1), range(4, 5))[0, 0], whole[0, 4])
    torch.testing.assert_close(scheme.embed(zeros(2), torch.tensor([[4, 1]]))[0], whole[0, [4, 1]])


@pytest.mark.parametrize("name", EMBEDDED)
def test_an_unknown_position_adds_nothing_to_an_embedding(name: str) -> None:
    embedded = torch.randn(2, 3, WIDTH, dtype=torch.float64)
    found = made(name).embed(embedded, torch.tensor([[-1, 0, -5]]))
    assert torch.equal(found[:, [0, 2]], embedded[:, [0, 2]])
    assert not torch.equal(found[:, 1], embedded[:, 1])


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_positions_have_the_gradient_they_claim(name: str) -> None:
    scheme = made(name, **({"length": 4} if name in BOUNDED else {}))
    embedded = torch.randn(1, 3, WIDTH, dtype=torch.float64, requires_grad=True)
    for at in (range(1, 4), torch.tensor([[2, -1, 0]])):
        inputs = (embedded, *scheme.parameters())
        assert torch.autograd.gradcheck(lambda x, *_, at=at: scheme.embed(x, at), inputs, fast_mode=True)


# --- on queries and keys -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["pairs", "halves"])
def test_rotary_positions_turn_each_plane_by_its_own_angle(layout: str) -> None:
    scheme = made("rotary", 6, layout=layout, share=2 / 3, base=50.0)
    vectors = torch.randn(1, 1, 5, 6, dtype=torch.float64)
    found = scheme.rotate(vectors, range(3, 8))
    for index in range(5):
        for i in range(2):
            first, second = (2 * i, 2 * i + 1) if layout == "pairs" else (i, i + 2)
            angle = (index + 3) / 50.0 ** (2 * i / 4)
            x, y = vectors[0, 0, index, first].item(), vectors[0, 0, index, second].item()
            assert found[0, 0, index, first].item() == pytest.approx(
                x * math.cos(angle) - y * math.sin(angle), abs=1e-5
            )
            assert found[0, 0, index, second].item() == pytest.approx(
                x * math.sin(angle) + y * math.cos(angle), abs=1e-5
            )
    assert torch.equal(found[..., 4:], vectors[..., 4:])


@pytest.mark.parametrize(
    ("stretch", "slower"),
    [
        ({"factor": 4.0}, [4.0, 4.0, 4.0]),
        # Within 32 positions the planes turn 5.1, 1.6 and 0.5 times: kept, mixed a third, and stretched.
        ({"factor": 4.0, "length": 32, "slow": 1.2, "fast": 2.4}, [1.0, 2.0, 4.0]),
    ],
)
def test_stretched_rotary_positions_turn_slow_planes_slower(stretch: dict[str, float], slower: list[float]) -> None:
    base = (5.0929581789 / 1.6) ** 3
    vectors = torch.randn(1, 1, 1, 6, dtype=torch.float64)
    plain, stretched = made("rotary", 6, base=base), made("rotary", 6, base=base, stretch=stretch)
    planes = torch.arange(3)
    for plane, factor in zip(planes.tolist(), slower, strict=True):
        here = slice(2 * plane, 2 * plane + 2)
        found = stretched.rotate(vectors, torch.tensor([[24]]))[..., here]
        wanted = plain.rotate(vectors, torch.tensor([[round(24 / factor)]]))[..., here]
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)


@drawing(st.integers(0, 50), st.integers(0, 50), st.integers(0, 1000), st.sampled_from(["pairs", "halves"]))
def test_only_the_difference_of_rotary_positions_counts(query: int, key: int, shift: int, layout: str) -> None:
    scheme = made("rotary", layout=layout)
    q, k = torch.randn(2, 1, 1, 1, WIDTH, dtype=torch.float64)

    def score(at_query: int, at_key: int) -> Tensor:
        return scheme.rotate(q, range(at_query, at_query + 1)) @ scheme.rotate(k, range(at_key, at_key + 1)).mT

    torch.testing.assert_close(score(query + shift, key + shift), score(query, key), atol=1e-3, rtol=0)


def test_rotary_positions_do_not_change_a_vectors_length() -> None:
    vectors = torch.randn(2, 2, 5, WIDTH, dtype=torch.float64)
    torch.testing.assert_close(made("rotary").rotate(vectors, range(5)).norm(dim=-1), vectors.norm(dim=-1))


def test_an_unknown_position_is_not_turned() -> None:
    scheme, vectors = made("rotary"), torch.randn(1, 1, 3, WIDTH, dtype=torch.float64)
    found = scheme.rotate(vectors, torch.tensor([[-1, 2, -1]]))
    assert torch.equal(found[:, :, [0, 2]], vectors[:, :, [0, 2]])
    torch.testing.assert_close(found[:, :, 1:2], scheme.rotate(vectors[:, :, 1:2], range(2, 3)))


def test_positions_first_used_without_gradients_still_serve_in_training() -> None:
    scheme = made("rotary", 6, base=123.0)
    vectors = torch.randn(1, 1, 3, 6, dtype=torch.float64, requires_grad=True)
    with torch.inference_mode():
        scheme.rotate(vectors, range(3))
    scheme.rotate(vectors, range(3)).sum().backward()
    assert vectors.grad is not None


# --- on scores and values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
        (8, [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8]),
        (3, [2**-4, 2**-8, 2**-2]),
        (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
        (12, [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8, 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_alibi_is_a_slope_for_every_head(heads: int, slopes: list[float]) -> None:
    bias = made("alibi", heads=heads).bias(
        torch.zeros(1, heads, 3, WIDTH, dtype=torch.float64), place(range(3), range(5))
    )
    for h, slope in enumerate(slopes):
        for i in range(3):
            for j in range(5):
                assert bias[0, h, i, j].item() == pytest.approx(-slope * abs(i - j), rel=1e-6)


def test_relative_positions_add_vectors_to_keys_and_values() -> None:
    mechanism = build(Recipe(position="relative"), explicit=True)
    asked = given(mechanism, 2, 4, 5)
    found = attend(mechanism, asked)
    keys, values = mechanism.position.keys[0], mechanism.position.values[0]
    for b in range(2):
        for h in range(2):
            for i in range(4):
                d = [max(-2, min(2, j - i)) + 2 for j in range(5)]
                scores = torch.stack([asked.query[b, h, i] @ (asked.keys[b, h, j] + keys[d[j]]) / 2 for j in range(5)])
                weights = scores.softmax(0)
                context = sum(weights[j] * (asked.values[b, h, j] + values[d[j]]) for j in range(5))
                torch.testing.assert_close(found.scores[b, h, i], scores)
                torch.testing.assert_close(found.context[b, h, i], context)


def t5_bucket(distance: int, buckets: int, farthest: int, two_sided: bool) -> int:
    """As in Raffel et al.'s own code, one number at a time."""
    start = 0
    if two_sided:
        buckets //= 2
        start, distance = buckets if distance > 0 else 0, abs(distance)
    else:
        distance = max(0, -distance)
    exact = buckets // 2
    if distance < exact:
        return start + distance
    wide = exact + int(math.log(distance / exact) / math.log(farthest / exact) * (buckets - exact))
    return start + min(buckets - 1, wide)


@pytest.mark.parametrize("two_sided", [True, False])
def test_buckets_are_those_of_t5(two_sided: bool) -> None:
    scheme = made("bucketed", heads=3, buckets=32, farthest=128, two_sided=two_sided)
    # At the powers of two that bound a bucket, rounding alone decides on which side a logarithm falls.
    keys = torch.tensor([[j for j in range(400) if abs(j - 200) not in (16, 32, 64, 128)]])
    bias = scheme.bias(torch.zeros(1, 3, 1, WIDTH, dtype=torch.float64), place(torch.tensor([[200]]), keys))[0, :, 0]
    for column, j in enumerate(keys[0].tolist()):
        assert torch.equal(bias[:, column], scheme.table[:, t5_bucket(j - 200, 32, 128, two_sided)])


def test_known_buckets() -> None:
    """Values of `T5Attention._relative_position_bucket` in Transformers."""
    scheme = made("bucketed", heads=1, buckets=32, farthest=128)
    scheme.table.data[0] = torch.arange(32)
    keys = [0, 100, 199, 200, 201, 205, 207, 208, 210, 220, 300, 399]
    bias = scheme.bias(zeros(1)[None], place(torch.tensor([[200]]), torch.tensor([keys])))
    assert bias.flatten().tolist() == [15, 15, 1, 0, 17, 21, 23, 24, 24, 26, 31, 31]


@pytest.mark.parametrize("name", INSIDE)
def test_every_scheme_inside_attention_has_the_gradient_it_claims(name: str) -> None:
    mechanism = build(Recipe(position=name), kernel="reference")
    assert gradients_hold(mechanism, given(mechanism, 2, 3, 5))


# --- past the trained length, at unknown places, and nowhere -------------------------------------------------------


@pytest.mark.parametrize("name", BOUNDED)
def test_a_table_refuses_what_is_past_its_end(name: str) -> None:
    scheme = made(name, length=4)
    for at in (range(2, 6), torch.tensor([[0, 5, 1, -1]])):
        refused(ModelError, lambda at=at: scheme.embed(zeros(4), at), "Position 5", f"the 4 that {name}", "length")


@pytest.mark.parametrize("name", [name for name in EMBEDDED if name not in BOUNDED])
def test_other_embedded_schemes_go_on_past_any_length(name: str) -> None:
    found = made(name).embed(zeros(3), range(100_000, 100_003))
    assert found.isfinite().all()
    assert not torch.equal(found[:, 0], found[:, 1])


@pytest.mark.parametrize("name", INSIDE)
def test_every_scheme_inside_attention_goes_on_past_any_length(name: str) -> None:
    mechanism = build(Recipe(position=name))
    asked, far = given(mechanism), 20_000
    memory = mechanism.remember(asked.keys, asked.values, at=range(far, far + 6))
    found = mechanism(asked.query, memory, at=range(far, far + 5)).context
    torch.testing.assert_close(found, attend(mechanism, asked).context, atol=1e-2, rtol=0)
    assert mechanism(asked.query, memory, at=range(5)).context.isfinite().all()


@pytest.mark.parametrize("name", INSIDE)
def test_where_every_position_is_unknown_there_might_as_well_be_none(name: str) -> None:
    mechanism = build(Recipe(position=name))
    plain = build()
    plain.load_state_dict({name: t for name, t in mechanism.state_dict().items() if not name.startswith("position.")})
    asked, nowhere = given(mechanism), torch.tensor([[-1]])
    memory = mechanism.remember(asked.keys, asked.values, at=nowhere.expand(1, 6))
    found = mechanism(asked.query, memory, at=nowhere.expand(1, 5)).context
    torch.testing.assert_close(found, attend(plain, asked).context)


@pytest.mark.parametrize("name", ["alibi", "relative", "bucketed"])
@pytest.mark.parametrize("unknown", ["query", "key"])
def test_a_pair_of_which_one_position_is_unknown_gets_nothing(name: str, unknown: str) -> None:
    mechanism = build(Recipe(position=name), explicit=True)
    plain = build(explicit=True)
    asked = given(mechanism)
    at_query, at_key = torch.arange(5)[None].clone(), torch.arange(6)[None].clone()
    (at_query if unknown == "query" else at_key)[0, 2] = -1
    found = mechanism(asked.query, mechanism.remember(asked.keys, asked.values, at=at_key), at=at_query)
    somewhere, nowhere = attend(mechanism, asked).scores, attend(plain, asked).scores
    axis = 2 if unknown == "query" else 3
    torch.testing.assert_close(found.scores.select(axis, 2), nowhere.select(axis, 2))
    torch.testing.assert_close(found.scores.select(axis, 1), somewhere.select(axis, 1))


def test_beside_a_known_position_an_unknown_one_counts_as_zero_under_rotary() -> None:
    mechanism = build(Recipe(position="rotary"), explicit=True)
    asked = given(mechanism)
    memory = mechanism.remember(asked.keys, asked.values)
    found = [mechanism(asked.query, memory, at=torch.full((1, 5), place)).scores for place in (-1, 0)]
    assert torch.equal(*found)


@pytest.mark.parametrize("name", ["none", *INSIDE])
def test_only_without_positions_is_a_permuted_input_a_permuted_output(name: str) -> None:
    mechanism = build(Recipe(position=name))
    asked, order = given(mechanism, queries=6), torch.tensor([3, 0, 5, 1, 4, 2])
    plain = attend(mechanism, asked).context
    memory = mechanism.remember(asked.keys[:, :, order], asked.values[:, :, order])
    permuted = mechanism(asked.query[:, :, order], memory).context
    assert torch.allclose(permuted, plain[:, :, order], atol=1e-12) == (name == "none")


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_positions_tell_a_permuted_input_apart(name: str) -> None:
    embedded, order = torch.randn(1, 4, WIDTH, dtype=torch.float64), torch.tensor([2, 0, 3, 1])
    scheme = made(name)
    assert not torch.allclose(scheme.embed(embedded[:, order], range(4)), scheme.embed(embedded, range(4))[:, order])


def test_no_position_leaves_everything_as_it_is() -> None:
    scheme, embedded = made("none"), zeros(3)
    assert scheme.embed(embedded, range(3)) is embedded
    assert scheme.rotate(embedded[None], range(3)) is not None
    assert scheme.bias(embedded[None], place(range(3), range(3))) is None


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ({"name": "rotary", "share": 0.2}, ["0 of 4", "even"]),
        ({"name": "rotary", "stretch": {"factor": 2.0, "slow": 4.0}}, ["slow = 4.0", "fast = 4.0"]),
        ({"name": "rotary", "layout": "thirds"}, ["layout = 'thirds'", "'pairs'"]),
        ({"name": "relative", "reach": 0}, ["reach=0", "1 or more"]),
        ({"name": "bucketed", "buckets": 6}, ["buckets=6", "multiple of 4"]),
        ({"name": "bucketed", "buckets": 8, "farthest": 8}, ["farthest=8", "buckets=8"]),
        ({"name": "sinusoidal"}, ["sinusoidal", "embeddings", "rotary"]),
        ({"name": "learned", "length": 0}, ["length = 0"]),
        ({"name": "rotarry"}, ["'rotarry'", "'rotary'"]),
    ],
)
def test_settings_that_make_no_position_are_refused(position: dict[str, object], words: list[str]) -> None:
    refused(ConfigError, lambda: build(position=position), *words)


def test_waves_need_an_even_width() -> None:
    refused(ConfigError, lambda: made("sinusoidal", 5), "width 5", "even")
    refused(ConfigError, lambda: made("rotary", 3), "3 of 3", "even")


def test_positions_inside_attention_compare_vectors_of_one_width() -> None:
    refused(ConfigError, lambda: build(Recipe("general", position="alibi"), query=3, key=4), "3", "4", "alibi")
    refused(ConfigError, lambda: build(Recipe(position="relative"), value=3), "3", "4", "relative")
