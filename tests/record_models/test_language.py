"""LanguageModel, beside `contracts/test_record_models.py`: what it writes parses, and numpy reads as torch does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from record_cases import CASES, DOMAIN, cell_shares, fitted, learned, records, share_near

from syntabula.errors import ArgumentError, ReleaseFileError, TrainingError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models import language
from syntabula.record_models.causal_writing import Pages
from syntabula.record_models.conditions_first import rarest_first
from syntabula.record_models.language import LanguageModel

torch = pytest.importorskip("torch")

SMALL: LanguageModel = CASES["language"].model


def rows_of(codes: list[tuple[int, ...]], domain: Domain = DOMAIN) -> EncodedTable:
    return EncodedTable(domain, tuple(np.array(c, dtype=np.uint8) for c in zip(*codes, strict=True)))


def read(model: LanguageModel, table: EncodedTable, order: tuple[int, ...]) -> np.ndarray:
    """Return the logarithm of the chance that records are written in an order of columns, by numpy."""
    pages = model._pages(slice(0, table.n_rows), order)
    found = np.zeros(table.n_rows)
    for column in order:
        spelling, lookup = model._spellings[column], model._lookups[column]
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
    found: LanguageModel = learned("language")
    return found


class TestWriting:
    @pytest.mark.thorough
    def test_numpy_gives_records_the_chance_that_torch_was_trained_on(self, model: LanguageModel) -> None:
        table = EncodedTable(DOMAIN, tuple(c[:5] for c in records().codes))
        places = [x.places[c] for x, c in zip(model._lookups, table.codes, strict=True)]
        weights = {name: torch.as_tensor(array) for name, array in model._weights.items()}
        network = replace(model)._network(model._spellings, torch.device("cpu"), torch.Generator())
        network.parameters = weights
        drawn = torch.Generator().manual_seed(1)
        orders = torch.rand((5, 3), generator=torch.Generator().manual_seed(1)).argsort(1).tolist()

        losses = network.losses(torch.as_tensor(np.stack(places, 1)), drawn)

        for record, order in enumerate(orders):
            one = EncodedTable(DOMAIN, tuple(c[record : record + 1] for c in table.codes))
            assert -float(losses[record]) == pytest.approx(read(model, one, tuple(order))[0], abs=1e-4)

    @pytest.mark.thorough
    def test_in_any_order_the_chances_of_all_records_add_up_to_one(self, model: LanguageModel) -> None:
        every = rows_of(list(product(range(3), range(21), range(2))))

        for order in permutations(range(3)):
            assert np.exp(read(model, every, order)).sum() == pytest.approx(1.0, abs=1e-4)

    @pytest.mark.thorough
    def test_what_is_copied_is_read_as_if_it_had_been_written(self, model: LanguageModel) -> None:
        table = records(40)
        written, copied = (model._pages(slice(0, 40), (0, 1, 2)) for _ in range(2))
        copied.copy(1, model._lookup("b").places[table.column("b")])
        spelling, places = model._spellings[1], model._lookup("b").places[table.column("b")]
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
        made = fitted("language", records(), steps=1, learning_rate=1e-7).sample(
            20_000, np.random.default_rng(0)
        )

        for column in DOMAIN:
            size = DOMAIN.size(column)
            shares = [np.bincount(t.column(column), minlength=size) / t.n_rows for t in (made, records())]
            assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.06


class TestSamples:
    @pytest.mark.thorough
    def test_rows_follow_the_records(self, model: LanguageModel) -> None:
        made, real = model.sample(20_000, np.random.default_rng(0)), records(20_000)

        # All three columns at once; two samples of this size differ by .016.
        assert np.abs(cell_shares(made) - cell_shares(real)).sum() / 2 < 0.12
        assert not (made.column("a") == 3).any()

    def test_rows_that_are_drawn_in_small_parts_follow_the_records_too(
        self, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(language, "_KEPT_AT_ONCE", 2**12)

        made = model.sample(1_000, np.random.default_rng(0))

        assert len(model._parts(1_000)) > 10
        assert share_near(made) > 0.8

    def test_a_table_of_constants_has_no_tokens(self) -> None:
        same = EncodedTable(DOMAIN, tuple(np.full(10, code, np.uint8) for code in (1, 29, 0)))

        constant = fitted("language", same, steps=2)
        made = constant.sample(4, np.random.default_rng(0))
        found = constant.restricted({"a": np.array([0.0, 0.5, 0.0, 0.0])})

        assert [c.tolist() for c in made.codes] == [[1] * 4, [29] * 4, [0] * 4]
        assert found.probability == 0.5
        assert found.draw(3, np.random.default_rng(0)).n_rows == 3

    def test_no_rows_leave_a_network_that_writes(self) -> None:
        none = EncodedTable(DOMAIN, tuple(c[:0] for c in records().codes))

        assert fitted("language", none).sample(5, np.random.default_rng(0)).n_rows == 5

    def test_texts_say_how_codes_are_written(self) -> None:
        texts = {
            "a": ['"x"', '"y"', '"z"', "null"],
            "b": [f"{b * b:03d}" for b in range(30)],
            "c": ["0", "1"],
        }

        told = fitted("language", records(600), SMALL.with_texts(lambda: texts), steps=2)

        assert [s.places for s in told._spellings] == [1, 3, 1]
        assert told.sample(50, np.random.default_rng(0)).n_rows == 50


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
        columns = rarest_first(
            {c: model._lookup(c) for c in weights}, {c: w[model._lookup(c).codes] for c, w in weights.items()}
        )
        order = tuple(DOMAIN.index(c) for c in columns)
        codes = list(product(*(model._lookup(c).codes.tolist() for c in columns)))
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


class TestTraining:
    def test_a_rate_that_breaks_the_training_is_said(self) -> None:
        # Of random columns nothing can be learned; the loss of 33.5 becomes 43 to 49, by five seeds of the codes.
        rng = np.random.default_rng(0)
        domain = Domain(tuple("abcdefghij"), (30,) * 10)
        table = EncodedTable(domain, tuple(rng.integers(0, 30, 300).astype(np.uint8) for _ in domain))

        with pytest.raises(TrainingError, match=r"diverged: .* lower learning_rate, which is 1"):
            fitted("language", table, learning_rate=1.0, steps=25, held_out=0.0)

    def test_a_record_has_the_same_loss_beside_any_others(self, model: LanguageModel) -> None:
        network = model._network(model._spellings, torch.device("cpu"), torch.Generator().manual_seed(0))
        places = [x.places[c[:6]] for x, c in zip(model._lookups, records().codes, strict=True)]
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
    def test_parts_that_do_not_fit_are_refused(self, model: LanguageModel) -> None:
        for name in ["letters", "one_way", "weights/said", "weights/logits"]:
            facts, arrays = model.state()

            for wrong in (arrays[name][:-1], arrays[name].astype(np.float16), np.zeros_like(arrays[name])):
                if (
                    name.startswith("weights")
                    and wrong.shape == arrays[name].shape
                    and wrong.dtype == np.float32
                ):
                    continue
                with pytest.raises(ReleaseFileError):
                    LanguageModel.from_state(facts, {**arrays, name: wrong})

    def test_letters_beyond_all_are_refused(self, model: LanguageModel) -> None:
        facts, arrays = model.state()

        with pytest.raises(ReleaseFileError):
            LanguageModel.from_state(facts, {**arrays, "letters": arrays["letters"] + np.uint16(60_000)})


def test_pages_without_columns_hold_nothing(model: LanguageModel) -> None:
    pages = Pages(model._spellings, model._weights, heads=2, n=3, columns=[])

    assert pages._keys.size == 0
