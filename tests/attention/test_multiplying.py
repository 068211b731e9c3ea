"""oneDNN multiplies in place of MKL where it takes more at a time; it rounds nothing, and nothing stays behind."""

from collections.abc import Iterator

import pytest
import torch

from regard.attention import multiplying
from regard.attention.multiplying import usually, widely


def chosen() -> str:
    return torch.backends.mkldnn.matmul.fp32_precision


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a processor that it is for."""
    monkeypatch.setattr(multiplying, "faster", lambda: True)


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    before = chosen()
    yield
    assert chosen() == before
    assert multiplying._inside == 0


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 512, 512), (64, 64, 64), (300, 128, 1000), (37, 700, 91)])
def test_products_are_those_of_float32_forward_and_backward(rows: int, inputs: int, outputs: int) -> None:
    x, weight = torch.randn(rows, inputs, requires_grad=True), torch.randn(outputs, inputs, requires_grad=True)
    bias, probe = torch.randn(outputs), torch.randn(rows, outputs)

    def learned(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given, by, added, asked = tensors
        out = torch.nn.functional.linear(given, by, added)
        return out, *torch.autograd.grad((out * asked).sum(), (given, by))

    with widely():
        found = learned(x, weight, bias, probe)
    wanted = learned(*(each.detach().double().requires_grad_() for each in (x, weight, bias, probe)))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, atol=1e-5 * max(rows, inputs, outputs) ** 0.5, rtol=1e-5)


@pytest.mark.usefixtures("wide")
def test_it_holds_inside_and_not_in_torchs_attention() -> None:
    with widely():
        assert chosen() == "bf16"
        with usually():
            assert chosen() == "none"
        assert chosen() == "bf16"
    with usually():
        assert chosen() == "none"


@pytest.mark.usefixtures("wide")
def test_two_trainings_at_once_leave_in_any_order() -> None:
    one, other = widely(), widely()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert chosen() == "bf16"
    other.__exit__(None, None, None)


@pytest.mark.usefixtures("wide")
def test_an_error_inside_ends_it() -> None:
    with pytest.raises(ZeroDivisionError), widely():
        _ = 1 // 0


@pytest.mark.usefixtures("wide")
def test_who_allowed_torch_to_round_is_left_alone() -> None:
    torch.backends.mkldnn.matmul.fp32_precision = "tf32"
    try:
        with widely():
            assert chosen() == "tf32"
        assert chosen() == "tf32"
    finally:
        torch.backends.mkldnn.matmul.fp32_precision = "none"


@pytest.mark.parametrize(("maker", "tiles"), [("GenuineIntel", False), ("AuthenticAMD", True), ("", False)])
def test_it_is_not_for_every_processor(maker: str, tiles: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplying, "_maker", lambda: maker)
    monkeypatch.setattr(torch.cpu, "_is_avx512_supported", lambda: True)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: tiles)
    assert not multiplying.faster.__wrapped__()


def test_a_library_that_rounds_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplying, "_maker", lambda: "AuthenticAMD")
    monkeypatch.setattr(torch.cpu, "_is_avx512_supported", lambda: True)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert multiplying.faster.__wrapped__()
    # What a product would be if its numbers had become bfloat16.
    full = torch.full
    monkeypatch.setattr(torch, "full", lambda *given: _Rounded(full(*given)))
    assert not multiplying.faster.__wrapped__()


class _Rounded:
    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __matmul__(self, other: "_Rounded") -> torch.Tensor:
        return (self.tensor.bfloat16() @ other.tensor.bfloat16()).float()

    def double(self) -> torch.Tensor:
        return self.tensor.double()
