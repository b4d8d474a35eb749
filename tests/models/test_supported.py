"""Models over the codes with evidence."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.bayesian_network import BayesianNetwork
from syntabula.models.genetic import Genetic
from syntabula.models.gum import GUM
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel, Supported, settled
from syntabula.models.relaxed_projection import RelaxedProjection
from syntabula.models.support import Support

DOMAIN = Domain.from_sizes({"a": 5, "b": 3}, ordered=["a"], apart={"a": 1, "b": 1})
SIGMA = 10.0
ONE_WAY = [
    Measurement(("a",), np.array([600.0, 395, 3, -8, 11]), SIGMA),
    Measurement(("b",), np.array([700.0, 305, 9]), SIGMA),
]
MODELS = [PGM(), GUM(), BayesianNetwork(), Genetic(), RelaxedProjection()]


def fitted(model: object, measurements: list[Measurement] = ONE_WAY) -> Supported:
    return Supported(model).over(DOMAIN).fit(measurements)  # type: ignore[arg-type]


class TestSupport:
    def test_no_model_gives_mass_to_codes_without_evidence(self) -> None:
        for model in MODELS:
            learned = fitted(model)

            rows = learned.sample(5000, np.random.default_rng(0))

            assert set(np.unique(rows.column("a"))) == {0, 1}
            assert set(np.unique(rows.column("b"))) == {0, 1}
            (a,) = learned.marginals([("a",)])
            assert a.shape == (5,)
            assert not a[2:].any()

    def test_missing_cells_must_stand_out_more_in_a_table_of_many_columns(self) -> None:
        for n_columns, kept in [(2, 2), (60, 1)]:
            names = [f"x{i}" for i in range(n_columns)]
            domain = Domain.from_sizes(dict.fromkeys(names, 2), apart=dict.fromkeys(names, 1))
            gaps = [3.2, *[0.0] * (n_columns - 1)]
            measured = [
                Measurement((n,), np.array([1000.0, z * SIGMA]), SIGMA)
                for n, z in zip(names, gaps, strict=True)
            ]

            assert Support.of(domain, measured).recoding.target.sizes == (kept, *[1] * (n_columns - 1))

    def test_missing_cells_of_many_columns_tell_that_each_has_some(self) -> None:
        names = [f"x{i}" for i in range(30)]
        domain = Domain.from_sizes(dict.fromkeys(names, 2), apart=dict.fromkeys(names, 1))
        measured = [Measurement((n,), np.array([1000.0, 2.4 * SIGMA]), SIGMA) for n in names]

        assert {*Support.of(domain, measured).recoding.target.sizes} == {2}
        assert {*Support.of(domain, measured[:8]).recoding.target.sizes[:8]} == {1}

    def test_the_number_of_records_is_kept(self) -> None:
        totals = [m.values.sum() for m in ONE_WAY]

        assert fitted(PGM()).total == pytest.approx(np.mean(totals))

    def test_a_further_measurement_brings_a_code_back(self) -> None:
        before = fitted(PGM())
        pair = np.array([[420.0, 180, 0], [280, 120, 0], [0, 0, 0], [0, 0, 0], [60, 60, 2]])

        after = before.fit([*ONE_WAY, Measurement(("a", "b"), pair, 4.0)])

        assert before.marginals([("a",)])[0][4] == 0
        assert after.marginals([("a",)])[0][4] > 50
        assert after.marginals([("a",)])[0][2] == 0

    def test_a_measurement_that_adds_nothing_keeps_the_state(self) -> None:
        before = fitted(PGM())

        after = before.fit([*ONE_WAY, Measurement(("b",), np.array([695.0, 300, -3]), SIGMA)])

        assert after.support is before.support

    def test_pairs_alone_say_which_codes_have_records(self) -> None:
        pair = np.array([[420.0, 180, 1], [280, 120, -1], [3, 0, -4], [0, 1, 2], [0, 2, 1]])

        learned = fitted(PGM(), [Measurement(("a", "b"), pair, 4.0)])

        assert learned.inner.domain.sizes == (2, 2)

    def test_a_tail_is_one_code_that_is_divided_in_a_decline(self) -> None:
        b = Measurement(("b",), np.array([500.0, 240, 0]), SIGMA)
        tail = [Measurement(("a",), np.array([600.0, 100, 25, 12, 3]), SIGMA), b]

        (counts,) = fitted(PGM(), tail).marginals([("a",)])

        assert counts[2] + counts[3] == pytest.approx(38, abs=4)
        assert 100 > counts[2] > counts[3] > 0
        assert counts[4] == 0

    def test_a_tail_of_bins_holds_what_the_bins_before_it_tell(self) -> None:
        edges = {"a": (0.0, 1, 2, 4, 8, 16, 32, 64)}
        domain = Domain.from_sizes({"a": 7, "b": 3}, ordered=["a"], edges=edges)
        a = Measurement(("a",), np.array([9000.0, 1000, 260, 130, 60, 31, -40]), SIGMA)

        b = Measurement(("b",), np.array([9800.0, 600, 41]), SIGMA)
        model = Supported(PGM()).over(domain).fit([a, b])
        (counts,) = model.marginals([("a",)])

        assert model.inner.domain.size("a") < 6
        assert 60 > counts[5] > 20
        # The noise far out says nothing of the codes beside it, nor of the number of records.
        assert counts[4] == pytest.approx(60, abs=10)
        assert model.total == pytest.approx(10441, abs=1)

    def test_impossible_combinations_stay_impossible_without_some_of_the_codes(self) -> None:
        cells = np.ones((5, 3), dtype=bool)
        cells[1, 0] = False
        model = Supported(PGM().with_possible({("a", "b"): cells}))

        (pair,) = model.over(DOMAIN).fit(ONE_WAY).marginals([("a", "b")])

        assert pair[1, 0] == pytest.approx(0, abs=1e-9)
        assert pair[0, 1] > 0

    def test_shapes_are_checked(self) -> None:
        with pytest.raises(ArgumentError, match="shape"):
            fitted(PGM(), [Measurement(("a",), np.ones(4), SIGMA)])


class TestSettled:
    def test_a_model_of_all_codes_needs_no_wrapper(self) -> None:
        exact = [Measurement(("a",), np.array([6.0, 4, 0, 0, 0]), 0.0)]

        assert isinstance(settled(fitted(PGM(), exact)), PGM)

    def test_wrappers_are_joined(self) -> None:
        learned = settled(fitted(PGM()))

        assert type(learned) is RecodedModel
        assert isinstance(learned.inner, PGM)
        assert learned.domain == DOMAIN
