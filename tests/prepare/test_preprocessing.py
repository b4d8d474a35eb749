"""Preprocessing end to end: what it spends, what the plan says of it, and what comes out."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.bins.uniform import UniformBins
from syntabula.errors import ArgumentError, BudgetError, DomainWarning
from syntabula.marginals.counting import engine_for
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.prepare.division import prepare
from syntabula.prepare.found_keys import REPEATS_SHARE, SHAPES_SHARE
from syntabula.prepare.found_numbers import UNNAMED_SHARE
from syntabula.prepare.preprocessing import FittedDiscretizer, RareCategories
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SecureNoise
from syntabula.table.raw import PhysicalType

pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.CoercionWarning")

N = 5_000


def people(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(17, 91, N),
            "gain": np.where(rng.random(N) < 0.92, 0, np.rint(rng.lognormal(8, 1, N))).astype(int),
            "pay": np.round(rng.lognormal(3, 1, N), 2),
            "job": rng.choice(["cook", "nurse", "judge"], N),
        }
    )


SCHEMA = st.Schema(
    {
        "age": st.Numeric(0, 120, integer=True),
        "gain": st.Numeric(0, 99_999, integer=True),
        "pay": st.Numeric(0.0, 500.0, decimals=2),
        "job": st.Categorical(("cook", "judge", "nurse")),
    }
)


class Thirds(FittedDiscretizer):
    key = "thirds"
    needs_count = False
    is_free = True

    def fit(self, column, lower, upper, *, count, n_estimated, share, step):
        assert share == 0
        return UniformBins(3).bins(lower, upper, integer=column.integer)


DISCRETIZERS = ["uniform", "privtree", "quantile", "kmeans"]


def fit(frame, schema, *, budget=None, bins="auto", **settings) -> st.Release:
    chosen = budget or st.Budget(epsilon=5.0, delta=1e-5)
    method = st.Independent(budget=chosen, seed=1, bins=bins, preprocessing=st.Preprocessing(**settings))
    return method.fit(frame, schema)


@pytest.mark.parametrize(
    ("discretizer", "within"),
    [*((discretizer, "auto") for discretizer in DISCRETIZERS), ("uniform", "even"), ("privtree", "normal")],
)
class TestEndToEnd:
    def test_samples_have_the_types_and_precision_of_the_table(self, discretizer, within):
        for declared in [True, False]:
            frame = people()

            release = fit(frame, SCHEMA if declared else None, discretizer=discretizer, within=within)
            made = release.sample(2_000, seed=1)

            assert made.dtypes.equals(frame.dtypes)
            # Noise may leave a few cells missing.
            pay = made["pay"].dropna()
            assert (pay.round(2) == pay).all()
            assert set(made["job"]) <= {"cook", "nurse", "judge", "other"}
            assert (made["gain"] <= 3_000).mean() > 0.75
            expected = "public" if declared else "private"
            assert set(release.provenance.values()) == {expected}

    def test_a_release_file_brings_back_the_same_samples(self, discretizer, within, tmp_path):
        release = fit(people(), SCHEMA, discretizer=discretizer, within=within)
        release.save(tmp_path / "x.syn")

        loaded = st.load(tmp_path / "x.syn")

        assert loaded.sample(300, seed=3).equals(release.sample(300, seed=3))

    def test_a_pure_budget_works_where_no_categories_have_to_be_found(self, discretizer, within):
        release = fit(people(), SCHEMA, budget=st.Budget.pure(5.0), discretizer=discretizer, within=within)

        assert release.privacy.epsilon_spent <= 5.0

    @pytest.mark.thorough
    def test_without_privacy_it_works_too(self, discretizer, within):
        made = fit(people(), None, budget=st.Budget.none(), discretizer=discretizer, within=within).sample(
            2_000, seed=0
        )

        assert abs(made["age"].mean() - 53.5) < 4


class TestSpending:
    @pytest.mark.thorough
    def test_steps_are_those_of_the_plan_within_their_shares(self):
        for schema in [SCHEMA, None]:
            for discretizer in DISCRETIZERS:
                frame = people()
                method = st.Independent(
                    epsilon=5.0, seed=0, bins=30, preprocessing=st.Preprocessing(discretizer=discretizer)
                )
                release = method.fit(frame, schema)

                planned = {
                    step.name: step.share
                    for step in method.plan(schema, physical=release.origin.physical).steps
                }

                spent = {line.step: line.share for line in release.privacy.lines}
                assert set(spent) <= set(planned)
                # What the search for keys among texts leaves goes to the learner.
                learned = "measure one-way marginals"
                assert all(spent[name] <= planned[name] * (1 + 1e-9) for name in spent if name != learned)
                assert spent[learned] < planned[learned] * 1.01
                assert sum(spent.values()) <= 1 + 1e-9
                assert sum(planned.values()) == pytest.approx(1.0)

    @pytest.mark.thorough
    def test_what_is_planned_is_charged_also_for_free_bins_and_for_the_spread_within_bins(self):
        free = Thirds()
        for schema in (SCHEMA, None):
            for options in (
                {"discretizer": free},
                {"discretizer": free, "within": "normal"},
                {"within": "normal"},
            ):
                method = st.Independent(
                    epsilon=5.0, seed=0, bins=30, preprocessing=st.Preprocessing(**options)
                )
                release = method.fit(people(), schema)

                planned = method.plan(schema, physical=release.origin.physical).steps

                spent = dict.fromkeys((line.step for line in release.privacy.lines), 0.0)
                for line in release.privacy.lines:
                    spent[line.step] += line.share
                shares = {step.name: step.share for step in planned}
                if schema is None:
                    # Categories and bounds are found, so what is kept for keys and clock times goes to the learner;
                    # nothing is kept for keys where the number of records is not known.
                    of_clocks = UNNAMED_SHARE
                    of_keys = SHAPES_SHARE + REPEATS_SHARE if "count the records" in shares else Fraction(0)
                    for name, part in (("job", of_keys), ("age", of_clocks), ("gain", of_clocks)):
                        kept = shares[f"find the domain of {name!r}"] * float(part)
                        shares[f"find the domain of {name!r}"] -= kept
                        shares["measure one-way marginals"] += kept
                assert {name: pytest.approx(share, rel=1e-6) for name, share in shares.items()} == spent

    def test_each_column_is_listed_with_what_it_spent(self):
        release = fit(people(), None)

        steps = {line.step for line in release.privacy.lines}

        for name in ("age", "gain", "pay", "job"):
            assert f"find the domain of {name!r}" in steps
        assert "fit the bins of 'gain'" in steps
        assert release.privacy.is_private is False  # seeded noise
        assert not release.privacy.observed_columns

    def test_nothing_is_withheld_if_nothing_needs_budget(self):
        release = fit(people(), SCHEMA, discretizer="uniform", bins=50)

        assert [line.share for line in release.privacy.lines] == [pytest.approx(1.0)]

    def test_a_column_of_categories_needs_no_count_of_the_records(self):
        schema = st.Schema({"job": SCHEMA["job"]})

        release = st.Independent(seed=0).fit(people()[["job"]], schema)

        assert [line.step for line in release.privacy.lines] == ["measure one-way marginals"]

    def test_the_share_is_an_option(self):
        release = fit(people(), None, share=0.3)

        spent = sum(line.share for line in release.privacy.lines if "one-way" not in line.step)
        assert 0.25 < spent <= 0.3 + 1e-9


class TestRareCategories:
    def test_merge_below_the_stated_part_of_the_records(self):
        codes = np.repeat([0, 1, 2, 3, 4], [500, 400, 60, 30, 10])
        table = EncodedTable.from_mapping(Domain.from_sizes({"x": 5}), {"x": codes})
        curator = Curator(engine_for(table, limit_mb=100.0), Ledger(Budget.none()), SecureNoise())

        merged = {
            theta: RareCategories(theta=theta).fit(curator, ["x"]) for theta in (0.005, 0.035, 0.055, 0.065)
        }

        kept = {theta: recoding.maps.get("x") for theta, recoding in merged.items() if recoding is not None}
        assert kept[0.005] is None
        assert kept[0.035].tolist() == [0, 1, 2, 3, 3]
        assert kept[0.055].tolist() == [0, 1, 2, 3, 3]
        assert kept[0.065].tolist() == [0, 1, 2, 2, 2]

    def test_are_looked_for_in_large_declared_columns_whatever_the_schema_is_called(self):
        many = st.Categorical(tuple(f"c{i}" for i in range(100)))
        few = st.Categorical(tuple(f"c{i}" for i in range(99)))
        found = st.Categorical(many.categories, provenance="private")
        columns = {"many": many, "few": few, "found": found, "number": st.Numeric(0, 999, integer=True)}
        schema = st.Schema(columns, label="many")

        prepared = prepare(st.Preprocessing(discretizer="uniform"), 10, RareCategories(), schema, {})

        assert prepared.large == ("many",)


class TestPartsOfDelta:
    def test_the_learner_takes_its_part_of_what_finding_leaves(self):
        settings = st.Preprocessing(discretizer="uniform", delta_share=Fraction(3, 5))
        found = {"job": PhysicalType("text", "VARCHAR")}

        prepared = prepare(settings, 10, None, None, found, learner_delta=Fraction(1, 2))

        budget = prepared.budget(Budget(epsilon=1.0, delta=1e-6))
        assert float(budget.failure_delta) == pytest.approx(8e-7)
        # Of that, the search has its own part.
        assert float(prepared._delta_for(Ledger(budget), 1)) == pytest.approx(6e-7)


class TestChoices:
    def test_stated_bins_of_a_column_come_first(self):
        schema = SCHEMA.with_column("pay", st.Numeric(0.0, 500.0, decimals=2, bins=4))

        release = fit(people(), schema, discretizer="quantile", bins=30, within="even")

        assert release.codec.bins["pay"].size <= 4
        assert release.codec.bins["gain"].size > 4

    def test_auto_follows_the_rule_of_the_noisy_count(self):
        release = fit(people(), SCHEMA, discretizer="uniform", within="even")

        # 2 * cbrt(5000) = 34.2, over 1 + exp(-5).
        assert release.codec.bins["pay"].size in (34, 35)

    def test_few_records_far_out_keep_the_spread(self):
        # 300 of 20,000 records hold nearly all the variance, in one bin of PrivTree: it was 1.4 to 1.6 times as wide.
        rng = np.random.default_rng(2)
        pay = rng.lognormal(4, 0.5, 20_000)
        pay[:300] = np.exp(rng.uniform(np.log(2_000), np.log(80_000), 300))
        frame = pd.DataFrame({"pay": pay.round(2), "job": rng.integers(0, 4, 20_000)})
        bounds = {"pay": st.Numeric(0, 1_000_000, decimals=2), "job": st.Numeric(0, 3, integer=True)}

        drawn = [
            st.Independent(epsilon=5, delta=1e-5, seed=s).fit(frame, st.Schema(bounds)).sample(seed=1)
            for s in range(5)
        ]

        # Noise of a single bin far out may widen one release by half.
        factors = [float(rows["pay"].std() / frame["pay"].std()) for rows in drawn]
        assert float(np.median(factors)) == pytest.approx(1, abs=0.15)
        assert all(0.8 < factor < 1.5 for factor in factors)

    def test_stated_bins_of_a_column_are_not_cut_further(self):
        pay = st.Numeric(0, 1_000_000, decimals=2, bins=4, atoms=[])

        release = fit(people(), SCHEMA.with_column("pay", pay), within="even")

        assert release.codec.bins["pay"].size <= 4

    def test_a_discretizer_of_ones_own_is_used(self):
        release = fit(people(), SCHEMA, discretizer=Thirds(), bins=30, within="even")

        assert {b.size for b in release.codec.bins.values()} == {3}

    def test_text_without_frequent_values_is_made_anew(self):
        frame = people().assign(name=[f"person {i}" for i in range(N)])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DomainWarning)
            made = fit(frame, None).sample(100, seed=0)

        assert made["name"].is_unique
        assert made["name"].tolist() != frame["name"][:100].tolist()

    def test_wrong_options_are_refused_before_any_data_is_read(self):
        for wrong in [
            {"discretizer": "best"},
            {"within": "beta"},
            {"share": 0},
            {"share": 1.5},
            {"delta_share": "x"},
        ]:
            with pytest.raises(ArgumentError):
                st.Preprocessing(**wrong)

    def test_categories_cannot_be_found_without_a_delta(self):
        with pytest.raises(BudgetError, match="schema"):
            fit(people(), None, budget=st.Budget.pure(5.0))

    def test_shares_are_exact(self):
        assert st.Preprocessing(share=Fraction(1, 3)).share == Fraction(1, 3)
