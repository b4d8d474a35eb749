"""Candidates: one choice is that of the curator, further ones are among some of them, and all cost the same."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ResumeError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import candidates as module
from syntabula.privacy.doors.candidates import Candidates
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExponentialEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.spend_records import MemoryJournal

DOMAIN = Domain.from_sizes({"a": 3, "b": 2, "c": 4, "d": 5})
PAIRS: list[Clique] = list(combinations(DOMAIN.columns, 2))
SOME = np.array([True, False, True, True, False, True])


def curator(budget: Budget | None = None, seed: int = 0, ledger: Ledger | None = None) -> Curator:
    rng = np.random.default_rng(0)
    table = EncodedTable(DOMAIN, tuple(rng.integers(0, size, 500) for size in DOMAIN.sizes))
    return Curator(
        MemoryEngine(table), ledger or Ledger(budget or Budget.zcdp(1e-4, 1e-6)), SeededNoise(seed)
    )


def estimates() -> list[FloatArray]:
    rng = np.random.default_rng(1)
    return [rng.uniform(0, 100, DOMAIN.shape(pair)) for pair in PAIRS]


def test_a_choice_among_some_is_the_one_among_them_alone() -> None:
    for seed in range(20):
        # So small a budget chooses nearly blindly.
        kept = np.flatnonzero(SOME)
        weights, penalties = np.arange(1.0, 7.0), np.arange(6.0)

        alone = curator(seed=seed).choose(
            [PAIRS[i] for i in kept],
            [estimates()[i] for i in kept],
            weights=weights[kept].tolist(),
            penalties=penalties[kept].tolist(),
            share=0.5,
            step="s",
        )
        asked = Candidates(
            curator(seed=seed), PAIRS, estimates(), weights=weights.tolist(), penalties=penalties.tolist()
        )

        assert asked.choose(share=0.5, step="s", among=SOME) == kept[alone]


def test_without_noise_the_farthest_of_those_left_is_chosen() -> None:
    private = curator(NO_PRIVACY)
    exact = [m.values for m in private.measure(PAIRS, share=1, step="s")]
    asked = Candidates(private, PAIRS, [e + i for i, e in enumerate(exact)])

    left, order = np.ones(6, dtype=bool), []
    while left.any():
        order.append(asked.choose(share=1, step="s", among=left))
        left[order[-1]] = False

    distances = [i * e.size for i, e in enumerate(exact)]
    assert order == sorted(range(6), key=lambda i: -distances[i])


def test_each_choice_is_paid_for_with_the_candidates_it_is_among() -> None:
    private = curator(Budget.zcdp(0.9, 1e-6))
    asked = Candidates(private, PAIRS, estimates())

    asked.choose(share=1 / 3, step="s")
    asked.choose(share=1 / 3, step="s", among=SOME)

    events = [entry.event for entry in private.ledger.entries]
    assert all(isinstance(event, ExponentialEvent) for event in events)
    assert [event.candidates for event in events] == [6, 4]
    assert float(private.ledger.spent) == pytest.approx(0.6)


def test_tables_are_compared_once_however_many_choices_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    right = module.distances
    monkeypatch.setattr(module, "distances", lambda c, e: compared.append(len(c)) or right(c, e))
    asked = Candidates(curator(), PAIRS, estimates())

    for _ in range(5):
        asked.choose(share=0.1, step="s", among=SOME)

    assert compared == [6]


def test_a_resumed_run_asks_for_the_same_choice_among_the_same_candidates() -> None:
    journal, budget = MemoryJournal(), Budget.zcdp(0.9, 1e-6)
    first = Candidates(curator(ledger=Ledger(budget, journal)), PAIRS, estimates())
    chosen = first.choose(share=0.5, step="s", among=SOME)

    again = Candidates(
        curator(seed=1, ledger=Ledger(budget, journal, replay_from=0)), PAIRS, estimates()
    ).choose(share=0.5, step="s", among=SOME)
    others = Candidates(
        curator(ledger=Ledger(budget, journal, replay_from=0)),
        [*PAIRS[1:], PAIRS[0]],
        estimates()[1:] + estimates()[:1],
    )

    assert again == chosen
    with pytest.raises(ResumeError, match="another query"):
        others.choose(share=0.5, step="s", among=SOME)


@pytest.mark.parametrize("among", [np.zeros(6, dtype=bool), np.ones(5, dtype=bool)])
def test_a_choice_among_none_or_of_another_length_is_refused(among: np.ndarray) -> None:
    private = curator()

    with pytest.raises(ArgumentError, match="at least one"):
        Candidates(private, PAIRS, estimates()).choose(share=0.5, step="s", among=among)

    assert private.ledger.entries == ()


def test_its_repr_shows_no_count() -> None:
    assert repr(Candidates(curator(), PAIRS, estimates())) == "Candidates(6 marginals)"
