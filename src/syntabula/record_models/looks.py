"""How probable a network finds records at a point of its training: the held-out ones, and those it started from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from syntabula._extras import require

if TYPE_CHECKING:
    from torch import Generator, Tensor

_PLACES, _FEWEST_AT_ONCE, _BATCHES = 512, 64, 4
"""Records that are looked at, of which few are looked at repeatedly, as what a loss draws is chance."""
_RISE, _CHANCE = 0.01, 0.5
"""Parts of the loss at the start, or of 1 where it is near 0, by which records may become less probable: always, and
divided by the number of steps or records if these are few.

Of 20 trainings at default rates on tables of 30 to 1,338 records the loss of one rose by .0045, of another by .0005,
and of the others it fell. It rose by .04 for two records, and by .054 after five steps on constant columns. Of 39
trainings at rates of .2 and 1 it rose by .02 to 6.2 in eleven; others ended near their marginals, which is no divergence.
"""


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
        records: Some of those that are trained on, repeated where they are few.
        n_records: How many are trained on.
        at_once: So many are looked at together.
        loss: Their mean loss, by the untrained network.
    """

    network: WithLosses
    records: Tensor
    n_records: int
    at_once: int
    loss: float

    @classmethod
    def of(cls, network: WithLosses, records: Tensor, batch: int) -> Start:
        """Look at some of the records, which are in random order, in batches of so many or a little more."""
        torch = require("torch", "neural")
        at_once = max(batch, _FEWEST_AT_ONCE)
        places = torch.arange(min(_PLACES, _BATCHES * at_once), device=records.device) % len(records)
        some = records[places]
        loss = loss_at([*network.parameters.values()], network, some, at_once)
        return cls(network, some, len(records), at_once, loss)

    def is_kept(self, values: Sequence[Tensor], steps: int) -> bool:
        """Return whether records are about as probable by the weights after so many steps, or more."""
        rise = loss_at(values, self.network, self.records, self.at_once) - self.loss
        most = _RISE + _CHANCE / max(min(steps, self.n_records), 1)
        return rise <= most * max(abs(self.loss), 1.0)
