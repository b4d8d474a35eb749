"""Auto: which method it chooses, what that costs, and how it says so."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain
from syntabula.models.genetic import Genetic
from syntabula.models.neural import NeuralRows
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.ledger import Ledger
from syntabula.select import automatic
from syntabula.select.adaptive import Adaptive
from syntabula.select.automatic import COUNT, WEIGH, Automatic
from syntabula.select.doubling import FirstTimeDoubling

NETWORK = NeuralRows(n_rows=32, units=8, iterations=5)
ROUNDS = FirstTimeDoubling(rounds_per_column=2)
RECORDS = Genetic(max_rows=2000, generations=50)
NEVER_AMPLE = {"ample_pair_noise": 1e-9}
SMALL = {"network": NETWORK, "dense": ROUNDS, "evolved": RECORDS} | NEVER_AMPLE
EVEN = st.Preprocessing(discretizer="uniform")
BUDGETS = {
    "approximate": st.Budget(epsilon=1.0, delta=1e-6),
    "zcdp": st.Budget.zcdp(0.05, 1e-6),
    "pure": st.Budget.pure(4.0),
}


def schema(columns: int = 6) -> st.Schema:
    return st.Schema({f"x{i}": st.Numeric(-4.0, 4.0, bins=8) for i in range(columns)})


def dense(n: int = 12_000, columns: int = 6) -> pd.DataFrame:
    """All pairs with correlation 0.7."""
    rng = np.random.default_rng(0)
    shared = math.sqrt(0.7) * rng.standard_normal(n)
    made = {f"x{i}": shared + math.sqrt(0.3) * rng.standard_normal(n) for i in range(columns)}
    return pd.DataFrame(made).clip(-4, 4)


def sparse(n: int = 12_000, columns: int = 6) -> pd.DataFrame:
    """Columns in a chain."""
    rng = np.random.default_rng(0)
    made = [rng.standard_normal(n)]
    for _ in range(columns - 1):
        made.append(0.8 * made[-1] + 0.6 * rng.standard_normal(n))
    return pd.DataFrame({f"x{i}": c for i, c in enumerate(made)}).clip(-4, 4)


def auto(choice: dict[str, Any] | None = None, **options: Any) -> st.Auto:
    selector = Automatic(**(SMALL | (choice or {})))
    return st.Auto(**({"epsilon": 2.0, "seed": 1, "preprocessing": EVEN, "selector": selector} | options))


def chosen(release: st.Release) -> str:
    assert release.privacy.choice is not None
    return release.privacy.choice.method


def model_of(release: st.Release) -> object:
    model = release.model
    while isinstance(model, RecodedModel):
        model = model.inner
    return model


class TestChoice:
    @pytest.mark.parametrize("epsilon", [1.0, 5.0])
    def test_dense_correlations_get_margnet(self, epsilon: float) -> None:
        release = auto(epsilon=epsilon).fit(dense(columns=4), schema(4))

        assert chosen(release) == "margnet"
        assert "dense" in release.privacy.choice.reason
        assert isinstance(model_of(release), NeuralRows)

    @pytest.mark.thorough
    @pytest.mark.parametrize("epsilon", [1.0, 5.0])
    def test_sparse_correlations_get_aim(self, epsilon: float) -> None:
        release = auto(epsilon=epsilon).fit(sparse(columns=4), schema(4))

        assert chosen(release) == "aim"
        assert "sparse" in release.privacy.choice.reason
        assert isinstance(model_of(release), PGM)

    @pytest.mark.parametrize("frame", [dense, sparse])
    @pytest.mark.parametrize("epsilon", [5.0, 10.0])
    def test_an_ample_budget_gets_private_gsd(self, frame: Any, epsilon: float) -> None:
        release = auto({"ample_pair_noise": 0.04}, epsilon=epsilon).fit(frame(columns=4), schema(4))

        assert chosen(release) == "private-gsd"
        assert "of many codes if all were measured, at most 4.0%" in release.privacy.choice.reason
        assert isinstance(model_of(release), Genetic)

    def test_an_ample_budget_for_pairs_that_do_not_depend_gets_aim(self) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({f"x{i}": rng.standard_normal(12_000) for i in range(6)}).clip(-4, 4)

        release = auto({"ample_pair_noise": 0.04}, epsilon=10.0).fit(frame, schema())

        assert chosen(release) == "aim"
        assert "beyond what a tree explains, not above 0" in release.privacy.choice.reason

    def test_where_noise_hides_how_pairs_depend_an_ample_budget_gets_private_gsd(self) -> None:
        halves = st.Schema({f"x{i}": st.Numeric(-4.0, 4.0, bins=2) for i in range(3)})

        release = auto({"ample_pair_noise": 0.04}).fit(sparse(300, columns=3), halves)

        assert chosen(release) == "private-gsd"
        assert "too small to show whether pairs depend" in release.privacy.choice.reason
        assert WEIGH not in [line.step for line in release.privacy.lines]

    def test_an_ample_budget_is_one_for_codes_as_they_are_merged(self) -> None:
        wide = st.Schema({f"x{i}": st.Numeric(-4.0, 4.0, bins=60) for i in range(4)})

        release = auto({"ample_pair_noise": 0.04}, epsilon=10.0).fit(sparse(columns=4), wide)

        # In 3,600 cells noise would move a fifth of the records.
        assert chosen(release) == "private-gsd"

    @pytest.mark.parametrize("frame", [dense, sparse])
    def test_next_to_no_budget_or_records_get_single_columns(self, frame: Any) -> None:
        small_budget = auto(epsilon=0.01).fit(frame(), schema())
        few_records = auto().fit(frame(60), schema())

        for release in (small_budget, few_records):
            assert chosen(release) == "independent"
            assert WEIGH not in [line.step for line in release.privacy.lines]

    def test_codes_that_aim_merges_are_not_counted_as_noise(self) -> None:
        wide = st.Schema({f"x{i}": st.Numeric(-4.0, 4.0, bins=60) for i in range(6)})

        release = auto({"dense_from": 1.0}, epsilon=0.15).fit(sparse(), wide)

        # In 3,600 cells noise would move more records than there are; AIM merges them to some dozens.
        assert chosen(release) == "aim"

    def test_dense_correlations_get_private_gsd_without_torch_and_the_reason_says_so(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(automatic, "is_installed", lambda module: False)

        release = auto().fit(dense(), schema())

        assert chosen(release) == "private-gsd"
        assert "dense" in release.privacy.choice.reason
        assert "torch" in release.privacy.choice.reason

    def test_dense_correlations_get_private_gsd_where_margnet_takes_too_long(self) -> None:
        release = auto({"max_seconds": 2.0, "network": NeuralRows()}).fit(dense(), schema())

        assert chosen(release) == "private-gsd"
        assert "margnet was left out, as it may take" in release.privacy.choice.reason

    def test_haste_gets_single_columns(self) -> None:
        records = {"evolved": Genetic(max_rows=50_000)}
        release = auto({"max_seconds": 0.15} | records).fit(sparse(), schema())
        slow_network = auto({"max_seconds": 0.1, "network": NeuralRows()} | records).fit(dense(), schema())

        assert "aim was left out, as it may take 0." in release.privacy.choice.reason
        assert "s, above 0.15" in release.privacy.choice.reason
        assert "margnet was left out, as it may take" in slow_network.privacy.choice.reason
        assert "private-gsd was left out, as it may take" in slow_network.privacy.choice.reason
        assert [chosen(release), chosen(slow_network)] == ["independent", "independent"]

    def test_a_larger_budget_leaves_out_what_it_makes_too_slow(self) -> None:
        usual = sum(
            s.seconds for s in Adaptive(interactions=True).plan(Domain.from_sizes(dict.fromkeys("abcdef", 3)))
        )
        limit = {"max_seconds": 2.5 * usual}

        small, large = (auto(limit, epsilon=e).fit(sparse(), schema()) for e in (1.0, 8.0))

        assert "aim was left out" not in small.privacy.choice.reason
        assert "aim was left out, as it may take" in large.privacy.choice.reason

    def test_little_memory_leaves_out_aim(self) -> None:
        release = auto(memory_mb=200.0).fit(sparse(), schema())

        assert chosen(release) == "mst"
        assert "aim was left out, as it may take 48" in release.privacy.choice.reason

    def test_a_limit_on_memory_that_is_replaced_holds_no_longer(self) -> None:
        little = auto(memory_mb=200.0)

        more = replace(little, memory_mb=auto().memory_mb)

        assert more.plan(schema()).steps == auto().plan(schema()).steps != little.plan(schema()).steps

    @pytest.mark.thorough
    def test_the_chosen_method_learns(self) -> None:
        network = {"network": NeuralRows(n_rows=256, units=64, iterations=20), "dense": FirstTimeDoubling()}
        records = {"evolved": Automatic().evolved, "ample_pair_noise": 1.0}
        for frame, choice in ((dense(), network), (sparse(), {}), (sparse(), records)):
            release = auto(choice).fit(frame, schema())
            made = release.sample(12_000, seed=0).corr().to_numpy()

            assert np.abs(made - frame.corr().to_numpy()).max() < 0.2

    @pytest.mark.thorough
    def test_a_dense_table_is_learned_in_columns_of_many_codes(self) -> None:
        # Unmerged, the network learns noise: correlations come out at 0.1 or less.
        wide = st.Schema({f"x{i}": st.Numeric(-4.0, 4.0, bins=100) for i in range(6)})
        network = {"network": NeuralRows(n_rows=256, units=64, iterations=20), "dense": FirstTimeDoubling()}

        release = auto(network, epsilon=1.0).fit(dense(), wide)

        assert chosen(release) == "margnet"
        made = release.sample(12_000, seed=0).corr().to_numpy()
        assert np.abs(made - dense().corr().to_numpy()).max() < 0.2

    def test_another_selector_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="must be an Automatic"):
            st.Auto(selector=ROUNDS)

    def test_a_senseless_option_is_refused(self) -> None:
        for choice in [
            {"choice_share": 0},
            {"dense_from": -1},
            {"ample_pair_noise": 0},
            {"max_seconds": 0},
            {"memory_mb": math.inf},
        ]:
            with pytest.raises(ArgumentError, match=next(iter(choice))):
                Automatic(**choice)


class TestCost:
    @pytest.mark.parametrize("budget", sorted(BUDGETS))
    @pytest.mark.parametrize("frame", [dense, sparse])
    @pytest.mark.thorough
    def test_the_choice_is_a_step_of_its_own_and_the_whole_is_the_budget(
        self, frame: Any, budget: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledgers: list[Ledger] = []
        original = Ledger.spend
        monkeypatch.setattr(
            Ledger,
            "spend",
            lambda ledger, event, **asked: ledgers.append(ledger) or original(ledger, event, **asked),
        )

        release = auto(epsilon=1.0, budget=BUDGETS[budget]).fit(frame(), schema())

        shares = {line.step: line.share for line in release.privacy.lines}
        learning = sum(share for step, share in shares.items() if step not in (COUNT, WEIGH))
        assert shares[COUNT] + shares[WEIGH] == pytest.approx(0.02, rel=0.02)
        assert learning == pytest.approx(0.98, rel=0.02)
        assert ledgers[-1].spent <= BUDGETS[budget].total
        assert float(ledgers[-1].spent / BUDGETS[budget].total) > 1 - 1e-9

    def test_declared_facts_that_decide_cost_nothing(self) -> None:
        single = auto().fit(dense()[["x0"]], schema(1))
        only_one_fits = auto({"max_seconds": 1e-4}).fit(dense(), schema())

        for release in (single, only_one_fits):
            assert chosen(release) == "independent"
            assert not {COUNT, WEIGH} & {line.step for line in release.privacy.lines}
        assert "single column" in single.privacy.choice.reason
        assert "no other method is available" in only_one_fits.privacy.choice.reason

    def test_the_plan_bounds_what_every_open_way_takes(self) -> None:
        planned = auto().plan(schema())

        alone = [
            kind(epsilon=2.0, preprocessing=EVEN).plan(schema()) for kind in (st.AIM, st.MST, st.Independent)
        ]
        assert planned.memory_mb >= max(plan.memory_mb for plan in alone)
        assert planned.seconds >= max(plan.seconds for plan in alone)
        assert sum(step.share for step in planned.steps) == pytest.approx(1.0)
        instead = {"or margnet instead", "or private-gsd instead", "or mst instead"}
        assert instead <= {step.name for step in planned.steps}

    def test_the_plan_names_no_way_that_is_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(automatic, "is_installed", lambda module: False)

        names = [step.name for step in auto().plan(schema()).steps]

        assert "or private-gsd instead" in names
        assert "or margnet instead" not in names

    def test_where_no_way_is_for_dense_tables_none_are_weighed(self) -> None:
        release = auto({"evolved": Genetic(), "network": NeuralRows(), "max_seconds": 0.05}).fit(
            sparse(), schema()
        )

        assert chosen(release) == "independent"
        assert WEIGH not in [line.step for line in release.privacy.lines]


class TestExplanation:
    @pytest.mark.thorough
    @pytest.mark.parametrize("frame", [dense, sparse])
    def test_the_release_the_statement_and_their_json_say_why_also_after_loading(
        self, frame: Any, tmp_path: Path
    ) -> None:
        release = auto().fit(frame(), schema())
        release.save(tmp_path / "x.syn")

        loaded = st.load(tmp_path / "x.syn")

        assert loaded.privacy.choice == release.privacy.choice
        facts = json.loads(json.dumps(loaded.privacy.to_json()))["choice"]
        assert facts == {"method": chosen(release), "reason": release.privacy.choice.reason}
        text = " ".join(loaded.privacy.text().split())
        assert f"{chosen(release)}, because {release.privacy.choice.reason}." in text
        assert type(model_of(loaded)) is type(model_of(release))
        assert release.method == "auto"

    def test_a_method_that_leaves_no_choice_says_nothing_of_one(self) -> None:
        release = st.MST(epsilon=2.0, seed=1, preprocessing=EVEN).fit(sparse(500), schema())

        assert release.privacy.choice is None
        assert release.privacy.to_json()["choice"] is None
        assert "Which method was chosen" not in release.privacy.text()

    @pytest.mark.thorough
    def test_a_seed_repeats_choice_and_model(self, tmp_path: Path) -> None:
        for name in ("one", "again"):
            auto(seed=4).fit(dense(3000), schema()).save(tmp_path / name)

        assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()
