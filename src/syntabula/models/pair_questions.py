"""What models answer of very many pairs of columns at once: how they rise together, and how large they would make it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.trend import merged_scores
from syntabula.models.base import MarginalModel, Model
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel


def products_of_scores(model: MarginalModel, scores: Mapping[str, FloatArray]) -> FloatArray:
    """Return the expected sum over all records of the product of two columns' scores [columns, columns].

    Only pairs of different columns are filled in for every kind of model.

    Args:
        model: A fitted model.
        scores: The score of each code [codes], by column.
    """
    if isinstance(model, RecodedModel):
        merged = {c: merged_scores(c, s, model.recoding) for c, s in scores.items()}
        return products_of_scores(model.inner, merged)
    if isinstance(model, PGM):
        return model.expected_products(scores)
    place = {column: i for i, column in enumerate(scores)}
    pairs: list[Clique] = list(combinations(scores, 2))
    found = np.zeros((len(place), len(place)))
    for (one, other), table in zip(pairs, model.marginals(pairs), strict=True):
        product = scores[one] @ table @ scores[other]
        found[place[one], place[other]] = found[place[other], place[one]] = product
    return found


def affordable_pairs(
    model: MarginalModel, pairs: Sequence[Clique], held: Sequence[Clique], growth_mb: float
) -> list[Clique]:
    """Return the pairs that keep a model's growth within a limit, or do not make it larger, and its size within its own.

    A graphical model may still come out larger, as its size with a pair is estimated.

    Args:
        model: A model bound to a domain.
        pairs: Pairs that it may hold next.
        held: Cliques that it holds.
        growth_mb: Most megabytes beyond the unfitted model.
    """
    inner = _innermost(model)
    now, most, limit = model.memory_mb(held), math.inf, model.memory_mb([]) + growth_mb
    if isinstance(inner, PGM):
        most, sizes = inner.max_memory_mb, inner.memory_with_pairs_mb(held, pairs)
    else:
        sizes = list(model.memory_with_each_mb(held, pairs))
    limit = min(max(now, limit), most)
    return [pair for pair, size in zip(pairs, sizes, strict=True) if size <= limit]


def paths_mb(model: MarginalModel, pairs: Sequence[Clique], held: Sequence[Clique]) -> list[float]:
    """Return about the most that a model's size is with each pair of columns; infinite where only a tree would tell.

    Args:
        model: A model bound to a domain.
        pairs: Pairs that it may hold next.
        held: Cliques that it holds.
    """
    inner = _innermost(model)
    return inner.memory_with_pairs_mb(held, pairs) if isinstance(inner, PGM) else [math.inf] * len(pairs)


def _innermost(model: Model) -> Model:
    return _innermost(model.inner) if isinstance(model, RecodedModel) else model
