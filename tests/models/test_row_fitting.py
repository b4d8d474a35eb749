"""Fitting soft rows: the written-out gradient, the arrangement of goals, and when a fit stops."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.goal_groups import CellGoals, SharedColumns, group_goals
from syntabula.models.pair_blocks import PairBlock
from syntabula.models.row_fitting import GoalGroup, Loss, fit_rows
from syntabula.models.targets import joined_targets, make_goals

torch = pytest.importorskip("torch")

DOMAIN = Domain.from_sizes({"a": 3, "b": 2, "c": 4})


class Logits:
    """Free logits: the simplest soft rows."""

    fast = False

    def __init__(self, rows: int = 6, seed: int = 0) -> None:
        numbers = np.random.default_rng(seed).normal(size=(rows, sum(DOMAIN.sizes)))
        self.logits = torch.tensor(numbers, dtype=torch.float32)

    @property
    def parameters(self) -> list:
        return [self.logits]

    def settle(self) -> None:
        pass

    def table(self) -> torch.Tensor:
        parts = self.logits.split(DOMAIN.sizes, dim=1)
        self.made = torch.cat([part.softmax(dim=1) for part in parts], dim=1)
        return self.made

    def backward(self, gradient: torch.Tensor) -> None:
        self.logits.grad = None
        self.made.backward(gradient)


def measurements(sigma: float = 10.0, seed: int = 0) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.ones(24)).reshape(3, 2, 4) * 5000
    cliques = [(c,) for c in "abc"] + list(combinations("abc", 2)) + [("a", "b", "c")]
    found = []
    for clique in cliques:
        axes = tuple(i for i, c in enumerate("abc") if c not in clique)
        values = joint.sum(axis=axes)
        found.append(Measurement(clique, values + rng.normal(0, sigma, values.shape), sigma))
    return found


def few_cells(clique: tuple[str, ...], *cells: int, sigma: float = 10.0) -> Measurement:
    """Measure some cells of a marginal; of the others nothing is known."""
    values, sigmas = np.zeros(DOMAIN.shape(clique)), np.full(DOMAIN.shape(clique), 1e10)
    values.flat[list(cells)], sigmas.flat[list(cells)] = 700.0, sigma
    return Measurement(clique, values, sigmas)


def groups(measured: list[Measurement], **options: object) -> list[GoalGroup]:
    goals = make_goals(joined_targets(DOMAIN, measured), 5000.0, **options)
    return group_goals(DOMAIN, goals, torch.device("cpu"))


def loss_by_hand(logits: np.ndarray, measured: list[Measurement]) -> float:
    """Return the sum over measurements of w ||M(rows) - measured||^2 with w = 1 / sigma, the largest w being 1."""
    exponents = np.exp(logits.astype(np.float64))
    blocks = {}
    for column, part in zip("abc", np.split(exponents, [3, 5], axis=1), strict=True):
        blocks[column] = part / part.sum(axis=1, keepdims=True)
    least = min(float(m.sigma) for m in measured)
    total = 0.0
    for m in measured:
        factors = [blocks[c] for c in m.clique]
        subscripts = ",".join(f"r{c}" for c in m.clique) + "->" + "".join(m.clique)
        marginal = np.einsum(subscripts, *factors) / len(logits)
        total += least / float(m.sigma) * np.square(marginal - m.values / 5000).sum()
    return total


def in_variances(rows: Logits, measured: list[Measurement]) -> float:
    """Return the mean squared difference of the cells, in variances of their noise."""
    found = [(g.difference(rows.table()), g.precision) for g in groups(measured)]
    errors = sum(float((d * p).square().sum()) for d, p in found)
    return errors / sum(int((p > 0).expand_as(d).sum()) for d, p in found)


class TestGradient:
    def test_of_the_squared_loss_is_that_of_finite_differences(self) -> None:
        rows = Logits()
        measured = [Measurement(m.clique, m.values, 10.0 * (1 + i)) for i, m in enumerate(measurements())]
        start = rows.logits.numpy().copy()

        # One step of plain descent with unit rate would move by the gradient; Adam hides it, so it is read off.
        fit_rows(
            rows, groups(measured), iterations=1, learning_rate=1e-9, tolerance=1e-9, stop_at_noise=False
        )
        gradient = rows.logits.grad.numpy()

        step = 1e-5
        for row, code in [(0, 0), (1, 4), (3, 8), (5, 2)]:
            up, down = start.astype(np.float64), start.astype(np.float64)
            up[row, code] += step
            down[row, code] -= step
            slope = (loss_by_hand(up, measured) - loss_by_hand(down, measured)) / (2 * step)
            assert gradient[row, code] == pytest.approx(slope, rel=1e-3, abs=1e-7)

    @pytest.mark.parametrize("loss", ["squared", "largest"])
    def test_of_few_cells_is_that_of_their_whole_marginals(
        self, loss: Loss, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        measured = [few_cells(("a",), 0), few_cells(("a", "c"), 1, 6, 7), few_cells(("c", "a", "b"), 3, 20)]
        options = {"iterations": 1, "learning_rate": 1e-9, "tolerance": 1e-9, "stop_at_noise": False}
        one_by_one, whole = Logits(), Logits()
        targets = groups(measured)

        fit_rows(one_by_one, targets, loss=loss, **options)
        monkeypatch.setattr("syntabula.models.goal_groups.MOST_CELLS", 0)
        fit_rows(whole, groups(measured), loss=loss, **options)

        assert [type(t) for t in targets] == [CellGoals, CellGoals, SharedColumns]
        assert (whole.logits.grad != 0).any()
        torch.testing.assert_close(one_by_one.logits.grad, whole.logits.grad, rtol=1e-4, atol=1e-8)

    def test_noise_explains_few_cells_that_are_near(self) -> None:
        for deviations, explained in [(1.5, True), (6.0, False)]:
            (target,) = groups([few_cells(("a", "c"), 1, 6, sigma=10.0)])
            table = Logits().table()
            exact = target.difference(table) + target.wanted

            near = replace(target, wanted=exact + deviations * 10.0 / 5000)

            assert near.is_explained(near.difference(table)) == explained

    def test_of_the_largest_errors_is_the_mean_sign_of_those_far_off(self) -> None:
        rows = Logits()
        measured = [Measurement(("a",), np.array([5000.0, 0.0, 0.0]), 10.0)]
        start = rows.logits.numpy().copy()

        fit_rows(
            rows,
            groups(measured),
            loss="largest",
            iterations=1,
            learning_rate=1e-9,
            tolerance=1e-9,
            stop_at_noise=False,
        )

        def worst(logits: np.ndarray) -> float:
            part = np.exp(logits[:, :3])
            off = (part / part.sum(axis=1, keepdims=True)).mean(axis=0) - [1.0, 0.0, 0.0]
            far = np.abs(off) >= np.abs(off).max() / 2
            return float(np.abs(off[far]).mean())

        step = 1e-5
        up, down = start.astype(np.float64), start.astype(np.float64)
        up[2, 0] += step
        down[2, 0] -= step
        slope = (worst(up) - worst(down)) / (2 * step)
        assert rows.logits.grad.numpy()[2, 0] == pytest.approx(slope, rel=1e-3)


class TestGroups:
    def test_hold_every_cell_once(self) -> None:
        found = groups(measurements())

        assert sum(int((s.precision > 0).sum()) for s in found) == sum(m.values.size for m in measurements())

    def test_one_product_serves_all_one_way_goals(self) -> None:
        (shared,) = groups([m for m in measurements() if len(m.clique) == 1])

        assert isinstance(shared, SharedColumns)
        assert shared.heads == ()
        assert len(shared.tails) == 3

    def test_pairs_are_explained_one_by_one(self) -> None:
        pairs = [m for m in measurements(sigma=1e-3) if len(m.clique) == 2]
        block = next(s for s in groups(pairs) if isinstance(s, PairBlock))
        off = torch.zeros_like(block.wanted)

        # Four cells of a and c, where noise explains a sum of squares of 12 + 2 sqrt(24), and 6 of a and b.
        off[0, 2:] = 2.2e-3 / 5000
        assert block.is_explained(off)
        off[0, :2] = 3e-3 / 5000
        assert not block.is_explained(off)

    def test_the_newest_weigh_more(self) -> None:
        pairs = [m for m in measurements() if m.clique in (("a",), ("a", "b"))]

        found = groups(pairs, newest={("a", "b")}, emphasis=3.0)

        weights = {isinstance(s, SharedColumns): float(s.weight.max()) for s in found}
        assert weights == {True: pytest.approx(1.0), False: pytest.approx(3.0)}

    def test_cells_that_were_not_measured_do_not_count(self) -> None:
        sigma = np.array([[1.0, 1e9], [1e9, 1e9], [1e9, 1e9]])
        measured = [Measurement(("a", "b"), np.zeros((3, 2)), sigma)]

        (shared,) = groups(measured)

        assert int((shared.weight > 0).sum()) == 1
        assert int((shared.precision > 0).sum()) == 1


class TestStopping:
    @pytest.mark.thorough
    def test_rows_reach_marginals_that_fit_together(self) -> None:
        rows, measured = Logits(rows=64), measurements(sigma=0.1)

        fit_rows(
            rows,
            groups(measured),
            iterations=3000,
            learning_rate=0.02,
            tolerance=1e-9,
            stop_at_noise=False,
        )

        assert (
            loss_by_hand(rows.logits.numpy(), measured)
            < loss_by_hand(Logits(rows=64).logits.numpy(), measured) / 1000
        )

    def test_a_fit_stops_where_noise_explains_the_rest(self) -> None:
        rows, measured = Logits(rows=64), measurements(sigma=200.0)
        options = {"iterations": 3000, "learning_rate": 0.02, "tolerance": 1e-9}

        steps = fit_rows(rows, groups(measured), stop_at_noise=True, **options)

        assert 0 < steps < 500
        assert all(shared.is_explained(shared.difference(rows.table())) for shared in groups(measured))

    def test_it_need_not_explain_each_marginal_but_the_largest_errors_must_be(self) -> None:
        # One marginal is off by 5 deviations in two cells, the others, with 56 cells, are exact.
        measured = [replace(m, sigma=10.0) for m in measurements(sigma=1e-9)]
        measured[0] = replace(measured[0], values=measured[0].values + np.array([50.0, -50.0, 0.0]))
        options = {"iterations": 2000, "learning_rate": 0.02, "tolerance": 1e-9, "stop_at_noise": True}
        rows = Logits(rows=64)

        steps = fit_rows(rows, groups(measured), **options)

        assert 0 < steps < 1900
        assert in_variances(rows, measured) <= 1
        assert not all(shared.is_explained(shared.difference(rows.table())) for shared in groups(measured))

    def test_a_fit_may_stop_where_no_cell_is_half_as_far_off_as_the_farthest_was(self) -> None:
        rows, far = Logits(), [Measurement(("a",), np.array([5000.0, 0, 0]), 1.0)]
        options = {"iterations": 3000, "learning_rate": 0.02, "tolerance": 1e-9, "stop_at_noise": False}

        def farthest() -> float:
            (shared,) = groups(far)
            return float(shared.difference(rows.table()).abs().max())

        before = farthest()
        fit_rows(rows, groups(far), loss="halved", **options)

        assert before / 2.2 < farthest() < before / 2

    def test_a_fit_stops_where_it_gets_no_better(self) -> None:
        contradiction = [
            Measurement(("a",), np.array([5000.0, 0, 0]), 1.0),
            Measurement(("a", "b"), np.array([[0, 0], [2500.0, 2500.0], [0, 0]]), 1.0),
        ]

        steps = fit_rows(
            Logits(),
            groups(contradiction),
            iterations=50_000,
            learning_rate=0.05,
            tolerance=1e-3,
            stop_at_noise=True,
        )

        assert steps < 5000
