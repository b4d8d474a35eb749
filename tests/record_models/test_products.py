"""The products of networks in training: exact, or rounded where the processor is faster by that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.record_models import precision as precisions
from syntabula.record_models import products
from syntabula.record_models.loop import Training, train
from syntabula.record_models.precision import let_round
from syntabula.record_models.products import ExactProducts

torch = pytest.importorskip("torch")

from syntabula.record_models import rounded_products  # noqa: E402
from syntabula.record_models.rounded_products import RoundedProducts  # noqa: E402

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of these tests count as large."""
    monkeypatch.setattr(rounded_products, "_LEAST_OPERATIONS", 1)
    monkeypatch.setattr(rounded_products, "_LEAST_WIDTH", 1)


def results(made: Any, shape: tuple[int, ...], *, bias: bool, rectified: bool) -> list[Any]:
    """Return a product and the gradients of a random sum of it."""
    random = torch.Generator().manual_seed(0)
    tensors = [torch.randn(size, generator=random) for size in (shape, (shape[-1], 70), (70,))]
    inputs, weights, added = (tensor.requires_grad_() for tensor in tensors)
    found = made(inputs, weights, added if bias else None, rectified=rectified)
    slopes = torch.randn(found.shape, generator=random)
    (found.float() * slopes).sum().backward()
    return [found.detach().float(), inputs.grad, weights.grad, *([added.grad] if bias else [])]


@pytest.mark.parametrize("shape", [(80, 50), (20, 4, 50)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rectified", [False, True])
def test_rounded_ones_are_the_exact_ones_up_to_rounding(
    shape: tuple[int, ...], bias: bool, rectified: bool
) -> None:
    """Each of some 80 terms is off by 2^-8 of itself, and those that a rectifier cuts near 0 by a slope each."""
    exact, rounded = (
        results(made, shape, bias=bias, rectified=rectified)
        for made in (ExactProducts(), RoundedProducts(ExactProducts()))
    )

    for one, other in zip(exact, rounded, strict=True):
        assert other.dtype == torch.float32
        assert other.shape == one.shape
        assert float((one - other).norm() / one.norm()) < (0.1 if rectified else 0.01)
    # A bias has the sum of the slopes, which is rounded only where they are.
    assert not any(map(torch.equal, exact[:3], rounded[:3]))


def sums(made: Any, shape: tuple[int, ...]) -> list[Any]:
    """Return a sum of two products, and the gradients of a random sum of it but those of the first inputs."""
    random = torch.Generator().manual_seed(0)
    shapes = [(*shape, 50), (*shape, 30), (50, 70), (30, 70), (70,)]
    one, other, *weights, bias = (torch.randn(size, generator=random) for size in shapes)
    moved = [x.requires_grad_() for x in (other, *weights, bias)]
    found = made.added([(one, weights[0]), (other, weights[1])], bias)
    (found.float() * torch.randn(found.shape, generator=random)).sum().backward()
    return [found.detach().float(), *(x.grad for x in moved)]


@pytest.mark.parametrize("shape", [(80,), (20, 4)])
def test_a_rounded_sum_of_products_is_the_exact_one_up_to_rounding(shape: tuple[int, ...]) -> None:
    """The sum is rounded itself, too."""
    exact, rounded = (sums(made, shape) for made in (ExactProducts(), RoundedProducts(ExactProducts())))

    for one, other in zip(exact, rounded, strict=True):
        assert other.dtype == torch.float32
        assert other.shape == one.shape
        assert 0 < float((one - other).norm() / one.norm()) < 0.01


def test_a_sum_of_products_is_the_same_where_no_gradient_follows() -> None:
    random = torch.Generator().manual_seed(0)
    parts = [(torch.randn(80, n, generator=random), torch.randn(n, 70, generator=random)) for n in (50, 30)]
    made, bias = RoundedProducts(ExactProducts()), torch.randn(70, generator=random)

    with torch.no_grad():
        alone = made.added(parts, bias)

    assert float((alone - made.added(parts, bias).float()).norm() / alone.norm()) < 0.01


def test_small_ones_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, least in [("_LEAST_OPERATIONS", 80 * 50 * 70 + 1), ("_LEAST_WIDTH", 51)]:
        with monkeypatch.context() as held:
            held.setattr(rounded_products, name, least)
            exact, other = (
                results(made, (80, 50), bias=True, rectified=False)
                for made in (ExactProducts(), RoundedProducts(ExactProducts()))
            )
            assert all(map(torch.equal, exact, other))
    monkeypatch.setattr(rounded_products, "_LEAST_OPERATIONS", 80 * 80 * 70 + 1)
    exact, other = (sums(made, (80,)) for made in (ExactProducts(), RoundedProducts(ExactProducts())))
    assert all(map(torch.equal, exact, other))


def test_what_is_no_number_stays_none() -> None:
    inputs, weights = torch.ones(4, 3), torch.ones(3, 5)
    inputs[1, 2] = torch.nan

    found = RoundedProducts(ExactProducts())(inputs, weights, rectified=True)

    assert found.isnan().any(1).tolist() == [False, True, False, False]


class Line:
    """A network of one product, whose loss is how far it is from the codes; notes what made it."""

    used: list[type] = []  # noqa: RUF012

    def __init__(self, device: Any, random: Any) -> None:
        self.parameters = {"line": torch.zeros((3, 2), device=device)}
        self.products: products.Products = ExactProducts()

    def losses(self, records: Any, random: Any) -> Any:
        self.used.append(type(self.products))
        return (self.products(records.float(), self.parameters["line"]) - 1).square().sum(1)


@pytest.mark.parametrize(
    ("precision", "fast", "kind"),
    [("auto", True, RoundedProducts), ("auto", False, ExactProducts), ("float32", True, ExactProducts)],
)
def test_training_rounds_only_where_that_is_faster_and_not_forbidden(
    precision: Any, fast: bool, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precisions, "multiplies_bfloat16", lambda device: fast)
    monkeypatch.setattr(Line, "used", [])
    records = np.random.default_rng(0).integers(0, 5, (60, 3))

    found = [
        train(
            Line,
            records,
            Training(steps=4, precision=precision, device="cpu"),
            lambda step, done: None,
            seed=0,
        )
        for _ in range(2)
    ]

    assert set(Line.used) == {kind}
    assert found[0]["line"].dtype == np.float32
    assert (found[0]["line"] == found[1]["line"]).all()


def test_a_gpu_and_a_network_that_cannot_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precisions, "multiplies_bfloat16", lambda device: True)
    line = Line(CPU, None)

    let_round(line, "auto", torch.device("cuda"))
    let_round(object(), "auto", CPU)

    assert isinstance(line.products, ExactProducts)


def test_another_precision_is_refused() -> None:
    with pytest.raises(ArgumentError, match="precision"):
        Training(precision="double")  # type: ignore[arg-type]
