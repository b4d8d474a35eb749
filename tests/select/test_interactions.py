"""Columns that depend on each other only by threes and fours: which are looked at, found, measured and paid for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import MarginalModel
from syntabula.select.adaptive import Adaptive
from syntabula.select.interactions import LOOK, MEASURE, WEIGH, interactions, planned
from syntabula.select.model_size import TreeSizes
from syntabula.table.schema.columns import Categorical

N_ROWS = 8_000


def drawn(*parities: tuple[int, ...], rows: int = N_ROWS, levels: int = 2, seed: int = 0) -> pd.DataFrame:
    """Return seven independent columns, and a column for each parity: the sum of some of them, in 95 % of rows."""
    rng = np.random.default_rng(seed)
    columns = {f"c{i}": rng.integers(0, levels, rows) for i in range(7)}
    for number, of in enumerate(parities):
        parity = sum(columns[f"c{i}"] for i in of) % levels
        other = rng.integers(0, levels, rows)
        columns[f"parity{number}"] = np.where(rng.random(rows) < 0.95, parity, other)
    return pd.DataFrame({name: codes.astype(str) for name, codes in columns.items()})


def schema_of(frame: pd.DataFrame) -> st.Schema:
    return st.Schema({str(name): Categorical(tuple(sorted(frame[name].unique()))) for name in frame})


def holds(frame: pd.DataFrame, of: tuple[int, ...], name: str, levels: int = 2) -> float:
    codes = frame.astype(int)
    return float((sum(codes[f"c{i}"] for i in of) % levels == codes[name]).mean())


def steps(release: st.Release) -> list[str]:
    return [line.step for line in release.privacy.lines]


class TestCandidates:
    def test_are_all_threes_and_fours_of_a_small_table(self) -> None:
        domain = Domain(tuple("abcde"), (2, 3, 2, 4, 2))
        assert len(interactions(domain)) == math.comb(5, 3) + math.comb(5, 4)

    def test_leave_out_columns_of_one_code_and_large_candidates(self) -> None:
        domain = Domain(tuple("abcde"), (2, 1, 2, 200, 100))
        assert interactions(domain) == [("a", "c", "e"), ("a", "c", "d")]

    def test_are_none_of_two_columns(self) -> None:
        assert interactions(Domain(("a", "b"), (2, 2))) == []
        assert planned(Domain(("a", "b"), (2, 2))) == []

    def test_of_a_wide_table_are_bounded_and_take_the_columns_of_fewest_codes(self) -> None:
        names = tuple(f"c{i}" for i in range(200))
        domain = Domain(names, tuple([30] * 100 + [2] * 100))
        found = interactions(domain)
        assert len(found) == math.comb(32, 3) + math.comb(20, 4)
        assert all(domain.cells(c) <= 16 for c in found)
        even = Domain(names, (11,) * 200)
        assert sum(map(even.cells, interactions(even))) <= 10_000_000


class TestFinds:
    # A choice errs by about 2 ln(candidates) / epsilon = 300 records, where the parity moves 7,000: e^-40.
    @pytest.mark.thorough
    @pytest.mark.parametrize("of", [(1, 2), (2, 3, 4)])
    def test_a_parity_that_pairs_do_not_show(self, of: tuple[int, ...]) -> None:
        frame = drawn(of)
        release = st.Auto(epsilon=1.0, seed=0).fit(frame, schema_of(frame))
        assert MEASURE in steps(release)
        assert holds(release.sample(N_ROWS, seed=1), of, "parity0") > 0.9
        by_pairs = st.AIM(epsilon=1.0, seed=0).fit(frame, schema_of(frame)).sample(N_ROWS, seed=1)
        assert holds(by_pairs, of, "parity0") < 0.6

    @pytest.mark.thorough
    def test_several_of_them(self) -> None:
        frame = drawn((0, 1), (2, 3, 4))
        drawn_rows = st.Auto(epsilon=1.0, seed=0).fit(frame, schema_of(frame)).sample(N_ROWS, seed=1)
        assert holds(drawn_rows, (0, 1), "parity0") > 0.9
        assert holds(drawn_rows, (2, 3, 4), "parity1") > 0.9

    @pytest.mark.thorough
    def test_sums_of_more_codes(self) -> None:
        frame = drawn((0, 1), levels=4)
        drawn_rows = st.Auto(epsilon=2.0, seed=0).fit(frame, schema_of(frame)).sample(N_ROWS, seed=1)
        assert holds(drawn_rows, (0, 1), "parity0", levels=4) > 0.85

    @pytest.mark.thorough
    def test_without_privacy(self) -> None:
        frame = drawn((2, 3, 4))
        release = st.Auto(epsilon=math.inf, seed=0).fit(frame, schema_of(frame))
        if release.privacy.choice is not None and release.privacy.choice.method != "aim":
            release = st.AIM(epsilon=math.inf, seed=0, selector=Adaptive(interactions=True)).fit(
                frame, schema_of(frame)
            )
        assert holds(release.sample(N_ROWS, seed=1), (2, 3, 4), "parity0") > 0.9


class TestSpends:
    def aim(self, frame: pd.DataFrame, epsilon: float = 1.0, **options: object) -> st.Release:
        selector = Adaptive(interactions=True, **options)  # type: ignore[arg-type]
        return st.AIM(epsilon=epsilon, seed=0, selector=selector).fit(frame, schema_of(frame))

    def test_nothing_on_what_turns_out_too_large_for_the_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def confirms(
            self: TreeSizes, model: MarginalModel, chosen: Clique, measured: Sequence[Clique]
        ) -> bool:
            return len(chosen) < 3

        monkeypatch.setattr(TreeSizes, "confirms", confirms)

        release = self.aim(drawn((1, 2)))

        assert LOOK in steps(release)
        assert WEIGH not in steps(release)
        assert MEASURE not in steps(release)

    def test_one_look_where_nothing_is_found_and_the_rest_on_rounds(self) -> None:
        # The weighing of an independent table errs by less than its 3 standard deviations and a fifth of the records.
        release = self.aim(drawn())
        assert steps(release).count(LOOK) == steps(release).count(WEIGH) == 1
        assert MEASURE not in steps(release)
        assert sum(line.share or 0 for line in release.privacy.lines) == pytest.approx(1)

    def test_nothing_where_the_budget_would_not_show_it(self) -> None:
        release = self.aim(drawn(rows=500), epsilon=0.2)
        assert not {LOOK, WEIGH, MEASURE} & set(steps(release))

    @pytest.mark.thorough
    def test_all_of_the_budget_in_a_limited_number_of_rounds(self) -> None:
        for max_rounds in [1, 2, 5]:
            release = self.aim(drawn((1, 2)), max_rounds=max_rounds)
            assert MEASURE in steps(release)

    def test_as_planned(self) -> None:
        domain = Domain(tuple("abcde"), (2, 3, 2, 4, 2))
        plan = Adaptive(interactions=True).plan(domain)
        assert sum(step.share for step in plan) == 1
        assert {LOOK, WEIGH, MEASURE} <= {step.name for step in plan}
        assert not {LOOK, WEIGH, MEASURE} & {step.name for step in Adaptive().plan(domain)}

    @pytest.mark.thorough
    def test_pure_budgets_too(self) -> None:
        release = st.AIM(budget=st.Budget.pure(5.0), seed=0, selector=Adaptive(interactions=True)).fit(
            frame := drawn((1, 2)), schema_of(frame)
        )
        assert holds(release.sample(N_ROWS, seed=1), (1, 2), "parity0") > 0.9
