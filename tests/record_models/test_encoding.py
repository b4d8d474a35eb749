"""Encoding: records become offsets and blocks, and come back as they were."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models.encoding import Encoder, Encoding, Widths, fitted_encoding, made_up_encoding

torch = pytest.importorskip("torch")

DOMAIN = Domain(("a", "b", "c", "d"), (4, 200, 20, 90), frozenset({"b", "c", "d"}))


def records(n: int = 3_000) -> EncodedTable:
    rng = np.random.default_rng(0)
    columns = (
        rng.integers(0, 3, n),
        rng.binomial(199, 0.4, n),
        rng.integers(0, 20, n),
        rng.integers(5, 90, n),
    )
    return EncodedTable(DOMAIN, tuple(column.astype(np.uint8) for column in columns))


def one_way(table: EncodedTable) -> dict[str, np.ndarray]:
    return {
        c: np.bincount(table.column(c), minlength=table.domain.size(c)).astype(float) for c in table.domain
    }


TABLE = records()
ENCODING, CHANCES = fitted_encoding(DOMAIN, one_way(TABLE), 5)


def encoded(seed: int) -> tuple[np.ndarray, np.ndarray]:
    encoder = Encoder(ENCODING, CHANCES, "cpu")
    places = torch.as_tensor(ENCODING.places(TABLE))
    offsets, blocks = encoder.encoded(places, torch.Generator().manual_seed(seed))
    return offsets.numpy(), blocks.numpy()


class TestRecords:
    def test_they_come_back_from_their_encoding_whatever_modes_were_drawn(self) -> None:
        for seed in (0, 1):
            offsets, blocks = encoded(seed)
            logits = np.full((TABLE.n_rows, ENCODING.blocks.width), -1e9, np.float32)
            np.put_along_axis(logits, blocks, 0.0, 1)

            back = ENCODING.drawn(np.concatenate([offsets, logits], 1), np.zeros(2), np.random.default_rng(0))

            assert all((x == y).all() for x, y in zip(back.codes, TABLE.codes, strict=True))

    def test_modes_are_drawn_by_their_chances(self) -> None:
        _, blocks = encoded(0)
        shares = np.bincount(TABLE.column("b"), minlength=200) / TABLE.n_rows
        wanted = shares[ENCODING.lookups[1].codes] @ CHANCES[1]

        found = np.bincount(blocks[:, 1] - ENCODING.blocks.starts[1], minlength=wanted.size) / TABLE.n_rows

        # Six standard deviations, at most: codes are as in the table.
        assert (np.abs(found - wanted) <= 6 * np.sqrt(wanted / TABLE.n_rows)).all()

    def test_numbers_of_few_codes_have_no_modes(self) -> None:
        assert ENCODING.with_offsets == [1, 3]
        assert ENCODING.whole == [0, 2]
        assert ENCODING.blocks.sizes[0] == 3
        assert ENCODING.widths == Widths(2, ENCODING.blocks.width, 23)


def test_code_chances_are_those_of_drawn_records() -> None:
    rng, n = np.random.default_rng(0), 40_000
    outputs = rng.normal(0, 0.5, (1, 2 + ENCODING.blocks.width)).astype(np.float32)
    deviations = np.array([0.2, 0.0])

    found = ENCODING.code_chances(outputs, deviations)[0]

    drawn = ENCODING.drawn(np.tile(outputs, (n, 1)), deviations, rng)
    start = 0
    for codes, size in zip(drawn.codes, DOMAIN.sizes, strict=True):
        wanted = found[start : start + size]
        counted = np.bincount(codes, minlength=size) / n
        # Six standard deviations in each of 314 cells: false alarms below 1e-6.
        assert (np.abs(counted - wanted) <= 6 * np.sqrt(wanted / n) + 1e-6).all()
        start += size


def test_arrays_bring_back_the_same_encoding() -> None:
    loaded = Encoding.from_arrays(DOMAIN, one_way(TABLE), ENCODING.n_modes, ENCODING.arrays())
    outputs = np.random.default_rng(0).normal(size=(50, 2 + ENCODING.blocks.width)).astype(np.float32)

    one, two = (e.drawn(outputs, np.full(2, 0.1), np.random.default_rng(1)) for e in (ENCODING, loaded))

    assert all((x == y).all() for x, y in zip(one.codes, two.codes, strict=True))
    with pytest.raises(ValueError, match="width"):
        Encoding.from_arrays(
            DOMAIN, one_way(TABLE), ENCODING.n_modes, ENCODING.arrays() | {"reaches": np.zeros(10)}
        )


def test_a_made_up_table_is_as_wide_as_the_domain_allows() -> None:
    encoding, _ = made_up_encoding(DOMAIN, 5)

    assert encoding.n_modes == [0, 5, 0, 5]
    assert [lookup.size for lookup in encoding.lookups] == [4, 200, 20, 90]
