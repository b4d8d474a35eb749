"""Which trained models are taken for those that went astray."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from syntabula.errors import TrainingWarning
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models import astray
from syntabula.record_models.astray import is_astray, warn_if_collapsed
from syntabula.record_models.population import EvolvedRows

DOMAIN = Domain(("few", "many"), (5, 20_000), frozenset())
EVEN = {"few": np.full(5, 1 / 5), "many": np.full(20_000, 1 / 20_000)}


def rows(few: np.ndarray, many: np.ndarray) -> EvolvedRows:
    return EvolvedRows.of(EncodedTable(DOMAIN, (few.astype(np.uint64), many.astype(np.uint64))), few.size)


def drawn(n: int, size: int) -> np.ndarray:
    return np.random.default_rng(size).integers(0, size, n)


class TestRows:
    def test_by_chance_alone_none_is_astray_however_many_codes_there_are(self) -> None:
        for n in [300, 4_000]:
            assert not is_astray(rows(drawn(n, 5), drawn(n, 20_000)), EVEN)

    def test_a_single_code_in_place_of_many_is_found(self) -> None:
        for column in ["few", "many"]:
            few, many = drawn(4_000, 5), drawn(4_000, 20_000)

            found = rows(few * (column != "few"), many * (column != "many"))

            assert is_astray(found, EVEN)
            assert is_astray(found, EVEN, weighed=True) == (column == "few")

    def test_rows_that_lack_no_frequent_code_can_be_weighed(self) -> None:
        few = np.concatenate([drawn(400, 5), np.zeros(3_696, np.int64)])

        found = rows(few, drawn(4_096, 20_000))

        assert is_astray(found, EVEN)
        assert not is_astray(found, EVEN, weighed=True)


class TestNumbers:
    def test_what_is_no_number_is_found_and_so_are_rows_that_cannot_be_drawn(self) -> None:
        class Broken(EvolvedRows):
            kind = "broken"

            def state(self):  # type: ignore[no-untyped-def]
                facts, arrays = super().state()
                return facts, arrays | {"weights": np.array([np.inf])}

        class Stuck(EvolvedRows):
            kind = "stuck"

            def sample(self, n, rng, given=None):  # type: ignore[no-untyped-def]
                raise ValueError("probabilities contain NaN")

        table = EncodedTable(DOMAIN, (drawn(400, 5).astype(np.uint64), drawn(400, 20_000).astype(np.uint64)))

        assert is_astray(Broken.of(table, 400), EVEN)
        assert is_astray(Stuck.of(table, 400), EVEN)


class TestCollapse:
    def test_rows_that_have_next_to_nothing_of_the_marginals_are_warned_of(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(astray, "_expected_shares", lambda start: EVEN)
        collapsed, learned = (rows(drawn(4_000, 5) * kept, drawn(4_000, 20_000) * kept) for kept in (0, 1))

        with pytest.warns(TrainingWarning, match=r"lower learning_rate, which is 0\.5, or raise steps"):
            assert warn_if_collapsed(collapsed, cast(Any, None), 0.5)
        assert not warn_if_collapsed(learned, cast(Any, None), 0.5)
