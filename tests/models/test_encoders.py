"""What encoders are told beside the pieces, and one layer of convolutions against Kim's formula."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.errors import ConfigError, ModelError
from regard.models import ENCODERS, Labels, PoolingSettings, RecurrentEncoder, Vocabulary, WideEncoder, build, encoder

PIECES, WIDTH, BESIDE = 20, 12, 5
REAL = torch.arange(6) < torch.tensor([6, 3, 1])[:, None]
SMALL: dict[str, dict[str, Any]] = {
    "transformer": {"width": WIDTH, "layers": 1, "attention": {"heads": 2}, "feedforward": {"hidden": 16}},
    "recurrent": {"width": WIDTH},
    "convolutional": {"width": WIDTH, "layers": 1},
    "wide": {"width": WIDTH},
}
every_encoder = pytest.mark.parametrize("name", ENCODERS)


def make(name: str, beside: int = 0, **embedding: object) -> nn.Module:
    torch.manual_seed(0)
    return encoder(name, {**SMALL[name], "embedding": {"dropout": 0.0, **embedding}}, PIECES, beside).eval()


@pytest.fixture
def pieces() -> Tensor:
    return torch.randint(0, PIECES, (3, 6))


@pytest.fixture
def beside() -> Tensor:
    return torch.randn(3, 6, BESIDE)


@every_encoder
@torch.no_grad()
def test_a_batch_is_its_texts_alone_with_what_stands_beside_them(name: str, pieces: Tensor, beside: Tensor) -> None:
    made = make(name, BESIDE, width=7)
    together = made(pieces, REAL, beside=beside)
    for row, length in enumerate(REAL.sum(1).tolist()):
        one = slice(row, row + 1)
        assert_close(
            made(pieces[one, :length], beside=beside[one, :length])[0], together[row, :length], atol=1e-5, rtol=0
        )
    noise = torch.where(REAL[..., None], beside, torch.randn_like(beside))
    assert_close(made(pieces, REAL, beside=noise)[REAL], together[REAL], atol=1e-6, rtol=0)


@every_encoder
def test_what_stands_beside_a_piece_matters_and_learns(name: str, pieces: Tensor, beside: Tensor) -> None:
    made = make(name, BESIDE)
    beside.requires_grad_()
    states = made(pieces, REAL, beside=beside)
    (states[REAL] * torch.randn(int(REAL.sum()), WIDTH)).sum().backward()
    assert beside.grad[REAL].any(-1).all()
    assert not beside.grad[~REAL].any()


@every_encoder
def test_what_an_encoder_was_not_built_for_is_refused(name: str, pieces: Tensor, beside: Tensor) -> None:
    made = make(name)
    with pytest.raises(ModelError, match=r"Segments 0 to 0, of which this embedding knows the first 0"):
        made(pieces, segments=torch.zeros_like(pieces))
    with pytest.raises(ModelError, match=r"set embedding\.beside = 5"):
        made(pieces, beside=beside)
    with pytest.raises(ModelError, match="was given none"):
        make(name, BESIDE)(pieces)


@every_encoder
@torch.no_grad()
def test_every_encoder_tells_segments_apart(name: str, pieces: Tensor) -> None:
    made = make(name, segments=2)
    first, second = torch.zeros_like(pieces), torch.ones_like(pieces)
    assert torch.equal(made(pieces), made(pieces, segments=first))
    assert not torch.allclose(made(pieces), made(pieces, segments=second))


@torch.no_grad()
def test_wide_convolutions_read_by_their_maximum_are_kims(pieces: Tensor) -> None:
    made, head = make("wide"), Labels(WIDTH, 2, PoolingSettings(how="maximum")).eval()
    vectors = made.embedding.vectors[pieces[0]]
    found = []
    for size, convolve in zip((3, 4, 5), made.convolutions, strict=True):
        row = torch.cat([torch.zeros((size - 1) // 2, WIDTH), vectors, torch.zeros(size // 2, WIDTH)])
        answers = torch.stack([convolve.product(row[place : place + size].flatten()) for place in range(6)])
        found.append(answers.amax(0).relu())
    assert_close(head(made(pieces[:1])), head.classify(torch.cat(found))[None])


def test_wide_convolutions_need_a_width_they_can_share() -> None:
    with pytest.raises(ConfigError, match=r"width of 16 cannot be shared out among 3 kernels \[3, 4, 5\]"):
        encoder("wide", {"width": 16}, PIECES)
    with pytest.raises(ConfigError, match="among 0 kernels"):
        encoder("wide", {"kernels": []}, PIECES)
    assert isinstance(encoder("wide", {"width": 16, "kernels": [2, 3]}, PIECES), WideEncoder)


def test_a_recurrent_encoder_has_the_embedding_its_settings_say() -> None:
    made = make("recurrent", width=7)
    assert isinstance(made, RecurrentEncoder)
    assert made.embedding.vectors.shape == (PIECES, 7)


def test_setting_one_thing_of_an_embedding_leaves_its_scale_alone() -> None:
    for name in ENCODERS:
        assert (make(name, width=7).embedding.factor == 1.0) == (name != "transformer")
    layers = {"encoder": {"width": 8}, "decoder": {"width": 8}}
    for name, settings in {"recurrent": layers, "recurrent_language": {"width": 8}}.items():
        model = build(name, {**settings, "embedding": {"dropout": 0.3}}, Vocabulary(PIECES, PIECES))
        assert model.embedding.factor == 1.0


def test_a_sequence_model_has_one_embedding_and_refuses_one_of_its_encoder() -> None:
    settings = {"encoder": {"width": 8}, "decoder": {"width": 8}, "embedding": {"width": 6}}
    model = build("recurrent", settings, Vocabulary(20, 20))
    assert model.encoder.embedding.vectors.shape == (20, 6)
    again = build("recurrent", model.settings.plain(), Vocabulary(20, 20))
    assert again.encoder.embedding.vectors.shape == (20, 6)
    with pytest.raises(ConfigError, match=r"encoder\.embedding is set"):
        build("recurrent", {**settings, "encoder": {"width": 8, "embedding": {"width": 3}}}, Vocabulary(20, 20))
