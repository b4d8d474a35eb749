"""The texts that doors hold: those of merged codes are still one for each code, and none alike."""

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


def test_doors_without_texts_have_none() -> None:
    assert Doors(doors().tables).texts() == {}
    assert Doors(doors().tables).recoded(Recoding.identity(DOMAIN)).texts() == {}
