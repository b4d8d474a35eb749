"""One-way marginals at the start: what they cost, when they are measured again, and what is merged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.engines.memory import MemoryEngine
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.merged_start import ONE_WAY, MergedStart

WIDE = Domain(("one", "other", "flag"), (100, 100, 2))


def curator(sizes: tuple[int, ...]) -> Curator:
    rng = np.random.default_rng(0)
    domain = Domain(WIDE.columns, sizes)
    table = EncodedTable(domain, tuple(rng.integers(0, size, 4000) for size in sizes))
    return Curator(MemoryEngine(table), Ledger(Budget.zcdp(0.1, 1e-6)), SeededNoise(0))


def start(private: Curator, *, least: float | None = 4.0, most: Fraction = Fraction(1, 5)) -> MergedStart:
    return MergedStart.of(
        private,
        share=Fraction(1),
        first=Fraction(1, 20),
        most=most,
        records_per_noise=least,
        pair_sigma=lambda rest: private.noise_sigma(3, rest),
    )


def test_where_much_is_merged_columns_are_measured_again() -> None:
    private = curator(WIDE.sizes)

    found = start(private)

    assert found.used == Fraction(1, 5)
    assert [(step, share) for step, _, share in private.ledger.by_step()] == [(ONE_WAY, pytest.approx(0.2))]
    assert found.curator.domain == found.recoding.target
    assert [m.values.shape for m in found.measured] == [(n,) for n in found.recoding.target.sizes]
    assert found.recoding.target.size("one") < 50


@pytest.mark.parametrize(
    ("sizes", "options"),
    [((3, 4, 2), {}), (WIDE.sizes, {"least": None}), (WIDE.sizes, {"most": Fraction(1, 20)})],
)
def test_else_they_are_measured_once(sizes: tuple[int, ...], options: dict[str, Fraction | None]) -> None:
    private = curator(sizes)

    found = start(private, **options)

    assert found.used == Fraction(1, 20)
    assert len(private.ledger.entries) == 1


def test_nothing_is_merged_if_switched_off() -> None:
    assert start(curator(WIDE.sizes), least=None).curator.domain == WIDE


def test_what_is_left_decides_how_far_codes_merge() -> None:
    private = curator(WIDE.sizes)
    asked: list[Fraction] = []

    MergedStart.of(
        private,
        share=Fraction(1),
        first=Fraction(1, 20),
        most=Fraction(1, 5),
        records_per_noise=4.0,
        pair_sigma=lambda rest: asked.append(rest) or private.noise_sigma(3, rest),
    )

    assert asked == [Fraction(19, 20), Fraction(4, 5)]
