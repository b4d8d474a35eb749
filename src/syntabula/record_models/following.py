"""The option of networks whose rows, without a budget, follow the one-way marginals."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

from syntabula._arguments import flag, normalise
from syntabula.record_models.lookup_model import LookupModel


@dataclass(frozen=True, kw_only=True, eq=False)
class FollowingRows(LookupModel, ABC):
    """A model whose drawn rows are drawn again by weights; `generated_rows.RakedRows` says how and why.

    Attributes:
        follow_marginals: Whether rows, without a budget, are drawn again by weights with which columns have the table's
            one-way marginals; False leaves them as the network draws them. Where the network's own marginals are far off,
            weights are uneven, and rows tell a learner less. With a budget they always follow those that were paid for.
    """

    draws_conditions_first: ClassVar[bool] = False
    """Whether columns with conditions are drawn first, each given its condition."""

    follow_marginals: bool = True

    def __post_init__(self) -> None:
        normalise(self, follow_marginals=flag)
