"""Keys of undeclared text columns come out in the form that most of them have, under a budget."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import DomainWarning
from syntabula.prepare.found_keys import Repeats, repeats
from syntabula.prepare.searched import WholeColumn
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.table.parts.found_parts import found_parts
from syntabula.table.read import read

N = 4_000


def release(source: object, epsilon: float = 1.0) -> tuple[st.Release, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DomainWarning)
        made = st.Independent(epsilon=epsilon, delta=1e-5, seed=0).fit(source)
    return made, [str(w.message) for w in caught if w.category is DomainWarning]


def keys(form: str, seed: int = 0) -> list[str]:
    """Return random keys; # stands for a digit and @ for a letter."""
    rng = np.random.default_rng(seed)
    letters = {"#": "0123456789", "@": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    columns = [rng.choice([*letters.get(place, place)], N) for place in form]
    return ["".join(row) for row in zip(*columns, strict=True)]


def table(**columns: list[object]) -> pd.DataFrame:
    # A column whose domain is always found.
    return pd.DataFrame(columns | {"sort": ["a", "b"] * (N // 2)})


@pytest.mark.thorough
def test_most_keys_show_the_form_of_new_ones() -> None:
    frame = table(customer=keys("####-@@@@@"), invoice=keys("INV-#######"))
    frame.loc[:99, "invoice"] = [f"old {i}" for i in range(100)]
    frame.loc[100:999, "customer"] = None

    made, messages = release(frame)

    assert made.schema["customer"].pattern == r"\d{4}-[A-Z]{5}"
    assert made.schema["invoice"].pattern == r"INV-\d{7}"
    drawn = made.sample(seed=0)
    assert drawn["customer"].dropna().str.fullmatch(r"\d{4}-[A-Z]{5}").all()
    assert drawn["customer"].isna().mean() == pytest.approx(0.225, abs=0.1)
    assert drawn["invoice"].is_unique
    (message,) = messages
    assert "2 columns ('customer', 'invoice'), each: hardly any category" in message
    assert "new keys of the form" in message
    assert "the form of keys" in " ".join(made.privacy.text().split())
    assert made.lost_columns() == []


@pytest.mark.thorough
def test_texts_of_many_forms_become_running_numbers() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice([*"abcdefgh"], int(k))) for k in rng.integers(3, 30, N)]
    prefixed = [f"{'-' * (i % 40)}{i:06d}" for i in range(N)]

    made, messages = release(table(said=words, prefixed=prefixed))

    assert {made.schema[name].pattern for name in ("said", "prefixed")} == {None}
    assert {made.schema[name].distinct for name in ("said", "prefixed")} == {None}
    (message,) = messages
    assert "running numbers" in message


def test_few_forms_come_out_beside_each_other() -> None:
    rng = np.random.default_rng(0)
    tails = np.where(rng.random(N) < 0.7, keys("N###@@"), keys("N#####", seed=1))
    bills = [f"{('INV', 'INV', 'CRN')[i % 3]}-{i:06d}" for i in range(N)]
    random = ["".join(row) for row in rng.choice([*"ABCDEF0123456789XYZ"], (N, 9))]

    made, _ = release(table(tail=tails.tolist(), bill=bills, random=random), epsilon=3.0)

    tail, bill, drawn = made.schema["tail"], made.schema["bill"], made.sample(3_000, seed=0)
    assert (tail.pattern, bill.pattern) == (r"[A-Z]\d{3}[A-Z]{2}|[A-Z]\d{5}", r"INV-\d{6}|CRN-\d{6}")
    assert tail.shares == pytest.approx((0.7, 0.3), abs=0.05)
    assert drawn["tail"].str.fullmatch(r"[A-Z]\d{5}").mean() == pytest.approx(0.3, abs=0.05)
    assert drawn["bill"].str.startswith("INV-").mean() == pytest.approx(2 / 3, abs=0.05)
    assert drawn["tail"].is_unique
    assert drawn["bill"].is_unique
    # Random characters have too many forms.
    assert made.schema["random"].pattern == "[A-Z0-9]{9}"


@pytest.mark.thorough
def test_keys_that_fill_their_form_differ_as_long_as_there_are_others() -> None:
    made, _ = release(table(full=[f"K{i:04d}" for i in range(N)]))

    assert made.schema["full"].pattern == r"K\d{4}"
    assert made.sample(9_000, seed=0)["full"].is_unique
    assert made.sample(20_000, seed=0)["full"].nunique() == 10_000


@pytest.mark.thorough
def test_keys_that_repeat_do_so_about_as_often_in_their_form() -> None:
    rng = np.random.default_rng(0)
    stores = [f"S-{i:03d}" for i in rng.integers(0, 400, N)]
    tickets = [f"C-{i:06d}" for i in rng.choice(10**6, 1_000)[rng.integers(0, 1_000, N)]]
    said = [f"{'x' * (i % 20)} {i % 17} {i}" for i in rng.integers(0, 1_000, N)]

    made, _ = release(table(store=stores, ticket=tickets, said=said), epsilon=2.0)

    assert made.schema["store"].pattern == r"S-\d{3}"
    assert made.schema["ticket"].pattern == r"C-\d{6}"
    assert made.schema["said"].pattern is None
    drawn = made.sample(seed=0)
    # The standard deviation of each number is below 25.
    assert drawn["store"].nunique() == pytest.approx(400, abs=150)
    assert drawn["ticket"].nunique() == pytest.approx(980, abs=150)
    assert drawn["said"].nunique() == pytest.approx(980, abs=150)


def test_a_column_without_a_text_has_no_form() -> None:
    frame = pd.DataFrame({"note": pd.Series([None] * 1_000, dtype="string"), "sort": ["a", "b"] * 500})
    for seed in range(6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DomainWarning)
            made = st.Independent(epsilon=1.0, delta=1e-6, seed=seed).fit(frame)

        assert made.sample(20, seed=0)["note"].size == 20


class TestRepeats:
    def counted(self, values: object, seed: int = 0, dtype: str = "str") -> Repeats:
        ledger = Ledger(Budget(epsilon=1.0, delta=1e-5))
        raw = WholeColumn(read(pd.DataFrame({"key": pd.Series(values, dtype=dtype)})).columns["key"])
        noise = SeededNoise(seed)
        found = repeats(
            raw,
            lambda points, n_missing: ColumnCurator(points, ledger, noise, n_missing=n_missing),
            share=Fraction(1, 4),
            step="find",
        )
        assert 0 < ledger.spent <= ledger.budget.total / 4
        return found

    @pytest.mark.thorough
    def test_the_number_of_different_keys_is_right_on_average(self) -> None:
        values = [f"k{i % 300}" for i in range(3_000)]

        alone = [self.counted(values, seed).n_distinct() for seed in range(50)]
        both = [self.counted(values, seed).n_distinct(3_000.0) for seed in range(50)]

        # One has a standard deviation of 7.5, so means of 50 have one of 1.1.
        assert np.mean(alone) == pytest.approx(300, abs=6)
        assert np.mean(both) == pytest.approx(300, abs=6)
        assert np.std(both) < np.std(alone)

    def test_noise_alone_shows_no_repetitions(self) -> None:
        assert self.counted([f"k{i}" for i in range(3_000)]).n_distinct() is None

    def test_numbers_that_share_a_place_by_hash_are_none(self) -> None:
        # Of 300,000 some 670 share one.
        numbers = 7 * np.arange(300_000)

        assert self.counted(numbers, dtype="int64").n_distinct() is None
        assert self.counted(numbers // 14, dtype="int64").n_distinct() == pytest.approx(150_000, abs=150)

    def test_texts_share_no_place(self) -> None:
        texts = [f"K{i}" for i in range(50_000)] + [f"K{i}" for i in range(100)]

        assert self.counted(texts).n_distinct() == pytest.approx(50_000, abs=60)

    def test_one_key_is_the_least(self) -> None:
        assert Repeats(-5.0, 100.0, 10.0, has_missing=False).n_distinct() == 1


def test_shapes_that_less_than_half_have_together_are_none() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice([*"abcdefgh"], int(k))) for k in rng.integers(3, 30, N * 3 // 5)]
    mixed = [*keys("@@@@-####")[: N // 5], *keys("####/######")[: N // 5], *words]

    assert release(table(key=mixed))[0].schema["key"].pattern is None


def test_categories_are_learned_as_before() -> None:
    often = ["A-1", "B-2", "C-3", "D-4"] * (N // 4)

    made, _ = release(table(code=often))

    assert set(made.schema["code"].categories) >= {"A-1", "B-2", "C-3", "D-4"}


def test_a_few_frequent_keys_are_no_categories() -> None:
    of_few = [f"DE{i % 3:06d}" for i in range(N // 10)]
    orders = of_few + [f"DE{i:06d}" for i in np.random.default_rng(0).integers(100, 500, N - len(of_few))]

    made, _ = release(table(order_no=orders, town=orders))

    assert made.schema["order_no"].pattern == r"DE\d{6}"
    assert made.schema["order_no"].distinct == pytest.approx(400, rel=0.5)
    # Texts without the name of keys may be towns, of which the frequent ones are worth knowing.
    assert set(made.schema["town"].categories) >= set(of_few)


@pytest.mark.thorough
def test_a_table_in_parts_has_the_same_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = [f"C-{i:06d}" for i in np.random.default_rng(0).integers(0, 1_000, N)]
    frame = table(customer=keys("####-@@@@@"), invoice=keys("INV-#######"), again=again)
    for i in range(4):
        frame.iloc[i * N // 4 : (i + 1) * N // 4].to_parquet(tmp_path / f"{i}.parquet")

    held, _ = release(tmp_path)
    monkeypatch.setitem(found_parts.__kwdefaults__, "most", 100)
    many, _ = release(tmp_path)

    # A pandas frame is also asked for days and times, so that other noise is drawn.
    assert {n: c.pattern for n, c in held.schema.columns.items() if n != "sort"} == {
        "customer": r"\d{4}-[A-Z]{5}",
        "invoice": r"INV-\d{7}",
        "again": r"C-\d{6}",
    }
    assert many.schema["customer"].pattern == r"\d{4}-[A-Z]{5}"
    # Places by hash, of which hardly two texts share one, and the same noise.
    assert many.schema["again"].distinct == pytest.approx(held.schema["again"].distinct, abs=2)
