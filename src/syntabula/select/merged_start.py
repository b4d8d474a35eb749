"""One-way marginals at the start, and codes merged by them until pairs stand out of their noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from syntabula.marginals.coarsening import coarsen
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.doors.tables import Curator

ONE_WAY = "measure one-way marginals"
MERGING_ONE_WAY = Fraction(1, 5)
"""What the one-way marginals take where many codes are merged, as only they tell merged codes apart from then on."""


@dataclass(frozen=True, eq=False)
class MergedStart:
    """Where a selector goes on from.

    Attributes:
        curator: Of the table with merged codes.
        measured: The one-way marginals over merged codes.
        recoding: How codes are merged.
        used: Share of the budget that was spent.
    """

    curator: Curator
    measured: list[Measurement]
    recoding: Recoding
    used: Fraction

    @classmethod
    def of(
        cls,
        curator: Curator,
        *,
        share: Fraction,
        first: Fraction,
        most: Fraction,
        records_per_noise: float | None,
        pair_sigma: Callable[[Fraction], float],
    ) -> MergedStart:
        """Measure every column, and again where much is merged; merging is post-processing.

        Args:
            curator: Of the table.
            share: Part of the whole budget for everything.
            first: Part of the whole budget for the columns.
            most: The same where a mean pair of columns has less than half of its cells left.
            records_per_noise: See `coarsen`; None merges nothing.
            pair_sigma: Standard deviation that the noise on a pair will have, given what is left of the share.
        """

        def recoded(one_way: list[Measurement], used: Fraction) -> Recoding:
            if records_per_noise is None:
                return Recoding.identity(curator.domain)
            sigma = pair_sigma(share - used)
            return coarsen(
                one_way, domain=curator.domain, pair_sigma=sigma, records_per_noise=records_per_noise
            )

        columns = [(c,) for c in curator.domain.columns]
        measured, used = curator.measure(columns, share=first, step=ONE_WAY), first
        recoding = recoded(measured, used)
        if most > first and _merges_much(recoding):
            again = curator.measure(columns, share=most - first, step=ONE_WAY)
            measured = [one.averaged(other) for one, other in zip(measured, again, strict=True)]
            used = most
            recoding = recoded(measured, used)
        merged = [recoding.merge_measurement(m) for m in measured]
        return cls(curator.recoded(recoding), merged, recoding, used)


def _merges_much(recoding: Recoding) -> bool:
    """Return whether a mean pair of columns has less than half of its cells left."""
    before, after = (
        sum(d.sizes) ** 2 - sum(n * n for n in d.sizes) for d in (recoding.domain, recoding.target)
    )
    return 2 * after < before
