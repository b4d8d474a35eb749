"""How large a graphical model may grow, and which marginals it can still take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from syntabula.marginals.domain import Clique
from syntabula.models.base import MarginalModel

_MANY_CANDIDATES = 500
"""From this many candidates on (pairs of 33 columns), trees are not made for each in each round."""
_FAR_SMALLER = 16.0
"""Times that the limit is of a tree whose paths are enough to know. In drawn graphs of 48 to 100 columns, trees made anew
were up to thirty times as large as paths say, and one in a hundred was more than twelve times."""
_SMALLER, _HARDLY_GROWN = 2.0, 1.25
"""Times that the limit is of a tree that was made in an earlier round, and by which all trees grew since at most."""


class SizeLimit(Protocol):
    """Says which marginals a growing model can take."""

    def __call__(
        self, model: MarginalModel, candidates: Sequence[Clique], measured: Sequence[Clique], part: float
    ) -> list[Clique]:
        """Return the candidates that keep a model within a part of its largest size, or do not make it larger.

        Args:
            model: A model bound to a domain.
            candidates: Marginals that may be measured next.
            measured: Marginals that it is fitted to.
            part: Part of the room that it may take by now, 0 .. 1.
        """
        ...

    def confirms(self, model: MarginalModel, chosen: Clique, measured: Sequence[Clique]) -> bool:
        """Return whether a candidate of the last answer does keep a model within its largest size.

        It does where no size was estimated, or what measures it sees whether the model became too large.

        Args:
            model: The model of the last answer.
            chosen: What is to be measured.
            measured: Marginals that the model is fitted to.
        """
        return True


@dataclass(frozen=True)
class Growth(SizeLimit):
    """Lets a model grow by so much; the size with each candidate is looked up.

    Attributes:
        growth_mb: Most megabytes.
        beyond_now: Whether these come on top of the fitted model, or of the unfitted one.
    """

    growth_mb: float
    beyond_now: bool = False

    def __call__(
        self, model: MarginalModel, candidates: Sequence[Clique], measured: Sequence[Clique], part: float
    ) -> list[Clique]:
        """Return the candidates that keep a model within a part of its growth, or do not make it larger."""
        grown = model.memory_mb(measured) - model.memory_mb([]) if self.beyond_now else 0.0
        return affordable(model, candidates, measured, grown + self.growth_mb * part)


@dataclass(frozen=True)
class PairGrowth(SizeLimit):
    """Lets a model grow by so many megabytes beyond the unfitted one, by pairs alone.

    Sizes are estimated where that saves a tree for each pair, so that the model may come out larger.
    """

    growth_mb: float

    def __call__(
        self, model: MarginalModel, candidates: Sequence[Clique], measured: Sequence[Clique], part: float
    ) -> list[Clique]:
        """Return the pairs that keep a model within a part of its growth, or do not make it larger."""
        from syntabula.models.pair_questions import affordable_pairs

        return affordable_pairs(model, candidates, measured, self.growth_mb * part)


class TreeSizes(SizeLimit):
    """Says which candidates keep a growing graphical model small, without making a tree for each of many in each round.

    The size of a model with one more marginal is that of the tree which is made for it anew. For thousands of candidates
    these trees take longer than the fits, so that of many candidates

    - those are taken whose path through the tree of now makes it far smaller than the limit;
    - those are left out that were above the limit in an earlier round, as tables were only added since;
    - those are taken that were far below the limit when the tree was nearly as large as now.

    The trees of all others are made. A tree made anew may be larger than these say, so a candidate that was chosen is
    looked at once more (`confirms`).

    Args:
        max_mb: Largest size of the model.
    """

    def __init__(self, max_mb: float) -> None:
        self._max_mb = max_mb
        self._held: set[Clique] = set()
        self._found: dict[
            Clique, tuple[float, float]
        ] = {}  # size with it, and without, when its tree was made
        self._guessed: set[Clique] = set()

    def __call__(
        self, model: MarginalModel, candidates: Sequence[Clique], measured: Sequence[Clique], part: float
    ) -> list[Clique]:
        """Return the candidates that keep a model within a part of its largest size, or do not make it larger."""
        held = list(dict.fromkeys(measured))
        known = set(held)
        if not self._held <= known:
            self._found = {}
        self._held, self._guessed = known, set()
        now = model.memory_mb(held)
        limit = max(self._max_mb * part, now)
        unclear, left_out = [c for c in candidates if c not in known], set[Clique]()
        if len(unclear) >= _MANY_CANDIDATES:
            left_out = {c for c in unclear if self._size(c)[0] > limit}
            unclear = [c for c in unclear if c not in left_out]
            small = self._small(model, held, unclear, limit)
            self._guessed = {c for c in unclear if c in small or self._was_small(c, now, limit)}
            unclear = [c for c in unclear if c not in self._guessed]
        sizes = model.memory_with_each_mb(held, unclear)
        self._found |= {c: (size, now) for c, size in zip(unclear, sizes, strict=True)}
        left_out |= {c for c, size in zip(unclear, sizes, strict=True) if size > limit}
        return [c for c in candidates if c not in left_out]

    def confirms(self, model: MarginalModel, chosen: Clique, measured: Sequence[Clique]) -> bool:
        """Return whether a candidate of the last answer does keep a model within its largest size; else it is left out
        from now on."""
        if chosen not in self._guessed:
            return True
        now, size = model.memory_mb(measured), model.memory_mb([*measured, chosen])
        self._found[chosen] = size, now
        return size <= max(self._max_mb, now)

    def _small(
        self, model: MarginalModel, held: Sequence[Clique], new: Sequence[Clique], limit: float
    ) -> set[Clique]:
        """Return the pairs whose paths leave the tree far smaller than a limit."""
        from syntabula.models.pair_questions import paths_mb

        pairs = [c for c in new if len(c) == 2]
        sizes = paths_mb(model, pairs, held)
        return {pair for pair, size in zip(pairs, sizes, strict=True) if _FAR_SMALLER * size <= limit}

    def _size(self, candidate: Clique) -> tuple[float, float]:
        return self._found.get(candidate, (0.0, 0.0))

    def _was_small(self, candidate: Clique, now: float, limit: float) -> bool:
        size, then = self._size(candidate)
        return now <= _HARDLY_GROWN * then and _SMALLER * (size + now - then) <= limit


def affordable(
    model: MarginalModel, candidates: Sequence[Clique], measured: Sequence[Clique], growth_mb: float
) -> list[Clique]:
    """Return the candidates that keep a model's growth within a limit, or do not make it larger.

    Args:
        model: A model bound to a domain.
        candidates: Marginals that may be measured next.
        measured: Marginals it is fitted to.
        growth_mb: Most megabytes beyond the unfitted model.
    """
    limit = model.memory_mb([]) + growth_mb
    known = set(measured)
    new = [c for c in candidates if c not in known]
    sizes = dict(zip(new, model.memory_with_each_mb(list(known), new), strict=True))
    return [c for c in candidates if sizes.get(c, 0.0) <= limit]


def still_affordable(
    model: MarginalModel,
    measured: Sequence[Clique],
    growth_mb: float,
    candidates: Sequence[Clique],
    chosen: Sequence[Clique],
) -> list[Clique]:
    """Return the candidates that keep a model's growth within a limit beside what was chosen, for `choose_worst`."""
    return affordable(model, candidates, [*measured, *chosen], growth_mb)
