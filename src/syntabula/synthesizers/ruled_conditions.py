"""Conditions on a release with rules: those on columns that rules compute are satisfied by rejection."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import refusal
from syntabula.bins.uniform import lone_values
from syntabula.models.base import Model
from syntabula.synthesizers.conditions import SatisfyingRows
from syntabula.synthesizers.ruled_rows import Draw, RuledRows, Wanted
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import satisfies
from syntabula.table.coding.conditions import Allowed, allowed
from syntabula.table.raw import RawColumn
from syntabula.table.rules.implied import implied_distance, implied_start
from syntabula.table.rules.row_rules import RowRules

_TRIED = 50_000


def satisfying(
    rules: RowRules, codec: Codec, model: Model, where: object
) -> tuple[Callable[[], int], Draw, Callable[[int], None]]:
    """Prepare to draw rows that satisfy conditions.

    Returns:
        A function that estimates how many original records satisfy them, the draw, and a check of a number of rows,
        which raises ArgumentError or warns as `SatisfyingRows.check`.
    """
    plain, computed, stated = _split(rules, codec, where)
    rows = SatisfyingRows.of(codec, model, plain) if plain else None
    ruled = _ruled(rules, codec, model, rows, computed, stated)

    def check(n: int) -> None:
        if rows is not None:
            rows.check(n)

    return lambda: max(0, round(model.total * probability(rules, codec, model, where)[0])), ruled.draw, check


def probability(rules: RowRules | None, codec: Codec, model: Model, where: object) -> tuple[float, float]:
    """Return the probability that a row satisfies conditions, estimated from drawn rows where rules matter, and its
    standard error."""
    if rules is None:
        found = SatisfyingRows.of(codec, model, where).restricted
        return found.probability, found.error
    plain, computed, stated = _split(rules, codec, where)
    own = SatisfyingRows.of(codec, model, plain) if plain else None
    among, error = (own.restricted.probability, own.restricted.error) if own else (1.0, 0.0)
    if not among:
        return 0.0, 0.0
    within = _kept(_ruled(rules, codec, model, own, computed, stated))
    whole = _kept(_ruled(rules, codec, model, None, {}, {}))
    if not within or not whole:
        # That no row was kept does not show that none ever is: the error is as if one had been.
        return 0.0, min(1.0, among / (_TRIED * whole)) if whole else among
    share = min(1.0, among * within / whole)
    relative = (error / among) ** 2 + sum((1 - kept) / (kept * _TRIED) for kept in (within, whole))
    return share, share * math.sqrt(relative)


def _ruled(
    rules: RowRules,
    codec: Codec,
    model: Model,
    rows: SatisfyingRows | None,
    computed: Mapping[str, Allowed],
    stated: Mapping[str, Allowed],
) -> RuledRows:
    """Return rows within the rules, of those that satisfy conditions on learned columns, if there are such."""
    draw, conditioned = _drawn(codec, model), tuple[str, ...]()
    if rows is not None:
        draw, conditioned = rows.draw, tuple(rows.conditions.weights)
    wanted = _wanted(rules, computed)
    return RuledRows(rules, codec, model, draw, conditioned, stated, wanted, tuple(computed))


def _kept(rows: RuledRows) -> float:
    """Return the share of rows that are kept."""
    rows.try_rows(_TRIED, np.random.default_rng(0))
    return rows.kept / rows.tried


def _split(
    rules: RowRules, codec: Codec, where: object
) -> tuple[dict[str, Any], dict[str, Allowed], dict[str, Allowed]]:
    """Return the conditions on columns that were learned as they are, those on computed columns, and those of the
    former that are stated, and not implied by the latter."""
    if not isinstance(where, Mapping):
        raise refusal(
            "where", "a dictionary from columns to allowed values, such as {'sex': 'Female'}", where
        )
    columns = rules.schema
    plain: dict[str, Any] = {}
    computed: dict[str, Allowed] = {}
    for name, condition in where.items():
        column = columns[name]
        if name in rules.compiled.distances or name not in codec.schema:
            computed[name] = allowed(name, column, condition)
        else:
            plain[name] = condition
    # What these imply for learned columns makes most rows satisfy them that else would be discarded.
    implied = [
        found(rules, *item) for item in computed.items() for found in (implied_start, implied_distance)
    ]
    stated = {
        name: allowed(name, columns[name], condition, frequent=lone_values(codec.bins.get(name)))
        for name, condition in plain.items()
    }
    return dict(filter(None, implied)) | plain, computed, stated


def _drawn(codec: Codec, model: Model) -> Draw:
    def draw(start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        rows = model.sample(stop - start, rng)
        return codec.decode(rows, rng, first_row=start, drawn_apart=model.drawn_apart)

    return draw


def _wanted(rules: RowRules, computed: Mapping[str, Allowed]) -> Wanted | None:
    if not computed:
        return None

    def wanted(rows: Mapping[str, RawColumn]) -> NDArray[np.bool_]:
        found = [satisfies(rules.schema[name], rows[name], condition) for name, condition in computed.items()]
        return np.asarray(np.logical_and.reduce(found))

    return wanted
