"""TabularDiffusion, beside `contracts/test_record_models.py`: what it learns, its levels, and what its steps cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from record_cases import CASES, DOMAIN, fitted, records
from threadpoolctl import threadpool_limits

from syntabula.errors import ReleaseFileError, TrainingError
from syntabula.marginals.domain import EncodedTable
from syntabula.record_models import loop, matched_rows
from syntabula.record_models.denoising import ROWS_AT_ONCE, Denoising
from syntabula.record_models.loop import Training
from syntabula.record_models.tabular_diffusion import TabularDiffusion

pytest.importorskip("torch")

KIND = "tabular_diffusion"


def plain_records() -> EncodedTable:
    """Return the records with a column c that says whether a is 1."""
    a, b, _ = records().codes
    return EncodedTable(DOMAIN, (a, b, (a == 1).astype(np.uint8)))


@pytest.fixture(scope="module")
def model() -> TabularDiffusion:
    found: TabularDiffusion = fitted(KIND, plain_records())
    return found


class TestSamples:
    @pytest.mark.thorough
    @pytest.mark.parametrize("options", [{}, {"ancestral": True, "steps_back": 50}])
    def test_rows_follow_the_records(self, model: TabularDiffusion, options: dict[str, Any]) -> None:
        made = replace(model, **options).sample(5_000, np.random.default_rng(0))

        a, b, c = (made.column(name).astype(int) for name in DOMAIN)
        assert np.abs(np.bincount(a, minlength=4)[:3] / 5_000 - 1 / 3).max() < 0.06
        assert not (a == 3).any()
        assert np.mean(b // 7 == a) > 0.85
        assert np.mean(c == (a == 1)) > 0.95
        wanted = np.bincount(records().column("b"), minlength=30) / 4_000
        assert np.abs(np.bincount(b, minlength=30) / 5_000 - wanted).sum() / 2 < 0.15

    def test_as_few_levels_as_one_are_enough(self) -> None:
        made = fitted(KIND, records(100), replace(CASES[KIND].model, levels=1), steps=5)

        assert made.sample(50, np.random.default_rng(0)).n_rows == 50

    @pytest.mark.thorough
    def test_rows_are_the_same_in_any_number_of_threads(self, model: TabularDiffusion) -> None:
        few = replace(model, steps_back=3)
        made = []
        for n in (1, 3):
            with threadpool_limits(limits=n, user_api="blas"):
                made.append(few.sample(2 * ROWS_AT_ONCE + 5, np.random.default_rng(0)))

        assert all((a == b).all() for a, b in zip(made[0].codes, made[1].codes, strict=True))


class TestGiven:
    def test_columns_follow_one_given_column_as_they_do_in_free_rows(
        self, model: TabularDiffusion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # However little the network follows what it is told.
        draw = Denoising.draw
        monkeypatch.setattr(Denoising, "draw", lambda self, n, rng, given=None: draw(self, n, rng))
        free = model.sample(4_000, np.random.default_rng(0))
        given = free.project(["a"])

        made = model.sample(4_000, np.random.default_rng(1), given)

        near = [np.mean(rows.column("b") // 7 == rows.column("a")) for rows in (free, made)]
        # Of shares near .9 among 4,000 rows six standard deviations of a difference are .041: once in 10^9 by chance.
        assert abs(near[0] - near[1]) < 0.042

    def test_rows_that_no_free_row_matches_are_drawn_by_the_network(
        self, model: TabularDiffusion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(matched_rows, "_SPARE", 1)
        monkeypatch.setattr(matched_rows, "_FEWEST", 20)
        given = plain_records().project(["a", "b"])

        one, two = (model.sample(4_000, np.random.default_rng(3), given) for _ in range(2))

        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
        assert all((one.column(c) == given.column(c)).all() for c in given.domain)
        assert np.mean(one.column("c") == (one.column("a") == 1)) > 0.9


class TestWidth:
    """Layers that are given noise are narrower, unless their width is chosen."""

    def test_layers_are_as_wide_as_the_budget_says(self) -> None:
        usual, chosen = TabularDiffusion(), TabularDiffusion(units=64)

        widths = [m._network_shapes([4], [False])["layer/0"][1] for m in (usual, usual._for_noise)]
        always = [m._network_shapes([4], [False])["layer/0"][1] for m in (chosen, chosen._for_noise)]

        assert widths == [512, 256]
        assert always == [64, 64]
        assert usual._for_noise.units is None

    @pytest.mark.thorough
    def test_a_file_holds_the_width(self, model: TabularDiffusion) -> None:
        facts, arrays = model.state()
        width = facts["width"]

        back = TabularDiffusion.from_state({**facts, "units": None}, arrays)

        assert back.units is None
        assert back.state()[0]["width"] == width
        assert back.sample(20, np.random.default_rng(0)).n_rows == 20

    def test_files_of_earlier_versions_have_it_as_an_option(self, model: TabularDiffusion) -> None:
        facts, arrays = model.state()
        earlier = {name: fact for name, fact in facts.items() if name != "width"}

        back = TabularDiffusion.from_state(earlier, arrays)

        rows = (m.sample(20, np.random.default_rng(0)) for m in (model, back))
        assert all((a == b).all() for a, b in zip(*(r.codes for r in rows), strict=True))

    def test_no_width_is_refused(self, model: TabularDiffusion) -> None:
        facts, arrays = model.state()

        with pytest.raises(ReleaseFileError):
            TabularDiffusion.from_state({**facts, "width": 0}, arrays)


class TestTraining:
    def test_a_loss_that_is_no_number_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(loop, "warmth", lambda done, step: 1e30)

        with pytest.raises(TrainingError, match="no finite number any more"):
            fitted(KIND, records(100), steps=40)

    def test_cost_grows_with_steps_and_draws_and_ends_with_the_seconds(self) -> None:
        short, long = (
            CASES[KIND].model.training_cost(DOMAIN, 1_000, Training(steps=n)) for n in (10, 10_000)
        )
        held = CASES[KIND].model.training_cost(DOMAIN, 1_000, Training(steps=10**9, seconds=5.0))
        several = replace(CASES[KIND].model, draws=8).training_cost(DOMAIN, 1_000, Training(steps=10))

        assert 0 < short.seconds < long.seconds
        assert held.seconds == 5.0
        assert 0 < short.memory_mb < several.memory_mb
