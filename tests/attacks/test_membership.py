"""Attacks find the target where it leaks, find nothing where it cannot, and prove no more than is true."""

from __future__ import annotations

import errno
import math
import re
import sys
import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import attacks
from syntabula.attacks import shadows
from syntabula.attacks.baselines import Records
from syntabula.attacks.result import _learned, area_under_curve
from syntabula.errors import ArgumentError, PrivateDomainError, RuleWarning, SchemaError
from syntabula.metrics.comparison import View
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.read import read

SCHEMA = st.Schema(
    {
        "x": st.Numeric(-100.0, 100.0),
        "y": st.Numeric(-100.0, 100.0),
        "c": st.Categorical(("a", "b", "z"), nullable=True),
    }
)
ALL = ("groundhog", "querybased", "range")


def table(n: int = 40) -> pd.DataFrame:
    """Draw a table whose last row lies outside the range of all others and has a category of its own."""
    rng = np.random.default_rng(3)
    category = rng.choice(["a", "b"], n).astype(object)
    category[0], category[-1] = None, "z"
    x = rng.normal(size=n)
    x[-1] = 50.0
    return pd.DataFrame({"x": x, "y": rng.normal(size=n), "c": category})


@dataclass(frozen=True)
class Constant:
    """Returns the same other table, whatever it is given: leaks nothing."""

    def fit(self, source: object, schema: st.Schema | None = None) -> Records:
        return Records(read(table(25).iloc[:-1]))


@dataclass(frozen=True)
class RandomisedResponse:
    """Returns a table that answers "is the outlier in?" truthfully with the odds of a pure epsilon."""

    epsilon: float
    seed: int = 0

    @property
    def budget(self) -> st.Budget:
        return st.Budget.pure(self.epsilon)

    def fit(self, source: RawTable, schema: st.Schema | None = None) -> Records:
        truth = bool((source.columns["x"].values > 10).any())
        odds = math.exp(self.epsilon) / (1 + math.exp(self.epsilon))
        said = truth if np.random.default_rng(self.seed).random() < odds else not truth
        return Records(read(table(25) if said else table(25).iloc[:-1]))


@dataclass(frozen=True)
class Counting:
    """Counts its fits in a file, and stops at one of them."""

    log: str
    stop_at: int | None = None

    def fit(self, source: RawTable, schema: st.Schema | None = None) -> Records:
        with open(self.log, "a", encoding="utf-8") as stream:
            stream.write("fit\n")
        if self.stop_at is not None and fits(self.log) == self.stop_at:
            raise KeyboardInterrupt
        return Records(source)

    def __repr__(self) -> str:
        return "Counting()"


def fits(log: str) -> int:
    with open(log, encoding="utf-8") as stream:
        return len(stream.readlines())


class TestALeak:
    @pytest.mark.thorough
    def test_every_attack_finds_the_target_in_a_copy_of_the_table(self):
        found = st.attack(table(), attacks.Self(), SCHEMA, attacks=ALL, n_shadows=80)

        for result in found.values():
            assert result.auc == 1.0
            assert result.success == 1.0
            assert result.tpr_at_fpr[0.001] == 1.0
            assert result.epsilon_lower > 1.5

    @pytest.mark.thorough
    @pytest.mark.parametrize("part", ["histogram", "correlation"])
    def test_the_further_features_of_groundhog_find_it_too(self, part):
        hog = attacks.GroundHog(parts=(part,))

        found = st.attack(table(), attacks.Self(), SCHEMA, attacks=[hog], n_shadows=80)

        assert found["groundhog"].auc == 1.0

    @pytest.mark.thorough
    def test_reading_bounds_off_the_data_gives_an_outlier_away_and_public_bounds_do_not(self):
        # Public bounds: AUC of 60 + 60 judged shadow models of pure epsilon 0.1; it exceeds its ceiling,
        # 0.525, by 0.345 with probability below exp(-2 * 60 * 0.345^2) < 1e-6 (Hoeffding for U-statistics).
        leaky = st.Independent(epsilon=0.1, allow_observed=True)
        private = st.Independent(epsilon=0.1)

        read_off = st.attack(table(), leaky, None, attacks=["range"], n_shadows=40)
        declared = st.attack(table(), private, SCHEMA, attacks=["range"], n_shadows=240)

        assert read_off["range"].success > 0.9
        assert declared["range"].auc < 0.87

    def test_the_outlier_is_the_target_if_none_is_named(self):
        frame = table()
        shuffled = frame.iloc[[39, *range(39)]].reset_index(drop=True)

        by_default = st.attack(shuffled, attacks.Self(), SCHEMA, attacks=["range"], n_shadows=8)
        by_row = st.attack(shuffled, attacks.Self(), SCHEMA, attacks=["range"], n_shadows=8, target=0)

        assert np.array_equal(by_default["range"].with_target, by_row["range"].with_target)

    def test_random_subsets_of_the_others_do_not_hide_the_target(self):
        found = st.attack(table(), attacks.Self(), SCHEMA, attacks=["range"], n_shadows=40, n_records=10)

        assert found["range"].auc == 1.0


class TestNoLeak:
    @pytest.mark.thorough
    def test_a_fit_whose_domains_noise_hides_is_an_answer_and_no_failure(self):
        hidden = st.Independent(epsilon=1e-4)
        with pytest.raises(PrivateDomainError):
            hidden.fit(table())

        found = st.attack(table(), hidden, n_shadows=8)

        assert all(result.auc == 0.5 for result in found.values())

    @pytest.mark.thorough
    def test_attacks_are_at_chance_against_a_table_that_does_not_change(self):
        # The expected AUC is 1/2 whatever the attack learned. It misses that by more than 0.27 with probability
        # below 2 exp(-2 * 100 * 0.27^2) < 1e-6 (Hoeffding for U-statistics), and the bound on epsilon exceeds
        # 0 with probability below 1e-8 per attack.
        found = st.attack(
            table(),
            Constant(),
            SCHEMA,
            attacks=("groundhog", "querybased"),
            n_shadows=400,
            confidence=1 - 1e-8,
        )

        for result in found.values():
            assert abs(result.auc - 0.5) < 0.27
            assert result.epsilon_lower == 0.0
            assert not result.refutes_claim

    @pytest.mark.thorough
    def test_the_bound_stays_below_the_epsilon_of_a_known_mechanism_and_comes_near_it(self):
        # The bound exceeds the truth with probability below 1e-8. With 1000 judged runs and honest answers in
        # 95 % of them, it falls below 1.5 with probability below 1e-8 (binomial tails at 2 * 66 errors).
        mechanism = RandomisedResponse(epsilon=3.0)

        found = st.attack(table(), mechanism, SCHEMA, attacks=["range"], n_shadows=2000, confidence=1 - 1e-8)[
            "range"
        ]

        assert 1.5 < found.epsilon_lower <= 3.0
        assert found.epsilon == 3.0
        assert found.ceiling == pytest.approx(1 / (1 + math.exp(-3)))
        assert not found.refutes_claim

    def test_the_claim_of_a_method_is_its_epsilon_and_delta_however_they_are_given(self):
        for given in ({"epsilon": 2.0, "delta": 1e-4}, {"budget": st.Budget(2.0, 1e-4)}):
            found = st.attack(table(), st.Independent(**given), SCHEMA, attacks=["range"], n_shadows=8)[
                "range"
            ]

            assert (found.epsilon, found.delta) == (2.0, 1e-4)
            assert found.ceiling < 1

    @pytest.mark.thorough
    def test_a_false_claim_is_refuted(self):
        @dataclass(frozen=True)
        class Liar(RandomisedResponse):
            @property
            def budget(self) -> st.Budget:
                return st.Budget.pure(0.1)

        found = st.attack(table(), Liar(epsilon=20.0), SCHEMA, attacks=["range"], n_shadows=80)["range"]

        assert found.refutes_claim
        assert "REFUTED" in str(found)
        assert re.match(r"AUC [\d.]+ \+- (0|<?0\.\d+) ", str(found))


class TestResuming:
    @pytest.mark.thorough
    def test_an_interrupted_run_goes_on_where_it_stopped_and_finds_the_same(self, tmp_path):
        log = str(tmp_path / "log")
        whole = st.attack(table(), Counting(log), SCHEMA, n_shadows=20)
        open(log, "w").close()

        with pytest.raises(KeyboardInterrupt):
            st.attack(table(), Counting(log, 13), SCHEMA, n_shadows=20, folder=tmp_path / "shadows")
        resumed = st.attack(table(), Counting(log), SCHEMA, n_shadows=20, folder=tmp_path / "shadows")

        assert fits(log) == 13 + 8
        for key, result in resumed.items():
            assert np.array_equal(result.with_target, whole[key].with_target)
            assert np.array_equal(result.without_target, whole[key].without_target)

    def test_progress_says_how_long_the_rest_takes(self, monkeypatch):
        now = iter(range(0, 10_000, 100))
        monkeypatch.setattr(shadows.time, "perf_counter", lambda: float(next(now)))
        told = []

        def job(number):
            return np.zeros(1)

        shadows.run_shadows(job, 3, identity=str, progress=lambda step, done: told.append(step))

        # The clock is read twice more within each model, and once after it.
        assert told == [
            "shadow models",
            "shadow models, about 600 s left",
            "shadow models, about 300 s left",
            "shadow models",
        ]

    @pytest.mark.thorough
    def test_a_finished_run_fits_nothing_again(self, tmp_path):
        log = str(tmp_path / "log")

        for _ in range(2):
            st.attack(table(), Counting(log), SCHEMA, n_shadows=8, folder=tmp_path / "shadows")

        assert fits(log) == 8

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        "change",
        [{"seed": 1}, {"target": 3}, {"n_records": 20}, {"attacks": ["groundhog"]}, {"n_synthetic": 7}],
    )
    def test_results_of_something_else_are_not_mixed_in(self, tmp_path, change):
        st.attack(table(), attacks.Self(), SCHEMA, n_shadows=8, folder=tmp_path)

        with pytest.raises(ArgumentError, match="another table, method or setting"):
            st.attack(table(), attacks.Self(), SCHEMA, n_shadows=8, folder=tmp_path, **change)

    @pytest.mark.thorough
    def test_another_table_or_method_is_not_mixed_in(self, tmp_path):
        st.attack(table(), attacks.Self(), SCHEMA, n_shadows=8, folder=tmp_path)
        other = table()
        other.loc[5, "y"] += 1e-9

        with pytest.raises(ArgumentError, match="another table"):
            st.attack(other, attacks.Self(), SCHEMA, n_shadows=8, folder=tmp_path)
        with pytest.raises(ArgumentError, match="another table"):
            st.attack(table(), attacks.Half(), SCHEMA, n_shadows=8, folder=tmp_path)

    @pytest.mark.thorough
    def test_a_method_that_hides_its_settings_is_attacked_but_not_kept(self, tmp_path):
        class Hiding:
            def fit(self, source: object, schema: st.Schema | None = None) -> Records:
                return Records(read(table(25)))

        st.attack(table(), Hiding(), SCHEMA, n_shadows=8)
        with pytest.raises(ArgumentError, match="repr"):
            st.attack(table(), Hiding(), SCHEMA, n_shadows=8, folder=tmp_path)

    @pytest.mark.thorough
    def test_where_progress_goes_is_no_setting(self, tmp_path):
        for _ in range(2):
            method = st.Independent(epsilon=1.0, progress=lambda step, part: None)
            st.attack(table(), method, SCHEMA, n_shadows=8, folder=tmp_path)

    def test_a_full_disk_is_said_to_be_full(self, tmp_path, monkeypatch):
        # Python does not notice that the code of a module which it keeps is cut off, and cannot read it the next time.
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        resource = pytest.importorskip("resource", reason="the system has no limits of processes")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        # The header of a result fits, and its numbers do not.
        resource.setrlimit(resource.RLIMIT_FSIZE, (140, before[1]))
        try:
            with pytest.raises(OSError, match="File too large") as failure:
                st.attack(table(), attacks.Self(), SCHEMA, n_shadows=8, folder=tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

        assert failure.value.errno == errno.EFBIG
        assert not [*tmp_path.glob("shadow-*.npy")]

    @pytest.mark.thorough
    def test_a_damaged_result_is_named(self, tmp_path):
        st.attack(table(), attacks.Self(), SCHEMA, n_shadows=8, folder=tmp_path)
        (tmp_path / "shadow-00003.npy").write_bytes(b"damaged")

        with pytest.raises(ArgumentError, match="shadow-00003"):
            st.attack(table(), attacks.Self(), SCHEMA, n_shadows=8, folder=tmp_path)


class TestWorkers:
    @pytest.mark.thorough
    def test_parallel_workers_find_what_one_process_finds(self, tmp_path):
        method = st.Independent(epsilon=1.0)

        alone = st.attack(table(), method, SCHEMA, n_shadows=8)
        together = st.attack(table(), method, SCHEMA, n_shadows=8, workers=2, folder=tmp_path)

        assert len(list(tmp_path.glob("shadow-*.npy"))) == 8
        for key, result in together.items():
            assert np.array_equal(result.with_target, alone[key].with_target)


class TestArguments:
    def test_what_makes_no_sense_is_refused(self):
        cases = [
            ({"n_shadows": 9}, "even"),
            ({"n_shadows": 6}, "at least 8"),
            ({"attacks": []}, "at least one"),
            ({"attacks": ["groundhog", "groundhog"]}, "none of them twice"),
            ({"attacks": ["grounhog"]}, "did you mean 'groundhog'"),
            ({"target": 40}, "number of a row"),
            ({"target": True}, "number of a row"),
            ({"n_records": 40}, "other records"),
            ({"workers": 0}, "workers"),
            ({"attacks": ["range"], "target": 5}, "within the range"),
        ]
        for change, message in cases:
            given = {"n_shadows": 8, "target": 39} | change

            with pytest.raises(ArgumentError, match=message):
                st.attack(table(), attacks.Self(), SCHEMA, **given)

    def test_what_cannot_be_fitted_is_no_synthesizer(self):
        for wrong in [None, "mst", st.MST]:
            for call in (st.attack, st.membership_disclosure):
                with pytest.raises(
                    ArgumentError, match="synthesizer must be an object with a method fit, such as"
                ):
                    call(table(), wrong, SCHEMA)

    def test_a_seeded_noise_that_all_shadow_models_would_share_is_refused(self):
        from syntabula.privacy.noise import SeededNoise

        with pytest.raises(ArgumentError, match="seeded noise"):
            st.attack(table(), st.Independent(noise=SeededNoise(1)), SCHEMA, n_shadows=8)

    def test_a_schema_of_other_columns_is_refused(self):
        with pytest.raises(SchemaError):
            st.attack(table(), attacks.Self(), st.Schema({"x": st.Numeric(0, 1)}), n_shadows=8)

    def test_nothing_is_said_of_the_rows_of_single_shadow_models(self):
        class Telling(Records):
            def sample_columns(self, n: int, *, seed: int) -> dict[str, RawColumn]:
                warnings.warn(RuleWarning(f"{seed} rows were discarded"), stacklevel=1)
                return super().sample_columns(n, seed=seed)

        class Method(Constant):
            def fit(self, source: object, schema: st.Schema | None = None) -> Records:
                return Telling(super().fit(source, schema).table)

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            st.attack(table(), Method(), SCHEMA, attacks="groundhog", n_shadows=8)

        assert not [warning for warning in told if issubclass(warning.category, RuleWarning)]

    @pytest.mark.thorough
    def test_shadow_models_differ_in_their_noise(self):
        hog = attacks.GroundHog()

        found = st.attack(table(), st.Independent(epsilon=1.0), SCHEMA, attacks=[hog], n_shadows=16)

        assert np.unique(found["groundhog"].with_target).size > 1


@dataclass(frozen=True)
class Returning:
    """An attack whose features are `found`, which may be called with the number of rows of the table."""

    found: object
    learns: bool = False
    key: ClassVar[str] = "returning"

    def features(self, synthetic: View, knowledge: object) -> object:
        return self.found(synthetic.n_rows) if callable(self.found) else self.found


class TestAttacksOfPlugIns:
    """What is no feature is refused in a sentence, where it can be before any shadow model is fitted."""

    @pytest.mark.parametrize(
        ("attack", "why"),
        [
            (Returning(lambda n: 1 / 0), r"broke with ZeroDivisionError at line \d+ of <lambda>"),
            (Returning(None), "must return an array of finite numbers"),
            (Returning(0.5), "must return an array of finite numbers"),
            (Returning(np.array(["a"])), "must return an array of finite numbers"),
            (Returning(np.array([np.nan])), "must return an array of finite numbers"),
            (Returning(np.array([]), learns=True), "must return an array of finite numbers"),
            (Returning(np.ones((2, 2)), learns=True), "must return an array of finite numbers"),
            (
                Returning(np.ones(2)),
                "returned 2 numbers, and one that does not learn must return a single one",
            ),
        ],
    )
    def test_before_any_fit(self, attack: Returning, why: str, tmp_path) -> None:
        log = tmp_path / "log"

        with pytest.raises(ArgumentError, match=f"attack 'returning'.*{why}"):
            st.attack(table(), Counting(str(log)), SCHEMA, attacks=[attack], n_shadows=8)

        assert not log.exists()

    def test_features_whose_number_depends_on_the_table(self) -> None:
        attack = Returning(np.ones, learns=True)

        with pytest.raises(ArgumentError, match="returned 25 numbers of one table and 40 of another"):
            st.attack(table(), Constant(), SCHEMA, attacks=[attack], n_shadows=8, n_synthetic=25)

    def test_whole_numbers_are_features_too(self) -> None:
        attack = Returning(np.array([1]))

        found = st.attack(table(), Constant(), SCHEMA, attacks=[attack], n_shadows=8)

        assert found["returning"].auc == 0.5


class TestTraining:
    @pytest.mark.thorough
    def test_what_an_attack_says_of_its_own_shadow_models_is_not_remembered(self):
        rng = np.random.default_rng(0)
        features, with_target = rng.random((400, 5)), rng.random(400) < 0.5
        train = np.arange(300)

        scores = _learned(features, with_target, train, seed=1)

        # Nothing can be learned: trees that saw a table would know it all, and others find it by chance. The area of 300
        # scores has a deviation of 0.034, so that 0.2 is passed less than once in a million.
        area = area_under_curve(scores[train][with_target[train]], scores[train][~with_target[train]])
        assert abs(area - 0.5) < 0.2


class TestResult:
    @pytest.mark.thorough
    def test_it_is_json_even_without_a_finite_claim(self):
        import json

        found = st.attack(table(), st.Independent(epsilon=math.inf), SCHEMA, n_shadows=8)

        facts = json.loads(json.dumps(found["groundhog"].to_json(), allow_nan=False))
        assert facts["epsilon"] is None
        assert facts["auc_ceiling"] is None
        assert "claim" not in str(found["groundhog"])
        assert found["groundhog"].score().direction == "lower"

    @pytest.mark.thorough
    def test_it_says_which_bound_so_many_shadow_models_can_show(self):
        found = st.attack(table(), st.Independent(epsilon=1.0), SCHEMA, n_shadows=8)["groundhog"]
        guessed = replace(found, with_target=np.ones(100), without_target=np.zeros(100), n_shadows=400)

        # Without an error in 100 runs, a rate is below 1 - 0.025^(1/100) with confidence 0.975.
        rate = 1 - 0.025**0.01
        assert guessed.reach == pytest.approx(math.log((1 - found.delta - rate) / rate), abs=1e-9)
        assert f"400 shadow models can show at most {guessed.reach:.2f}" in str(guessed)
        assert found.to_json()["epsilon_reach"] == found.reach < guessed.reach

    def test_every_attack_is_listed_with_a_sentence(self):
        assert set(st.attacks.list_attacks()) == set(ALL)
        assert all(st.attacks.list_attacks().values())
