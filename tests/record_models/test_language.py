"""LanguageModel: that what it writes parses, that numpy reads as torch does, and what can be given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ConditionWarning, ReleaseFileError, SchemaError, TrainingError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.record_models import language
from syntabula.record_models.causal_writing import Pages
from syntabula.record_models.conditions_first import rarest_first
from syntabula.record_models.language import LanguageModel
from syntabula.record_models.loop import Training

torch = pytest.importorskip("torch")

DOMAIN = Domain(("a", "b", "c"), (4, 30, 2), frozenset({"b"}))
SMALL = LanguageModel(units=16, layers=1, heads=2)


def records(n: int = 3_000) -> EncodedTable:
    """Rows in which b is near 7 a, and c is whether a and b are both odd; no a is 3."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    b = np.clip(7 * a + rng.integers(0, 7, n), 0, 29)
    c = (a % 2) * (b % 2)
    return EncodedTable(DOMAIN, (a.astype(np.uint8), b.astype(np.uint8), c.astype(np.uint8)))


def fitted(table: EncodedTable, model: LanguageModel = SMALL, **options: Any) -> LanguageModel:
    training = Training(**({"steps": 250, "batch": 128, "learning_rate": 1e-2} | options))
    one_way = {
        c: np.bincount(table.column(c), minlength=table.domain.size(c)).astype(float) for c in table.domain
    }
    return model.trained(table.domain, one_way, table, training, lambda step, done: None, seed=0)


def rows_of(codes: list[tuple[int, ...]], domain: Domain = DOMAIN) -> EncodedTable:
    return EncodedTable(domain, tuple(np.array(c, dtype=np.uint8) for c in zip(*codes, strict=True)))


def read(model: LanguageModel, table: EncodedTable, order: tuple[int, ...]) -> np.ndarray:
    """Return the logarithm of the chance that records are written in an order of columns, by numpy."""
    pages = model._pages(slice(0, table.n_rows), order)
    found = np.zeros(table.n_rows)
    for column in order:
        spelling, lookup = model._spellings[column], model._lookups[model.domain.columns[column]]
        places = lookup.places[table.codes[column]]
        for record in range(table.n_rows):
            # One record at a time, so that the chance of each of its tokens is asked for by itself.
            one = np.array([record])
            for step in range(spelling.lengths[places[record]]):
                node = spelling.nodes[places[record], step][None]
                letter = spelling.written[places[record], step][None]
                found[record] += math.log(pages._chances(one, column, node)[0, letter[0]])
                pages._tell(one, column, node, letter)
    return found


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return fitted(records())


class TestWriting:
    @pytest.mark.thorough
    def test_numpy_gives_records_the_chance_that_torch_was_trained_on(self, model: LanguageModel) -> None:
        table = EncodedTable(DOMAIN, tuple(c[:5] for c in records().codes))
        places = [x.places[c] for x, c in zip(model._lookups.values(), table.codes, strict=True)]
        weights = {name: torch.as_tensor(array) for name, array in model._weights.items()}
        network = replace(model)._network(model._spellings, torch.device("cpu"), torch.Generator())
        network.parameters = weights
        drawn = torch.Generator().manual_seed(1)
        orders = torch.rand((5, 3), generator=torch.Generator().manual_seed(1)).argsort(1).tolist()

        losses = network.losses(torch.as_tensor(np.stack(places, 1)), drawn)

        for record, order in enumerate(orders):
            one = EncodedTable(DOMAIN, tuple(c[record : record + 1] for c in table.codes))
            assert -float(losses[record]) == pytest.approx(read(model, one, tuple(order))[0], abs=1e-4)

    def test_in_any_order_the_chances_of_all_records_add_up_to_one(self, model: LanguageModel) -> None:
        every = rows_of(list(product(range(3), range(21), range(2))))

        for order in permutations(range(3)):
            assert np.exp(read(model, every, order)).sum() == pytest.approx(1.0, abs=1e-4)

    def test_what_is_copied_is_read_as_if_it_had_been_written(self, model: LanguageModel) -> None:
        table = records(40)
        written, copied = (model._pages(slice(0, 40), (0, 1, 2)) for _ in range(2))
        copied.copy(1, model._lookups["b"].places[table.column("b")])
        spelling, places = model._spellings[1], model._lookups["b"].places[table.column("b")]
        for record in range(40):
            for step in range(spelling.lengths[places[record]]):
                at = (np.array([record]), 1, spelling.nodes[places[record], step][None])
                written._read(*at)
                written._tell(*at, spelling.written[places[record], step][None])

        each = np.arange(40)
        nodes = np.zeros(40, dtype=np.intp)
        np.testing.assert_allclose(
            copied._chances(each, 0, nodes), written._chances(each, 0, nodes), atol=1e-5
        )

    def test_an_untrained_network_writes_the_marginals(self) -> None:
        made = fitted(records(), steps=1, learning_rate=1e-9).sample(20_000, np.random.default_rng(0))

        for column in DOMAIN:
            size = DOMAIN.size(column)
            shares = [np.bincount(t.column(column), minlength=size) / t.n_rows for t in (made, records())]
            assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.06


class TestSamples:
    def test_rows_follow_the_records(self, model: LanguageModel) -> None:
        made, real = model.sample(20_000, np.random.default_rng(0)), records(20_000)

        def shares(table: EncodedTable) -> np.ndarray:
            keys = (table.column("a").astype(int) * 30 + table.column("b")) * 2 + table.column("c")
            return np.bincount(keys, minlength=240) / table.n_rows

        # All three columns at once; two samples of this size differ by .016.
        assert np.abs(shares(made) - shares(real)).sum() / 2 < 0.12
        assert not (made.column("a") == 3).any()

    def test_the_number_of_rows_is_the_one_asked_for(self, model: LanguageModel) -> None:
        rng = np.random.default_rng(0)

        assert [model.sample(n, rng).n_rows for n in (0, 1, 5_000)] == [0, 1, 5_000]

    def test_rows_that_are_drawn_in_small_parts_follow_the_records_too(
        self, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(language, "_KEPT_AT_ONCE", 2**12)

        made = model.sample(1_000, np.random.default_rng(0))

        assert len(model._parts(1_000)) > 10
        assert np.mean(made.column("b").astype(int) // 7 == made.column("a")) > 0.8

    def test_a_generator_repeats_a_draw(self, model: LanguageModel) -> None:
        one, two = (model.sample(300, np.random.default_rng(3)) for _ in range(2))

        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))

    def test_one_column_is_enough(self) -> None:
        only = records(600).project(["b"])

        made = fitted(only, steps=20).sample(2_000, np.random.default_rng(0))

        wanted = np.bincount(only.column("b"), minlength=30) / 600
        assert np.abs(np.bincount(made.column("b"), minlength=30) / 2_000 - wanted).sum() / 2 < 0.15

    def test_a_table_of_constants_has_no_tokens(self) -> None:
        same = EncodedTable(DOMAIN, tuple(np.full(10, code, np.uint8) for code in (1, 29, 0)))

        constant = fitted(same, steps=2)
        made = constant.sample(4, np.random.default_rng(0))
        found = constant.restricted({"a": np.array([0.0, 0.5, 0.0, 0.0])})

        assert [c.tolist() for c in made.codes] == [[1] * 4, [29] * 4, [0] * 4]
        assert found.probability == 0.5
        assert found.draw(3, np.random.default_rng(0)).n_rows == 3

    def test_no_rows_leave_a_network_that_writes(self) -> None:
        none = EncodedTable(DOMAIN, tuple(c[:0] for c in records().codes))

        assert fitted(none).sample(5, np.random.default_rng(0)).n_rows == 5

    def test_texts_say_how_codes_are_written(self) -> None:
        texts = {
            "a": ['"x"', '"y"', '"z"', "null"],
            "b": [f"{b * b:03d}" for b in range(30)],
            "c": ["0", "1"],
        }

        told = fitted(records(600), SMALL.with_texts(lambda: texts), steps=2)

        assert [s.places for s in told._spellings] == [1, 3, 1]
        assert told.sample(50, np.random.default_rng(0)).n_rows == 50


class TestGiven:
    @pytest.mark.parametrize("columns", [("a",), ("c", "b"), ("a", "b", "c")])
    def test_any_columns_stay_and_the_others_follow(
        self, model: LanguageModel, columns: tuple[str, ...]
    ) -> None:
        given = records(2_000).project(columns)

        made = model.sample(2_000, np.random.default_rng(0), given)

        assert all((made.column(c) == given.column(c)).all() for c in columns)
        a, b = made.column("a").astype(int), made.column("b").astype(int)
        assert np.mean(b // 7 == a) > 0.9

    def test_a_code_that_no_record_had_stays_and_tells_nothing(self, model: LanguageModel) -> None:
        given = EncodedTable(Domain(("a",), (4,)), (np.full(5_000, 3, np.uint8),))

        with pytest.warns(ConditionWarning, match=r"no record had some .* of 'a'"):
            made = model.sample(5_000, np.random.default_rng(0), given)

        assert (made.column("a") == 3).all()
        assert np.abs(np.bincount(made.column("b") // 7, minlength=5)[:3] / 5_000 - 1 / 3).max() < 0.1

    def test_another_number_of_codes_is_refused(self, model: LanguageModel) -> None:
        given = EncodedTable(Domain(("a",), (5,)), (np.zeros(2, np.uint8),))

        with pytest.raises(SchemaError, match="the model's number of codes"):
            model.sample(2, np.random.default_rng(0), given)


class TestRestricted:
    @pytest.mark.parametrize(
        "weights",
        [
            {"b": (np.arange(30) % 7 == 3) * np.linspace(0.2, 1.0, 30)},
            {"a": np.array([1.0, 1.0, 0.0, 0.0]), "c": np.array([0.2, 1.0])},
            {"b": (np.arange(30) > 8) * 1.0, "c": np.array([0.0, 1.0])},
        ],
    )
    def test_rows_have_the_chances_that_the_network_gives_them_under_the_conditions(
        self, model: LanguageModel, weights: Mapping[str, np.ndarray]
    ) -> None:
        columns = rarest_first(model._lookups, {c: w[model._lookups[c].codes] for c, w in weights.items()})
        order = tuple(DOMAIN.index(c) for c in columns)
        codes = list(product(*(model._lookups[c].codes.tolist() for c in columns)))
        padded = [tuple(dict(zip(columns, code, strict=True)).get(c, 0) for c in DOMAIN) for code in codes]
        chances = np.exp(read(model, rows_of(padded), order))
        chances *= [
            math.prod(float(weights[c][x]) for c, x in zip(columns, code, strict=True)) for code in codes
        ]

        found = model.restricted(weights)
        rows = found.draw(6_000, np.random.default_rng(0))

        assert found.probability == pytest.approx(chances.sum(), rel=0.05)
        drawn = list(zip(*(rows.column(c).tolist() for c in columns), strict=True))
        shares = np.array([drawn.count(code) for code in codes]) / 6_000
        assert np.abs(shares - chances / chances.sum()).sum() / 2 < 0.04
        assert rows.n_rows == 6_000

    def test_what_cannot_be_has_no_chance(self, model: LanguageModel) -> None:
        assert model.restricted({"a": np.array([0.0, 0.0, 0.0, 1.0])}).probability == 0


class TestTraining:
    def test_a_loss_that_is_no_number_is_said(self) -> None:
        with pytest.raises(TrainingError, match="lower learning_rate"):
            fitted(records(200), learning_rate=1e30, steps=100, held_out=0.0)

    def test_a_record_has_the_same_loss_beside_any_others(self, model: LanguageModel) -> None:
        network = model._network(model._spellings, torch.device("cpu"), torch.Generator().manual_seed(0))
        places = [x.places[c[:6]] for x, c in zip(model._lookups.values(), records().codes, strict=True)]
        table = torch.as_tensor(np.stack(places, 1))

        both = network.losses(table, torch.Generator().manual_seed(2))
        changed = torch.cat([table[:1], table[:1].repeat(5, 1)])
        alone = network.losses(changed, torch.Generator().manual_seed(2))

        assert float(alone[0]) == pytest.approx(float(both[0]), abs=1e-5)

    def test_units_that_heads_do_not_divide_are_refused(self) -> None:
        with pytest.raises(
            ArgumentError, match="units must be a multiple of heads; got 10 units and 4 heads"
        ):
            LanguageModel(units=10)


class TestStored:
    def test_a_model_is_rebuilt_from_its_state(self, model: LanguageModel) -> None:
        facts, arrays = model.state()

        again = LanguageModel.from_state(facts, arrays)
        one, two = (m.sample(300, np.random.default_rng(3)) for m in (model, again))

        assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
        assert LanguageModel.array_bytes(facts) == {name: array.nbytes for name, array in arrays.items()}

    @pytest.mark.parametrize("name", ["letters", "one_way", "weights/said", "weights/logits"])
    def test_parts_that_do_not_fit_are_refused(self, model: LanguageModel, name: str) -> None:
        facts, arrays = model.state()

        for wrong in (arrays[name][:-1], arrays[name].astype(np.float16), np.zeros_like(arrays[name])):
            if name.startswith("weights") and wrong.shape == arrays[name].shape and wrong.dtype == np.float32:
                continue
            with pytest.raises(ReleaseFileError):
                LanguageModel.from_state(facts, {**arrays, name: wrong})

    def test_letters_beyond_all_are_refused(self, model: LanguageModel) -> None:
        facts, arrays = model.state()

        with pytest.raises(ReleaseFileError):
            LanguageModel.from_state(facts, {**arrays, "letters": arrays["letters"] + np.uint16(60_000)})

    @pytest.mark.parametrize(
        "changed", [{"used": [3, 21]}, {"places": [1, 10**6, 1]}, {"letters": [0, 1, 1]}, {"heads": 3}]
    )
    def test_facts_that_no_model_has_are_refused(
        self, model: LanguageModel, changed: dict[str, object]
    ) -> None:
        facts, arrays = model.state()

        with pytest.raises((ReleaseFileError, ArgumentError)):
            LanguageModel.from_state({**facts, **changed}, arrays)


def test_pages_without_columns_hold_nothing(model: LanguageModel) -> None:
    pages = Pages(model._spellings, model._weights, heads=2, n=3, columns=[])

    assert pages._keys.size == 0
