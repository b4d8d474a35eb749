"""The base of plug-ins that are a network of torch: its layers, the loss of a record, and how it draws rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from syntabula._extras import require
from syntabula._memory import ran_out
from syntabula._threads import training_threads
from syntabula.errors import ArgumentError, SyntabulaError
from syntabula.marginals.domain import Domain
from syntabula.privacy.training.per_record import require_separate
from syntabula.record_models.codes_network import CodesNetwork
from syntabula.record_models.representation import ColumnLookup, Places, column_lookup

if TYPE_CHECKING:
    from torch import Generator, Tensor
    from torch.nn import Module

_TRIED = 20_000
_GIVEN_AT_ONCE = 64
_MADE_UP = ((3, False), (4, True), (2, False), (5, True))
"""Codes of columns that are made up to try a plug-in, and whether they follow an order."""
_MADE_UP_RECORDS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class TorchModel(CodesNetwork):
    """A network of torch that is trained on records, with a budget by noisy gradients, and draws rows.

    Write `network`, `losses` and `rows`, and `rows_given` if the network can do better than to try rows. Training, its
    cost, the noise, checkpoints and storage come with this class. A file holds the one-way marginals and the network's
    parameters, and nothing that is executed.

    In all of these a record is a row of positions [columns]: 0 .. k - 1 for the k codes of a column that have records.
    """

    # Torch has one random state and one number of threads for the whole process.
    _draws_in_threads: ClassVar[bool] = False

    @abstractmethod
    def network(self, columns: Sequence[ColumnLookup]) -> Module:
        """Return the untrained network; the shapes of its parameters may depend on `size`, and on `waves` being None.

        Args:
            columns: What is known of each column: `size`, its k, `log_shares`, the logarithm of each code's part of the
                records [k], and `waves` (here one for each code [k, 1]), None for a column without an order.
        """

    @abstractmethod
    def losses(self, network: Any, records: Tensor, random: Generator) -> Tensor:
        """Return the loss of each record [batch], which depends on the parameters, that record and `random` alone.

        With a budget all that is drawn must come from `random`, and parameters are used in linear layers, embeddings,
        biases, scales and norms over a record's own numbers alone; another use is refused before anything is paid.

        Args:
            network: What `network` returned, its parameters being those of now.
            records: Positions, int64 [batch, columns].
            random: A generator of torch on the same device.
        """

    @abstractmethod
    def rows(self, network: Any, n: int, random: Generator) -> Tensor:
        """Return n drawn rows of positions, integers [n, columns]."""

    def rows_given(self, network: Any, records: Tensor, known: Tensor, random: Generator) -> Tensor:
        """Return rows of positions [n, columns] given some of them.

        Here 20,000 rows are tried for each call. Each record has one at random of those that share most known positions
        with it.

        Args:
            network: As for `losses`.
            records: Positions [n, columns]; 0 where they are unknown.
            known: Whether they are known [n, columns].
            random: As for `losses`.
        """
        torch = require("torch", "neural")
        tried = self.rows(network, _TRIED, random)
        parts = []
        for start in range(0, len(records), _GIVEN_AT_ONCE):
            some, held = (table[start : start + _GIVEN_AT_ONCE] for table in (records, known))
            heights = torch.rand((len(some), _TRIED), generator=random)
            for column in held.any(0).nonzero()[:, 0].tolist():
                equal = some[:, column, None] == tried[None, :, column]
                heights += equal & held[:, column, None]
            parts.append(tried[heights.argmax(1)])
        found: Tensor = torch.cat(parts)
        return found

    def try_out(self, *, noisy: bool) -> None:
        """Try what was written on records that are made up, before anything is paid.

        Args:
            noisy: Whether gradients will have noise, for which no record's loss may depend on others.

        Raises:
            ArgumentError: If a method breaks, returns something else than it should, or has such a loss.
            MissingExtraError: If torch is not installed.
        """
        torch = require("torch", "neural")
        lookups = [
            column_lookup(np.arange(1.0, size + 1), waves=self._n_waves if ordered else None)
            for size, ordered in _MADE_UP
        ]
        sizes = np.array([size for size, _ in _MADE_UP])
        random = torch.Generator().manual_seed(0)
        shape = (_MADE_UP_RECORDS, sizes.size)
        records = (torch.rand(shape, generator=random) * torch.as_tensor(sizes)).long()
        # The first two differ in every column, as a trial of losses asks for.
        records[0], records[1] = 0, torch.as_tensor(sizes - 1)
        known = torch.rand(shape, generator=random) < 0.5
        with training_threads(1), _repeated(0):
            network = self._tried("network", lambda: _built(self, lookups))
            losses = TorchLosses(network, self.losses)
            values = self._tried("losses", lambda: losses.losses(records, random))
            if not torch.isfinite(values).all():
                raise ArgumentError(
                    f"{type(self).__name__}.losses is no finite number for records that were made up; repair it, "
                    "or the network"
                )
            if not values.requires_grad:
                raise ArgumentError(
                    f"{type(self).__name__}.losses depends on no parameter of the network, so that nothing can be learned"
                )
            if noisy:
                self._tried(
                    "losses", lambda: require_separate(losses.losses, losses.parameters, records, random)
                )
            network.eval()
            with torch.no_grad():
                n = len(records)
                rows = self._tried("rows", lambda: self.rows(network, n, random))
                self._positions(rows, n, sizes, "rows")
                if type(self).rows_given is not TorchModel.rows_given:
                    told = torch.where(known, records, 0)
                    rows = self._tried("rows_given", lambda: self.rows_given(network, told, known, random))
                    self._positions(rows, n, sizes, "rows_given")

    def _tried(self, method: str, call: Callable[[], Any]) -> Any:
        """Return what a call returns; says which method it was that broke."""
        try:
            return call()
        except SyntabulaError:
            raise
        except Exception as error:
            if ran_out(error):
                raise
            # The records are made up, so that the message shows no cell of a table.
            raise ArgumentError(
                f"{type(self).__name__}.{method} broke with {type(error).__name__} ({error}) on records that were made "
                "up; repair it. No record was read for it, and nothing was paid"
            ) from error

    def _positions(self, found: Any, n: int, sizes: Sequence[int] | np.ndarray, method: str) -> Places:
        """Return drawn rows [n, columns]; refuses what a method returned that is none."""
        torch = require("torch", "neural")
        rows = found.numpy() if isinstance(found, torch.Tensor) else np.zeros(0)
        # Whole floats are positions too, as releases that were paid for before this was looked at may draw them.
        placed = rows.dtype.kind in "iufb" and rows.shape == (n, len(sizes))
        if not placed or not ((rows >= 0) & (rows < sizes) & (rows == np.floor(rows))).all():
            raise ArgumentError(
                f"{type(self).__name__}.{method} drew rows that are no positions of codes: it must return a tensor of "
                f"integers [{n}, {len(sizes)}], each at least 0 and below the size of its column"
            )
        return np.asarray(rows, dtype=np.intp)

    @property
    def _n_waves(self) -> int:
        return 1

    def _network(self, lookups: Sequence[ColumnLookup], device: Any, random: Generator) -> TorchLosses:
        torch = require("torch", "neural")
        seed = int(torch.randint(2**62, (1,), generator=random, device=device))
        with _repeated(seed):
            return TorchLosses(_built(self, lookups).to(device), self.losses)

    def _shapes(self, sizes: Sequence[int], ordered: Sequence[bool]) -> dict[str, tuple[int, ...]]:
        torch = require("torch", "neural")
        # No memory is taken for sizes that a file names.
        with torch.device("meta"):
            network = _built(self, self._made_up_lookups(sizes, ordered))
        return {name: tuple(p.shape) for name, p in network.named_parameters()}

    def _places(self, lookup: ColumnLookup) -> Places:
        return lookup.frequent_places

    def _numbers_of_record(self, domain: Domain, *, noisy: bool) -> int:
        # Each layer leaves its inputs and outputs, and what functions between them keep.
        shapes = self._shapes(domain.sizes, [False] * len(domain))
        return 4 * (sum(sum(shape) for shape in shapes.values()) + sum(domain.sizes))

    @cached_property
    def _module(self) -> Module:
        torch = require("torch", "neural")
        with _repeated(0):
            network = _built(self, self._lookups)
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.copy_(torch.as_tensor(self._weights[name]))
        return network.eval()

    def _completed(self, known: Mapping[str, Places], n: int, rng: np.random.Generator) -> Places:
        torch = require("torch", "neural")
        seed = int(rng.integers(2**62))
        random = torch.Generator().manual_seed(seed)
        with training_threads(1), torch.no_grad(), _repeated(seed):
            if known:
                places, held = self._told(known, n)
                found = self.rows_given(self._module, torch.as_tensor(places), torch.as_tensor(held), random)
            else:
                found = self.rows(self._module, n, random)
        sizes = [lookup.size for lookup in self._lookups]
        return self._positions(found, n, sizes, "rows_given" if known else "rows")

    def _told(self, known: Mapping[str, Places], n: int) -> tuple[Places, np.ndarray]:
        """Return positions [n, columns] and which are known; a code that no record had is not."""
        places, held = (
            np.zeros((n, len(self.domain)), dtype=np.intp),
            np.zeros((n, len(self.domain)), np.bool_),
        )
        for name, column in known.items():
            j = self.domain.index(name)
            held[:, j] = column < self._lookup(name).size
            places[:, j] = np.where(held[:, j], column, 0)
        return places, held


class TorchLosses:
    """A network as the training loops take one.

    Args:
        network: Of torch.
        losses: Takes it, records and a generator; returns the loss of each record.
    """

    def __init__(self, network: Module, losses: Callable[[Any, Tensor, Generator], Tensor]) -> None:
        self.parameters: Mapping[str, Tensor] = dict(network.named_parameters())
        self._network, self._losses = network, losses

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return the loss of each record [batch]."""
        torch = require("torch", "neural")
        self._network.train(torch.is_grad_enabled())
        found: Any = self._losses(self._network, records.long(), random)
        if not isinstance(found, torch.Tensor) or found.shape != (len(records),):
            raise ArgumentError("the loss must be one number for each record, of shape [batch]")
        return cast("Tensor", found)


def _built(model: TorchModel, lookups: Sequence[ColumnLookup]) -> Module:
    """Return a model's network; refuses one that a file could not hold."""
    torch = require("torch", "neural")
    network: Any = replace(model, _domain=None, _one_way={}, _weights={}).network(lookups)
    name = type(model).__name__
    if not isinstance(network, torch.nn.Module):
        raise ArgumentError(f"{name}.network must return a torch.nn.Module")
    parameters = dict(network.named_parameters())
    if not parameters or any(p.dtype != torch.float32 or not p.numel() for p in parameters.values()):
        raise ArgumentError(f"the network of {name} needs parameters, all of them float32 and none empty")
    for parameter in parameters.values():
        # It may share memory with the lookups.
        parameter.data = parameter.data.clone()
    kept = set(network.state_dict())
    if learned := [key for key, _ in network.named_buffers() if key in kept]:
        raise ArgumentError(
            f"the network of {name} keeps {learned[0]!r} beside its parameters, which a file does not hold; leave out "
            "layers that learn from batches, such as batch normalisation, and register constants with persistent=False"
        )
    return cast("Module", network)


@contextmanager
def _repeated(seed: int) -> Iterator[None]:
    """Let layers draw the same numbers each time, and leave torch's own generator as it was."""
    torch = require("torch", "neural")
    with torch.random.fork_rng(devices=[]):
        torch.random.default_generator.manual_seed(seed)
        yield
