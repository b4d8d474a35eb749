"""Linear thresholds: of records, and of soft rows."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, SchemaError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.threshold import LinearThreshold, random_thresholds, with_threshold_columns
from syntabula.models.relaxed_projection import RelaxedProjection
from syntabula.models.soft_thresholds import STEEPEST, SoftThresholds, crossed_parts

torch = pytest.importorskip("torch")

DOMAIN = Domain.from_sizes({"x": 8, "y": 5, "c": 3})


def thresholds(n: int = 12) -> dict[str, LinearThreshold]:
    return random_thresholds(["x", "y"], [], n, np.random.default_rng(0)).named(range(n))


def table(n: int = 3000) -> EncodedTable:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 8, n)
    y = np.clip(x // 2 + rng.integers(0, 2, n), 0, 4)
    return EncodedTable(DOMAIN, (x, y, (x > 5).astype(int) + rng.integers(0, 2, n)))


def one_hot(rows: EncodedTable) -> np.ndarray:
    blocks = [np.eye(s)[c] for s, c in zip(DOMAIN.sizes, rows.codes, strict=True)]
    return np.concatenate(blocks, axis=1).astype(np.float32)


class TestRecords:
    def test_a_threshold_is_the_weighted_sum_of_places(self) -> None:
        rows = EncodedTable(DOMAIN, tuple(np.array(c) for c in ([0, 7, 4], [0, 4, 2], [0, 1, 2])))
        threshold = LinearThreshold(("x", "y"), np.array([2.0, -1.0]), 0.6)

        # 2 (c + 1/2) / 8 - (c + 1/2) / 5: 0.025, 0.975 and 0.625.
        assert threshold.codes(rows).tolist() == [0, 1, 1]

    def test_weights_must_fit_columns(self) -> None:
        with pytest.raises(ArgumentError):
            LinearThreshold(("x", "y"), np.array([2.0]), 0.6)

    def test_further_columns_have_two_codes(self) -> None:
        wider = with_threshold_columns(DOMAIN, thresholds(2))

        assert wider.sizes == (8, 5, 3, 2, 2)


class TestCrossed:
    def test_parts_are_those_of_each_threshold_with_its_other_column(self) -> None:
        for others in [(), ("c",), ("c", "d")]:
            rng = np.random.default_rng(3)
            domain = Domain.from_sizes({"x": 8, "y": 5, "c": 3, "d": 2})
            soft = np.concatenate([rng.dirichlet(np.ones(s), 30) for s in domain.sizes], axis=1).astype(
                np.float32
            )
            asked = random_thresholds(["x", "y"], others, 150, rng)

            found = crossed_parts(domain, asked, soft)

            named = asked.named(range(150))
            passed = SoftThresholds.over(domain, named).probabilities(soft)[:, 1::2]
            blocks = {"c": soft[:, 13:16], "d": soft[:, 16:18]}
            for number in range(150):
                _, *column = asked.clique(number)
                having = blocks[column[0]] if column else np.ones((30, 1))
                wanted = passed[:, number] @ having / 30
                assert found[number, : wanted.size] == pytest.approx(wanted, abs=1e-5)
                assert (found[number, wanted.size :] == 0).all()


class TestSoftRows:
    def test_of_single_codes_they_are_those_of_the_records(self) -> None:
        asked, rows = thresholds(), table(200)

        found = SoftThresholds.over(DOMAIN, asked).probabilities(one_hot(rows))

        wanted = np.stack([t.codes(rows) for t in asked.values()], axis=1)
        assert np.abs(found[:, 1::2] - wanted).mean() < 0.01

    def test_of_spread_rows_they_are_near_what_is_drawn_from_them(self) -> None:
        # Two columns are far from normal; the parts are within a few hundredths all the same.
        rng = np.random.default_rng(2)
        soft = np.concatenate([rng.dirichlet(np.ones(s), 20) for s in DOMAIN.sizes], axis=1)
        asked = thresholds()

        found = SoftThresholds.over(DOMAIN, asked).probabilities(soft.astype(np.float32))[:, 1::2]

        x, y = np.meshgrid(np.arange(8), np.arange(5), indexing="ij")
        every = EncodedTable(DOMAIN, (x.ravel(), y.ravel(), np.zeros(40, int)))
        weight = (soft[:, :8, None] * soft[:, None, 8:13]).reshape(20, 40)
        wanted = weight @ np.stack([t.codes(every) for t in asked.values()], axis=1)
        assert np.abs(found - wanted).mean() < 0.05

    def test_torch_and_numpy_say_the_same(self) -> None:
        soft, asked = one_hot(table(50)), SoftThresholds.over(DOMAIN, thresholds())

        found = asked.on(torch.device("cpu")).beside(torch.tensor(soft.T), STEEPEST)

        assert np.array_equal(found[: soft.shape[1]].T, soft)
        assert np.allclose(found[soft.shape[1] :].T, asked.probabilities(soft), atol=1e-4)

    def test_steeper_thresholds_are_nearer_to_steps(self) -> None:
        soft, asked = torch.tensor(one_hot(table(50)).T), SoftThresholds.over(DOMAIN, thresholds())

        gentle, steep = (asked.on(torch.device("cpu")).beside(soft, t)[len(soft) :] for t in (2.0, 200.0))

        assert (gentle - 0.5).abs().mean() < (steep - 0.5).abs().mean() - 0.1


class TestFit:
    @pytest.mark.thorough
    def test_thresholds_are_learned_and_hold_for_drawn_rows(self) -> None:
        """One-way marginals alone leave x and y independent; thresholds over both tell how they hang together."""
        data = table()
        asked = {
            f"threshold {i}": LinearThreshold(("x", "y"), np.array([1.0, -1.0]), offset)
            for i, offset in enumerate(np.linspace(-0.3, 0.3, 9))
        }
        wider = with_threshold_columns(DOMAIN, asked)
        codes = [*data.codes, *(t.codes(data) for t in asked.values())]

        def counted(clique: tuple[str, ...]) -> Measurement:
            counts = np.zeros(wider.shape(clique))
            np.add.at(counts, tuple(codes[wider.index(c)] for c in clique), 1)
            return Measurement(clique, counts, 1.0)

        singles = [counted((c,)) for c in DOMAIN.columns]
        model = (
            RelaxedProjection(n_rows=200, iterations=300, device="cpu").over(DOMAIN).with_thresholds(asked)
        )
        alone = model.fit(singles)

        taught = alone.fit([*singles, *(counted((name, "c")) for name in asked)])

        def error(fitted: RelaxedProjection) -> float:
            drawn = fitted.sample(20_000, np.random.default_rng(0))
            return float(np.mean([abs(t.codes(drawn).mean() - t.codes(data).mean()) for t in asked.values()]))

        assert error(taught) < error(alone) / 2
        for name in asked:
            (found,) = taught.marginals([(name, "c")])
            assert np.abs(found - counted((name, "c")).values).sum() / 2 / 3000 < 0.1

    def test_a_model_over_another_domain_forgets_them(self) -> None:
        model = RelaxedProjection().over(DOMAIN).with_thresholds(thresholds(1))

        with pytest.raises(SchemaError):
            model.over(DOMAIN).marginals([("threshold 0",)])

    def test_a_threshold_over_an_unknown_column_is_refused(self) -> None:
        unknown = {"t": LinearThreshold(("z",), np.array([1.0]), 0.0)}

        with pytest.raises(SchemaError, match="'z'"):
            RelaxedProjection().over(DOMAIN).with_thresholds(unknown)
