"""How probable a network finds records at a point of its training: the held-out ones, and those it started from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from syntabula._extras import require

if TYPE_CHECKING:
    from torch import Generator, Tensor

_RECORDS, _BATCHES = 512, 4
_MARGIN = 0.5
"""Of the loss at the start, and of 1 where it is near 0.

A few steps at a high rate may lose a little before they gain, as five on constant columns lost .05; only a network that
unlearned what it began with is refused."""


class WithLosses(Protocol):
    """What is looked at: a network's parameters by name, and the loss of each record."""

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """The weights, by name."""
        ...

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return the loss of each record, [batch] or [batch, losses]."""
        ...


def loss_at(values: Sequence[Tensor], network: WithLosses, records: Tensor, at_once: int) -> float:
    """Return the mean loss of records, by the same draws at each call.

    Args:
        values: Stand in the place of the network's weights meanwhile.
        network: The one that is trained.
        records: At least one.
        at_once: So many of them.
    """
    torch = require("torch", "neural")
    weights = [*network.parameters.values()]
    with torch.no_grad():
        now = [w.detach().clone() for w in weights]
        torch._foreach_copy_(weights, values)
        same = torch.Generator(records.device).manual_seed(0)
        parts = torch.split(records, at_once)
        loss = sum(float(network.losses(part, same).sum()) for part in parts) / len(records)
        torch._foreach_copy_(weights, now)
    return loss


@dataclass(frozen=True, eq=False)
class Start:
    """How probable some records were before the first step.

    They are some of those that are trained on, as held-out ones may be few, and less probable after a training that did
    all that it could.

    Attributes:
        network: The one that is trained.
        records: Some of those that are trained on.
        at_once: So many of them are looked at together, as in a step.
        loss: Their mean loss, by the untrained network.
    """

    network: WithLosses
    records: Tensor
    at_once: int
    loss: float

    @classmethod
    def of(cls, network: WithLosses, records: Tensor, batch: int) -> Start:
        """Look at some of the records in random order, in batches of so many at most."""
        some = records[: min(_RECORDS, _BATCHES * batch)]
        return cls(network, some, batch, loss_at([*network.parameters.values()], network, some, batch))

    def is_kept(self, values: Sequence[Tensor]) -> bool:
        """Return whether records are not clearly less probable by these values of the weights."""
        loss = loss_at(values, self.network, self.records, self.at_once)
        return loss <= self.loss + _MARGIN * max(abs(self.loss), 1.0)
