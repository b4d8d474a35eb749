"""Joins the densities of bins, once a model knows how many records each bin holds; it costs no budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from syntabula.bins.joined import joined
from syntabula.bins.spread import Parts
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import Model
from syntabula.models.recoded import RecodedModel
from syntabula.table.coding.codec import Codec
from syntabula.table.schema.columns import Ordered


def with_joined_bins(codec: Codec, model: Model) -> tuple[Codec, Model]:
    """Cut bins into parts that hold records as their neighbours suggest; the model's counts of bins stay the same.

    Args:
        codec: How the table was encoded; columns with a spread of their own are left as they are.
        model: The model of its codes. If it knows no marginals, nothing is cut.

    Returns:
        A codec with the parts as bins, and the model of these.
    """
    names = [name for name in codec.bins if _can_be_cut(codec, name)]
    marginals = _one_way(model, names) if names else None
    if marginals is None:
        return codec, model
    found: dict[str, Parts] = {}
    for name, counts in zip(names, marginals, strict=True):
        column, bins = codec.schema[name], codec.bins[name]
        assert isinstance(column, Ordered)
        roundness = codec.roundness.get(name)
        unit = None if roundness is None else roundness.unit
        parts = joined(bins, counts[: bins.size], column.scale(), unit)
        if parts.bins.size > bins.size:
            found[name] = parts
    if not found:
        return codec, model
    finer = replace(codec, bins={**codec.bins, **{name: parts.bins for name, parts in found.items()}})
    maps, shares = {}, {}
    for name, parts in found.items():
        # The last code of both codecs is that of missing values, if there are any.
        missing = int(codec.schema[name].nullable)
        maps[name] = np.append(parts.whole, [codec.bins[name].size] * missing).astype(np.intp)
        shares[name] = np.append(parts.shares, [1.0] * missing)
    recoding = Recoding(finer.domain, maps, shares)
    if isinstance(model, RecodedModel):
        return finer, RecodedModel(model.inner, recoding.then(model.recoding))
    return finer, RecodedModel(model, recoding)


def _can_be_cut(codec: Codec, name: str) -> bool:
    roundness = codec.roundness.get(name)
    # Where each bin holds a single value, there is nothing to join.
    single = roundness is not None and not roundness.steps
    known = name in codec.domain and name not in codec.spreads
    return known and not single and isinstance(codec.schema[name], Ordered)


def _one_way(model: Model, names: Sequence[str]) -> list[FloatArray] | None:
    """Return expected counts of the codes of some columns, or None if a model knows none."""
    if isinstance(model, RecodedModel):
        inner = _one_way(model.inner, names)
        return inner and [model.recoding.expand_counts((n,), m) for n, m in zip(names, inner, strict=True)]
    # What a model was made of is at hand, while its marginals may be those of rows that it draws.
    if hasattr(model, "one_way"):
        return [model.one_way(name) for name in names]
    return model.marginals([(name,) for name in names]) if hasattr(model, "marginals") else None
