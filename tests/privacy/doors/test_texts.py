"""What doors tell of codes: texts of merged codes are still one for each, and weekdays those of all that are merged."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.counting import engine_for
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

DOMAIN = Domain(("a", "b"), (4, 2))


def doors() -> Doors:
    table = EncodedTable(DOMAIN, (np.array([0, 3], np.uint8), np.array([0, 1], np.uint8)))
    noise = SeededNoise(0)
    curator = Curator(engine_for(table, limit_mb=10), Ledger(Budget.none()), noise)
    return Doors(curator, lambda: {"a": ["w", "x", "y", "z"], "b": ["0", "1"]})


def test_the_first_of_merged_codes_stands_for_all() -> None:
    merged = doors().recoded(Recoding(DOMAIN, {"a": np.array([1, 0, 1, 2])}))

    assert merged.texts() == {"a": ["x", "w", "z"], "b": ["0", "1"]}
    assert merged.domain.sizes == (3, 2)


def test_merged_codes_have_the_weekdays_of_all_of_theirs_by_their_shares() -> None:
    days = {"a": np.eye(7)[[0, 1, 2, 3]], "b": np.eye(7)[[5, 6]]}
    recoding = Recoding(DOMAIN, {"a": np.array([0, 0, 1, 1])}, {"a": np.array([3.0, 1, 1, 1])})

    merged = Doors(doors().tables, weekdays=lambda: days).recoded(recoding).weekdays()

    np.testing.assert_allclose(merged["a"], [[0.75, 0.25, 0, 0, 0, 0, 0], [0, 0, 0.5, 0.5, 0, 0, 0]])
    np.testing.assert_array_equal(merged["b"], days["b"])


def test_doors_without_texts_have_none() -> None:
    assert Doors(doors().tables).texts() == {}
    assert Doors(doors().tables).recoded(Recoding.identity(DOMAIN)).texts() == {}
