"""Clipped sums of gradients by one backward pass: against a loop over records, for every use of a parameter."""

from __future__ import annotations

import contextlib
import gc
import math
import threading
import time
import weakref
from collections.abc import Callable

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the neural extra is not installed")
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from syntabula._float32 import training_products  # noqa: E402
from syntabula.errors import ArgumentError  # noqa: E402
from syntabula.privacy.training import per_record  # noqa: E402
from syntabula.privacy.training.per_record import clipped_sum, require_separate  # noqa: E402

N, WIDTH, CODES = 13, 6, 9


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(7, WIDTH) * 0.5)
        self.mask = (torch.rand(7, WIDTH) < 0.5).float()

    def forward(self, x):
        return functional.linear(x, self.weight * self.mask)


class Sequence(nn.Module):
    """Several places a record: embeddings, norms and layers over all of them, a position, a scale."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.table = nn.Embedding(CODES, width, padding_idx=2)
        self.place = nn.Parameter(torch.randn(WIDTH, width))
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 5)
        self.scale = nn.Parameter(torch.rand(5) + 0.5)
        self.after = nn.RMSNorm(5)
        self.out = nn.Linear(5, CODES)

    def forward(self, codes):
        x = self.table(codes) + self.place
        x = torch.tanh(self.inner(self.norm(x))) * self.scale
        return self.out(self.after(x))


class Twice(nn.Module):
    """One layer that is used twice, and one table in two columns."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(CODES, 4)
        self.layer = nn.Linear(4, 4)

    def forward(self, codes):
        x = self.table(codes[:, 0]) + 2 * self.table(codes[:, 1])
        return self.layer(torch.tanh(self.layer(x)))


class Functional(nn.Module):
    """Products, lookups and sums without layers."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(CODES, 4))
        self.matrix = nn.Parameter(torch.randn(4, 3))
        self.bias = nn.Parameter(torch.randn(3))

    def forward(self, codes):
        return torch.relu(self.table[codes[:, :3]] @ self.matrix + self.bias).sum(1)


class Bags(nn.Module):
    """Sums of rows that are looked up, and products with a bias added, of which one has no matrix to train."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(CODES, 5, mode="sum")
        self.matrix = nn.Parameter(torch.randn(5, 4))
        self.bias = nn.Parameter(torch.randn(4))
        self.shift = nn.Parameter(torch.randn(3))
        self.register_buffer("fixed", torch.randn(4, 3), persistent=False)

    def forward(self, codes):
        x = torch.addmm(self.bias, self.table(codes), self.matrix)
        return self.shift.addmm(torch.tanh(x), self.fixed)


class Turned(nn.Module):
    """Products with turned matrices, masked and not; one matrix is used both ways."""

    def __init__(self) -> None:
        super().__init__()
        self.both = nn.Parameter(torch.randn(5, WIDTH) * 0.4)
        self.masked = nn.Parameter(torch.randn(4, WIDTH) * 0.4)
        self.added = nn.Parameter(torch.randn(3, 4) * 0.4)
        self.layer = nn.Parameter(torch.randn(3, 2))
        self.bias = nn.Parameter(torch.randn(3))
        self.shift = nn.Parameter(torch.randn(2))
        self.mask = (torch.rand(4, WIDTH) < 0.5).float()

    def forward(self, x):
        x = torch.tanh(x @ self.both.T) @ self.both
        x = torch.tanh(x @ (self.masked * self.mask).t())
        x = torch.addmm(self.bias, x, torch.t(self.added))
        return functional.linear(x, self.layer.mT, self.shift) + functional.linear(x, self.layer.T)


class Grouped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, 8)
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x):
        return self.norm(self.layer(x).reshape(len(x), 4, 2)).flatten(1) ** 2


def numbers(codes):
    return codes.float() / CODES - 0.4


NETWORKS: dict[str, Callable[[], tuple[nn.Module, Callable]]] = {
    "layers": lambda: (nn.Sequential(nn.Linear(WIDTH, 9), nn.SiLU(), nn.Linear(9, 4)), numbers),
    "masked": lambda: (nn.Sequential(Masked(), nn.Tanh(), nn.Linear(7, 3)), numbers),
    "one place each": lambda: (nn.Sequential(nn.Embedding(CODES, 5), nn.Linear(5, 2)), lambda c: c[:, 0]),
    "sequence": lambda: (Sequence(), lambda c: c),
    "wide sequence": lambda: (Sequence(64), lambda c: c),
    "twice": lambda: (Twice(), lambda c: c),
    "functional": lambda: (Functional(), lambda c: c),
    "groups": lambda: (Grouped(), numbers),
    "turned": lambda: (Turned(), numbers),
    "bags": lambda: (Bags(), lambda c: c),
}


def setting(name: str, seed: int = 1):
    torch.manual_seed(seed)
    network, prepared = NETWORKS[name]()
    codes = torch.as_tensor(np.random.default_rng(seed).integers(0, CODES, (N, WIDTH)))
    # Some repeat a code, whose derivatives meet in one row of a table.
    codes[:4] = codes[:4, :1]

    def losses(records, random):
        out = network(prepared(records))
        return (out * torch.linspace(-1, 2, out[0].numel()).reshape(out[0].shape)).exp().flatten(1).sum(1)

    return losses, dict(network.named_parameters()), codes


def by_loop(losses, parameters, codes, clip: float, *, of_parts: bool = False):
    """Return the sum of the clipped gradients, one record at a time."""
    total = {name: torch.zeros_like(p, dtype=torch.float64) for name, p in parameters.items()}
    lengths = []
    for row in codes:
        found = torch.autograd.grad(
            losses(row[None], None).sum(), list(parameters.values()), allow_unused=True
        )
        found = [
            torch.zeros_like(p) if g is None else g.double()
            for g, p in zip(found, parameters.values(), strict=True)
        ]
        lengths.append(math.sqrt(sum(float(g.square().sum()) for g in found)))
        for name, g in zip(total, found, strict=True):
            total[name] += min(1.0, clip / max(lengths[-1], 1e-300)) * g
    return total, np.array(lengths)


@contextlib.contextmanager
def of_lower_precision():
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


def autocast():
    return torch.autocast("cpu", dtype=torch.bfloat16)


class TestClippedSum:
    @pytest.mark.parametrize(
        ("name", "quantile"),
        [
            *((name, 0.5) for name in NETWORKS),
            *((name, q) for name in ("layers", "twice") for q in (0.0, 1.0)),
        ],
    )
    def test_is_that_of_a_loop_over_records(self, name: str, quantile: float) -> None:
        losses, parameters, codes = setting(name)
        _, lengths = by_loop(losses, parameters, codes, 1.0)
        clip = max(float(np.quantile(lengths, quantile)), 0.1 * float(lengths.max()))

        found = clipped_sum(losses, parameters, codes, torch.Generator(), clip=clip)

        expected, _ = by_loop(losses, parameters, codes, clip)
        scale = max(float(e.abs().max()) for e in expected.values())
        for key in parameters:
            assert float((found[key] - expected[key]).abs().max()) < 2e-4 * scale, key

    def test_of_one_record_is_no_longer_than_the_clip(self) -> None:
        for name in NETWORKS:
            losses, parameters, codes = setting(name)
            for row in codes:
                found = clipped_sum(losses, parameters, row[None], torch.Generator(), clip=1e-3)

                length = math.sqrt(sum(float(g.square().sum()) for g in found.values()))
                assert length == 0 or 0.999e-3 < length <= 1e-3 * (1 + 2.0**-18)

    @pytest.mark.parametrize("rounding", [contextlib.nullcontext, of_lower_precision, autocast])
    def test_of_one_record_is_no_longer_where_a_program_lets_torch_round(self, rounding) -> None:
        # Large enough for instructions of bfloat16, where a processor has them.
        torch.manual_seed(0)
        network = nn.Linear(512, 512)
        inputs, seen = torch.randn(64, 512), []

        def losses(records, random):
            seen.append((torch.get_float32_matmul_precision(), torch.is_autocast_enabled("cpu")))
            return network(inputs[: len(records)]).square().sum(1)

        with rounding():
            codes = torch.zeros((1, 1), dtype=torch.long)
            parameters = dict(network.named_parameters())
            found = clipped_sum(losses, parameters, codes, torch.Generator(), clip=1.0)
            chosen = torch.get_float32_matmul_precision()

        assert math.sqrt(sum(float(g.square().sum()) for g in found.values())) <= 1 + 2.0**-18
        assert set(seen) == {("highest", False)}
        assert chosen == ("medium" if rounding is of_lower_precision else "highest")

    def test_waits_for_what_other_threads_choose(self) -> None:
        network, seen, begun = nn.Linear(3, 3), [], threading.Event()

        def elsewhere() -> None:
            begun.set()
            with training_products(rounded_by_gpus=True):
                seen.append("chosen elsewhere")

        other = threading.Thread(target=elsewhere)

        def losses(records, random):
            if not seen:
                other.start()
                begun.wait()
                time.sleep(0.05)
                seen.append(torch.get_float32_matmul_precision())
            return network(torch.ones(len(records), 3)).sum(1)

        codes = torch.zeros((2, 1), dtype=torch.long)
        clipped_sum(losses, dict(network.named_parameters()), codes, torch.Generator(), clip=1.0)
        other.join()

        assert seen == ["highest", "chosen elsewhere"]
        assert torch.get_float32_matmul_precision() == "highest"

    def test_of_no_record_is_zero(self) -> None:
        losses, parameters, codes = setting("layers")

        found = clipped_sum(losses, parameters, codes[:0], torch.Generator(), clip=1.0)

        assert all(float(g.abs().max()) == 0 for g in found.values())
        assert {k: g.shape for k, g in found.items()} == {k: p.shape for k, p in parameters.items()}

    @pytest.mark.parametrize(
        ("name", "bad"),
        [("layers", math.nan), ("layers", math.inf), ("sequence", math.nan), ("functional", math.inf)],
    )
    def test_leaves_out_a_record_whose_gradient_is_no_number(self, name: str, bad: float) -> None:
        losses, parameters, codes = setting(name)

        def broken(records, random):
            found = losses(records, random)
            spoiled = torch.zeros(len(found))
            spoiled[3] = bad
            return found * (1 + spoiled)

        found = clipped_sum(broken, parameters, codes, torch.Generator(), clip=0.5)

        others = codes[torch.arange(N) != 3]
        expected, _ = by_loop(losses, parameters, others, 0.5)
        for key in parameters:
            assert torch.allclose(found[key], expected[key], atol=1e-4)

    def test_does_not_change_parameters_or_their_gradients(self) -> None:
        losses, parameters, codes = setting("sequence")
        before = {name: p.detach().clone() for name, p in parameters.items()}

        clipped_sum(losses, parameters, codes, torch.Generator(), clip=1.0)

        assert all(torch.equal(p, before[name]) and p.grad is None for name, p in parameters.items())

    def test_leaves_a_parameter_that_no_loss_uses_at_zero(self) -> None:
        losses, parameters, codes = setting("layers")
        parameters["idle"] = torch.randn(3)

        assert (
            float(clipped_sum(losses, parameters, codes, torch.Generator(), clip=1.0)["idle"].abs().max())
            == 0
        )

    def test_of_gradients_in_pieces_is_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        losses, parameters, codes = setting("sequence")
        whole = clipped_sum(losses, parameters, codes, torch.Generator(), clip=0.5)
        monkeypatch.setattr(per_record, "_MOST_NUMBERS", 1)

        pieces = clipped_sum(losses, parameters, codes, torch.Generator(), clip=0.5)

        assert all(torch.allclose(whole[key], pieces[key]) for key in parameters)

    def test_moves_little_when_a_batch_has_another_shape(self) -> None:
        # What `grid.ARITHMETIC` counts: all others alike, the sum without a record is that of the others.
        losses, parameters, _ = setting("layers")
        codes = torch.as_tensor(np.random.default_rng(5).integers(0, CODES, (3001, WIDTH)))
        more, fewer, one = (
            clipped_sum(losses, parameters, part, torch.Generator(), clip=1.0)
            for part in (codes, codes[1:], codes[:1])
        )

        moved = math.sqrt(sum(float((more[k] - fewer[k] - one[k]).square().sum()) for k in parameters))
        assert moved < 1 / 512 / 10


class TestPlanted:
    """Errors that a wrong clip would make are seen by these tests."""

    @pytest.mark.parametrize("error", ["lengths of parts", "one parameter left out", "mean clipped"])
    def test_are_told_from_the_right_sum(self, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
        losses, parameters, codes = setting("twice")
        _, lengths = by_loop(losses, parameters, codes, 1.0)
        clip = float(np.median(lengths)) / 2
        right, _ = by_loop(losses, parameters, codes, clip)
        if error == "lengths of parts":
            monkeypatch.setattr(
                per_record,
                "_squares_of_sums",
                lambda parts, n: sum(p.each(slice(None)).square().flatten(1).sum(1) for p in parts),
            )
            monkeypatch.setattr("syntabula.privacy.training.watched.joined", lambda parts: parts)
        elif error == "one parameter left out":
            real = per_record._lengths
            monkeypatch.setattr(
                per_record, "_lengths", lambda g, r: real({k: v for k, v in g.items() if "table" not in k}, r)
            )
        else:
            monkeypatch.setattr(per_record, "_lengths", lambda g, r: torch.full((len(r),), 1e-9).double())

        found = clipped_sum(losses, parameters, codes, torch.Generator(), clip=clip)

        assert any(float((found[k] - right[k]).abs().max()) > 1e-3 * clip for k in parameters)


class TestRefusals:
    def refused(self, losses, parameters, match: str) -> None:
        codes = torch.as_tensor(np.random.default_rng(2).integers(0, CODES, (8, WIDTH)))
        with pytest.raises(ArgumentError, match=match):
            require_separate(losses, parameters, codes, torch.Generator())

    def test_batch_normalisation(self) -> None:
        network = nn.Sequential(nn.Linear(WIDTH, 4), nn.BatchNorm1d(4))
        for affine in (True, False):
            network[1] = nn.BatchNorm1d(4, affine=affine)
            self.refused(
                lambda r, g: network(numbers(r)).square().sum(1),
                dict(network.named_parameters()),
                "over a batch",
            )

    def test_a_statistic_of_the_batch(self) -> None:
        layer = nn.Linear(WIDTH, 4)

        def losses(records, random):
            out = layer(numbers(records))
            return (out - out.mean(0)).square().sum(1)

        self.refused(losses, dict(layer.named_parameters()), "depends on other records")

    def test_records_that_are_packed_together(self) -> None:
        layer = nn.Linear(2 * WIDTH, 4)

        def losses(records, random):
            x = numbers(records)
            return layer(torch.cat([x, x.flip(0)], 1)).square().sum(1)

        self.refused(losses, dict(layer.named_parameters()), "depends on other records")

    def test_an_unknown_use_of_a_parameter(self) -> None:
        p = torch.randn(WIDTH)
        self.refused(lambda r, g: torch.exp(p).sum() * numbers(r).sum(1), {"p": p}, "'p' in exp")
        self.refused(
            lambda r, g: functional.linear(numbers(r), p.flip(0)[None]).sum(1), {"p": p}, "not known"
        )
        self.refused(lambda r, g: (numbers(r) * p[:3].sum()).sum(1), {"p": p}, "not known")
        square = torch.randn(WIDTH, WIDTH)
        self.refused(lambda r, g: (numbers(r) @ square.H).sum(1), {"p": square}, "'p' in H")
        self.refused(lambda r, g: (numbers(r) @ square.T.T).sum(1), {"p": square}, "'p' in t")
        self.refused(lambda r, g: (square.T @ numbers(r).T).sum(0)[: len(r)], {"p": square}, "'p' in matmul")

    def test_a_layer_whose_first_axis_is_not_that_of_the_records(self) -> None:
        layer = nn.Linear(WIDTH, 4)
        self.refused(
            lambda r, g: layer(numbers(r)[None]).square().sum((0, 2)),
            dict(layer.named_parameters()),
            "first axis",
        )

    def test_a_value_that_is_changed_in_place(self) -> None:
        layer = nn.Linear(WIDTH, 4)
        self.refused(
            lambda r, g: functional.relu(layer(numbers(r)), inplace=True).square().sum(1),
            dict(layer.named_parameters()),
            "in place",
        )

    def test_a_loss_of_another_shape(self) -> None:
        layer = nn.Linear(WIDTH, 4)
        self.refused(
            lambda r, g: layer(numbers(r)).sum(), dict(layer.named_parameters()), "one number for each"
        )

    def test_a_parameter_of_two_names(self) -> None:
        p = torch.randn(WIDTH, WIDTH)
        self.refused(lambda r, g: (numbers(r) @ p).sum(1), {"a": p, "b": p}, "one tensor")

    @pytest.mark.parametrize("options", [{"max_norm": 1.0}, {"scale_grad_by_freq": True}])
    def test_embeddings_that_look_at_the_batch(self, options: dict[str, object]) -> None:
        table = nn.Embedding(CODES, 3, **options)
        self.refused(lambda r, g: table(r).sum((1, 2)), dict(table.named_parameters()), "embedding")

    def test_nothing_that_is_right(self) -> None:
        for name in NETWORKS:
            losses, parameters, codes = setting(name)

            require_separate(losses, parameters, codes, torch.Generator())

    def test_nothing_that_draws_for_each_record(self) -> None:
        layer = nn.Linear(WIDTH, 4)

        def losses(records, random):
            x = numbers(records)
            return layer(x + torch.randn(x.shape, generator=random)).square().sum(1)

        codes = torch.as_tensor(np.random.default_rng(2).integers(0, CODES, (8, WIDTH)))
        require_separate(losses, dict(layer.named_parameters()), codes, torch.Generator())


@pytest.mark.thorough
@pytest.mark.parametrize("make", [Masked, Twice, Sequence])
def test_a_step_leaves_nothing_in_memory(make: Callable[[], nn.Module]) -> None:
    """Tensors in a circle of references stay until Python looks for circles, many steps later."""
    network = make()
    outputs: list[weakref.ref[torch.Tensor]] = []

    def losses(x, random):
        out = network(x)
        outputs.append(weakref.ref(out))
        return out.flatten(1).sum(1)

    x = torch.randn(N, WIDTH) if make is Masked else torch.randint(0, CODES, (N, WIDTH))
    gc.collect()
    gc.disable()
    try:
        clipped_sum(losses, dict(network.named_parameters()), x, torch.Generator(), clip=1.0)
        assert [out() for out in outputs] == [None]
    finally:
        gc.enable()
