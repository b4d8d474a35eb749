"""Checks of attacks."""

from __future__ import annotations

import numpy as np

from syntabula.attacks.base import Attack, Knowledge
from syntabula.datasets.census import census, census_schema
from syntabula.metrics.comparison import View
from syntabula.table.read import read
from syntabula.testing.learners import check_options

_N = 80


def check_attack(attack: Attack) -> None:
    """Check that an attack turns every synthetic table into equally many numbers, and nothing else.

    The target of the check has the largest income of all, so that attacks on outliers can be mounted.

    Args:
        attack: An attack with any options.

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    check_options(attack)
    assert isinstance(getattr(type(attack), "key", None), str), (
        "an attack's class must have a key, which names it"
    )
    assert isinstance(attack.learns, bool), "`learns` must be True or False"
    knowledge = _knowledge()
    table = knowledge.table
    rng = np.random.default_rng(5)
    made = {
        "the records with the target": table,
        "the records without the target": knowledge.others,
        "independent columns": table.shuffled_apart(_N, rng),
        "a larger table": table.shuffled_apart(3 * _N, rng),
        "one row": table.take(np.array([0])),
        "a table without values": _emptied(table, knowledge),
    }
    before = [_contents(view) for view in made.values()]
    found = {name: attack.features(view, knowledge) for name, view in made.items()}
    length = len(found["the records with the target"])
    assert length > 0, "there are no features"
    assert attack.learns or length == 1, "an attack that does not learn must return one feature"
    for name, features in found.items():
        assert isinstance(features, np.ndarray), f"{name}: features must be an array"
        assert features.shape == (length,), f"{name}: the number of features depends on the synthetic table"
        assert features.dtype.kind == "f", f"{name}: features must be floats"
        assert np.isfinite(features).all(), f"{name}: a feature is not a finite number"
        assert np.array_equal(attack.features(made[name], knowledge), features), (
            f"{name}: the same table gives different features the second time"
        )
    assert [_contents(view) for view in made.values()] == before, "the attack changed the table"
    if not attack.learns:
        with_target, without = (found[name][0] for name in list(made)[:2])
        assert with_target >= without, (
            "the feature is larger without the target in the table; if nothing is learned, larger must mean that the "
            "target was there"
        )


def _knowledge() -> Knowledge:
    frame = census(n_rows=_N, seed=1)
    return Knowledge(read(frame, census_schema()), census_schema(), int(frame["income"].argmax()))


def _emptied(table: View, knowledge: Knowledge) -> View:
    """Return the same table with every cell missing."""
    return View(
        {name: np.full_like(values, np.nan) for name, values in table.numbers.items()},
        {name: np.full_like(codes, knowledge.sizes[name] - 2) for name, codes in table.codes.items()},
        table.n_rows,
    )


def _contents(view: View) -> list[bytes]:
    return [column.tobytes() for column in (*view.numbers.values(), *view.codes.values())]
