"""Which candidates keep a model of many columns small, and what follows if an estimate of a size was wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable, code_dtype
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.adaptive import CHOOSE, MEASURE, Adaptive
from syntabula.select.base import Rounds
from syntabula.select.model_size import TreeSizes

WIDE = Domain.from_sizes({f"c{i}": 2 + i % 7 for i in range(40)})
PAIRS: list[Clique] = list(combinations(WIDE.columns, 2))
CHAIN: list[Clique] = [
    *((c,) for c in WIDE.columns),
    *zip(WIDE.columns, WIDE.columns[1:], strict=False),
    *zip(WIDE.columns, WIDE.columns[3:], strict=False),
]


class Counting(PGM):
    """Counts the candidates whose trees are made."""

    def memory_with_each_mb(self, cliques: Sequence[Clique], candidates: Sequence[Clique]) -> list[float]:
        ASKED.append(len(candidates))
        return super().memory_with_each_mb(cliques, candidates)


ASKED: list[int] = []


class Loopy(PGM):
    """Says of one pair that the tree with it is larger than any limit, once it is made."""

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        return 1e6 if LARGE in set(cliques) else super().memory_mb(cliques)


LARGE: Clique = ("c0", "c39")


def exactly(model: PGM, measured: Sequence[Clique], limit: float) -> list[Clique]:
    sizes = model.memory_with_each_mb(measured, PAIRS)
    return [c for c, s in zip(PAIRS, sizes, strict=True) if c in measured or s <= limit]


class TestTreeSizes:
    def test_few_candidates_are_answered_exactly(self) -> None:
        model = PGM().over(WIDE)
        limit = 1.2 * model.memory_mb(CHAIN)

        kept = TreeSizes(limit)(model, PAIRS[:400], CHAIN, 1.0)

        assert kept == [c for c in exactly(model, CHAIN, limit) if c in PAIRS[:400]]
        assert 0 < len(kept) < 400

    def test_near_the_limit_many_candidates_are_answered_exactly_too(self) -> None:
        model = PGM().over(WIDE)
        limit = 1.5 * model.memory_mb(CHAIN)

        kept = TreeSizes(limit)(model, PAIRS, CHAIN, 1.0)

        assert kept == exactly(model, CHAIN, limit)
        assert 0 < len(kept) < len(PAIRS)

    def test_far_from_the_limit_no_tree_is_made(self) -> None:
        ASKED.clear()
        model = Counting().over(WIDE)

        kept = TreeSizes(1000 * model.memory_mb(CHAIN))(model, PAIRS, CHAIN, 1.0)

        assert kept == PAIRS
        assert ASKED == [0]

    def test_what_was_too_large_is_looked_at_again_when_the_limit_reaches_it(self) -> None:
        ASKED.clear()
        model = Counting().over(WIDE)
        now = model.memory_mb(CHAIN)
        sizes = TreeSizes(4 * now)

        first = sizes(model, PAIRS, CHAIN, 0.3)
        again = sizes(model, PAIRS, [*CHAIN, ("c0", "c4")], 0.3)
        later = sizes(model, PAIRS, [*CHAIN, ("c0", "c4")], 1.0)

        assert ASKED[1] < ASKED[0]
        assert set(PAIRS) - set(first) <= set(PAIRS) - set(again)
        assert len(later) > len(again)

    def test_sizes_with_tables_that_are_gone_are_forgotten(self) -> None:
        model = PGM().over(WIDE)
        limit = 1.3 * model.memory_mb(CHAIN)
        sizes = TreeSizes(limit)
        sizes(model, PAIRS, [*CHAIN, *zip(WIDE.columns, WIDE.columns[5:], strict=False)], 1.0)

        kept = sizes(model, PAIRS, CHAIN, 1.0)

        assert kept == exactly(model, CHAIN, limit)

    def test_a_pair_that_was_estimated_wrongly_is_not_confirmed_and_left_out_from_then_on(self) -> None:
        model = Loopy().over(WIDE)
        sizes = TreeSizes(1000 * model.memory_mb(CHAIN))
        first = sizes(model, PAIRS, CHAIN, 1.0)

        confirmed = sizes.confirms(model, LARGE, CHAIN)
        other = sizes.confirms(model, ("c1", "c39"), CHAIN)

        assert LARGE in first
        assert not confirmed
        assert other
        assert sizes(model, PAIRS, CHAIN, 1.0) == [p for p in PAIRS if p != LARGE]


class TestUnmeasuredChoices:
    def test_a_round_gives_back_what_it_did_not_spend(self) -> None:
        rounds = Rounds(
            share=Fraction(1), used=Fraction(0), round_share=Fraction(1, 10), measure_share=Fraction(9, 10)
        )
        spent = Fraction(0)

        for number, (measure, choose) in enumerate(rounds):
            spent += choose
            if number % 3:
                spent += measure
            else:
                rounds.give_back(measure)

        assert spent == 1

    def test_a_choice_that_would_make_the_model_too_large_is_paid_and_not_measured(self) -> None:
        rng = np.random.default_rng(0)
        ends = rng.integers(0, 2, 4000)
        codes = {c: rng.integers(0, n, 4000) for c, n in zip(WIDE.columns, WIDE.sizes, strict=True)}
        codes |= {"c0": ends, "c39": ends + 2 * rng.integers(0, 2, 4000)}
        table = EncodedTable(WIDE, tuple(codes[c].astype(code_dtype(WIDE.size(c))) for c in WIDE.columns))
        curator = Curator(MemoryEngine(table), Ledger(Budget.zcdp(0.5, 1e-6)), SeededNoise(0))

        model = Adaptive(records_per_noise=None, max_rounds=4).select(curator, Loopy())

        counted = Counter(e.step for e in curator.ledger.entries)
        assert counted[CHOOSE] == counted[MEASURE] + 1
        assert float(curator.ledger.spent) == pytest.approx(0.5, rel=1e-9)
        assert not any(set(LARGE) <= set(c) for c in model.cliques)
