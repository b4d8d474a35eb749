"""The door to the records themselves, for models that are trained on them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, positive, real
from syntabula._extras import require
from syntabula.errors import ArgumentError, BudgetError
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExactEvent, TrainingEvent
from syntabula.privacy.journal import Checkpoint
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import Sensitive, require_cells, revealed
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.pricing import bought
from syntabula.privacy.resume import fingerprint
from syntabula.privacy.training.exact import OpenRecords
from syntabula.privacy.training.grid import Grid, noise_scale
from syntabula.privacy.training.per_record import Losses, clipped_sum, require_separate

if TYPE_CHECKING:
    from torch import Generator, Tensor

MOST_RECORDS = 65_536
"""Records that a step may take on average: so many are covered by what `privacy.training.grid` counts for arithmetic."""

RECORDS_AT_ONCE = 1280
"""Records whose gradients are found together: a network with several draws for each holds a megabyte a record. A quarter
more than the common 1,024, as a step that takes some more records than that on average would make two parts of them."""

_MADE_UP = 8


@runtime_checkable
class TrainingNoise(NoiseSource, Protocol):
    """Also draws what training on records needs, for every parameter of every step."""

    def gaussian_vector(self, steps: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        """Return what `discrete_gaussian` does, for millions of cells.

        Args:
            steps: Exact sums in whole steps, int64, any shape.
            sigma: Scale of the noise, in steps, from 1 to LARGEST_SCALE; 0 returns the exact sums.
        """
        ...

    def sampled_records(self, n_records: int, rate: float) -> NDArray[np.intp]:
        """Return the positions, rising, of records that are each taken with probability `rate`, independently."""
        ...

    def begin_step(self, step: int) -> None:
        """Turn to what a step of training draws, whether or not earlier ones were drawn by an earlier run."""
        ...

    def loss_seed(self) -> int:
        """Return 63 random bits, for a generator of what a loss draws for each record. No noise comes from these."""
        ...


class RecordCurator:
    """Lets models be trained on the records, by noisy gradients; hands out records only where privacy is switched off.

    Args:
        curator: Holds the table, the ledger in which the spend is written, and the noise.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def exact(self, *, step: str) -> OpenRecords:
        """Return all records as they are. A journal holds that this was done, and no record.

        Args:
            step: What the ledger calls this.

        Raises:
            BudgetError: If there is a budget: nothing was read.
        """
        ledger = self._curator.ledger
        if ledger.budget.currency != "none":
            raise BudgetError(
                "records leave their door only where privacy is switched off; use Budget.none()"
            )
        token = ledger.spend(ExactEvent("records"), step=step)
        token.consume()
        return OpenRecords(self._curator._records(), ledger, token)

    @property
    def most_rate(self) -> float:
        """Largest rate of training: where units have several rows, a step takes one row of a unit alone."""
        return 1 / self._curator.ledger.unit.rows

    @property
    def resumed_steps(self) -> int | None:
        """Number of steps that the resumed run paid for, if training is what it paid for next; None otherwise."""
        event = self._curator.ledger.next_replayed
        return event.steps if isinstance(event, TrainingEvent) else None

    def training(
        self,
        losses: Losses,
        parameters: Mapping[str, Tensor],
        *,
        rate: float,
        steps: int,
        clip: float,
        total: float,
        share: Fraction | float,
        step: str,
        failure: Fraction | float | None = None,
    ) -> TrainingSession:
        """Begin training, which is paid for as a whole before its first step. There must be a budget.

        Everything but the gradients that come back must be public or released, so must rate, steps and clip be, and
        the loss of a record may depend on the parameters, that record's codes and random draws alone. Before anything is
        paid this is tried on records that are made up.

        Args:
            losses: Takes codes [batch, columns], int64, and a generator; returns the loss of each record [batch].
            parameters: All that is trained, by name; torch's tensors, which training may change in place.
            rate: Probability with which a step takes a record, above 0 and at most `most_rate`.
            steps: Number of gradients that are paid for, at least 1.
            clip: Largest L2 length of a record's gradient, above 0.
            total: Number of records as it was released, above 0. A mean is a sum over rate times this.
            share: Part of the whole budget that all steps together cost.
            step: What the ledger calls this spend.
            failure: Chance to fail that it may take of the delta that the budget sets aside; None for all that is left.

        Raises:
            ArgumentError: If an argument is outside its range, or a record's gradient would depend on others.
            BudgetError: If there is no budget, it has no such noise, as zero-concentrated and pure ones, or it sets no
                delta aside.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
            MissingExtraError: If torch is not installed.
            ResumeError: If the run that is resumed asked for something else here.
        """
        curator = self._curator
        ledger, noise = curator.ledger, curator._source
        if ledger.budget.currency == "none":
            raise BudgetError("gradients have noise, which needs a budget; without privacy use `exact`")
        if not isinstance(noise, TrainingNoise):
            raise ArgumentError(
                "noise has no draws for training; use a source with all methods of TrainingNoise"
            )
        cells = _cells(parameters)
        total, clip, steps = positive("total", total), positive("clip", clip), count()("steps", steps)
        rate = real("a number above 0 and at most 1", lambda number: 0 < number <= 1)("rate", rate)
        if rate * total > MOST_RECORDS:
            raise ArgumentError(
                f"a step would take {rate * total:,.0f} records on average; at most {MOST_RECORDS:,}: lower the rate"
            )
        if rate > self.most_rate:
            raise ArgumentError(
                f"rate is {rate:g}, but a step takes at most one of a unit's {ledger.unit.rows} rows; it must be at most "
                f"{self.most_rate:g}"
            )
        if ledger.unit.rows > 1 and curator._units is None:
            raise ArgumentError(
                "the ledger protects units, but the table does not say whom its rows are about"
            )
        _try_out(losses, parameters, curator.domain.sizes)
        part = ledger.budget.failure_delta - ledger.failure_spent if failure is None else failure
        event = bought(
            ledger,
            share,
            TrainingEvent,
            what="gradients",
            rate=rate,
            steps=steps,
            clip=clip,
            cells=cells,
            failure=part,
        )
        # A generator is named by nothing, and no other fact of the loss is known here.
        shapes = [(name, tuple(p.shape)) for name, p in parameters.items()]
        query = fingerprint([shapes, rate, steps, total])
        token = ledger.spend(event, step=step, query=query)
        noise.begin_draw()
        return TrainingSession(curator, token, noise, losses, parameters, rate=rate, steps=steps, total=total)

    def __repr__(self) -> str:
        return "RecordCurator()"


class TrainingSession:
    """Gives one noisy mean gradient a step, as many as were paid for; made by `RecordCurator.training`.

    Where units have up to k rows, the rows are divided among k slots, in which a unit has at most one row whatever others
    have (`Units.slots`). Step t takes the rows of slot t mod k alone, each with probability k r, where r is the rate that
    was asked for. Whoever adds or removes a unit thus adds or removes at most one record of each step's slot, so a step
    is the one that is priced for records, at rate k r. A row is in a step with probability r on average, and the sum of
    a step is over as many rows on average as without units.
    """

    def __init__(
        self,
        curator: Curator,
        token: Token,
        noise: TrainingNoise,
        losses: Losses,
        parameters: Mapping[str, Tensor],
        *,
        rate: float,
        steps: int,
        total: float,
    ) -> None:
        torch = require("torch", "neural")
        self._ledger, self._token, self._noise = curator.ledger, token, noise
        self._losses, self._parameters = losses, dict(parameters)
        self._rate, self._steps, self._expected = rate, steps, rate * total
        device = next(iter(parameters.values())).device
        codes = curator._records().codes
        columns = [torch.as_tensor(np.asarray(column, dtype=np.int32)) for column in codes]
        self._records: Sensitive[Tensor] = Sensitive(torch.stack(columns, 1).to(device))
        rows = curator.ledger.unit.rows
        slot_of = np.zeros(len(codes[0]), np.intp) if curator._units is None else curator._units.slots(rows)
        self._slots = Sensitive([np.flatnonzero(slot_of == slot) for slot in range(rows)])
        self._resumed = token.checkpoint
        self._done = 0 if self._resumed is None else self._resumed.steps
        if self._done > steps:
            raise ArgumentError("the journal holds a checkpoint of more steps than this training has")
        self._sums = NoisySums(token, noise, done=self._done)

    @property
    def steps_left(self) -> int:
        """Number of gradients that are paid for and were not given."""
        return self._steps - self._done

    @property
    def resumed(self) -> Checkpoint | None:
        """What the run that is resumed had learned, from which training goes on; None if it begins."""
        return self._resumed

    def gradient(self, losses: Losses | None = None) -> dict[str, Tensor]:
        """Return the noisy mean gradient over records by each parameter.

        Args:
            losses: The loss of this step, where it is another than the session's, such as one with other random parts.

        Returns:
            By name, of the shape and type of the parameter.

        Raises:
            ArgumentError: If a parameter is used in a way whose gradients of single records are not known.
            BudgetError: If all steps that were paid for are done; nothing was drawn.
        """
        torch = require("torch", "neural")
        if not self.steps_left:
            raise BudgetError(
                f"all {self._steps} steps that were paid for are done; nothing was drawn. Ask for more steps when "
                "training begins"
            )
        self._ledger.note_step(self._token)
        self._noise.begin_step(self._done)
        device = next(iter(self._parameters.values())).device
        # Which record gets which draws must not depend on the others: nobody may know the seed.
        random = torch.Generator(device).manual_seed(self._noise.loss_seed())
        wanted = self._losses if losses is None else losses
        mean = self._noisy_mean(wanted, random)
        self._done += 1
        return mean

    def checkpoint(self, values: NDArray[Any]) -> None:
        """Write what was learned so far into the journal, if there is one; a resumed run goes on from the last.

        Args:
            values: All that the next step needs: parameters, and what an optimiser computed from gradients [numbers].

        Raises:
            ArgumentError: If no step was made, or the values are no finite numbers.
            ReleaseFileError: If the journal cannot be written.
        """
        self._ledger.record_checkpoint(self._token, Checkpoint(self._done, values))

    def _noisy_mean(self, losses: Losses, random: Generator) -> dict[str, Tensor]:
        torch, event = require("torch", "neural"), self._token.event
        assert isinstance(event, TrainingEvent)
        records = self._records.reveal_inside_privacy()
        slots = self._slots.reveal_inside_privacy()
        rows = slots[self._done % len(slots)]
        taken = rows[self._noise.sampled_records(rows.size, event.rate)]
        total: NDArray[np.float64] | None = None
        # In parts of one size, as the few that are left over would take as long as many.
        n_parts = -(-len(taken) // RECORDS_AT_ONCE)
        for part_taken in np.array_split(taken, n_parts) if n_parts > 1 else [taken]:
            some = torch.as_tensor(part_taken, device=records.device)
            parts = clipped_sum(losses, self._parameters, records[some].long(), random, clip=event.clip)
            summed = torch.cat([part.flatten() for part in parts.values()]).cpu().numpy()
            # In place, here and below: fresh memory for all parameters costs more than the arithmetic.
            total = summed if total is None else np.add(total, summed, out=total)
        assert total is not None
        mean = self._sums.release(Sensitive(total))
        mean /= self._expected
        released = torch.as_tensor(mean)
        wanted = [*self._parameters.values()]
        if len({p.dtype for p in wanted}) == 1:  # all at once
            released = released.to(wanted[0])
        pieces = released.split([p.numel() for p in wanted])
        return {
            name: piece.reshape(p.shape).to(p)
            for (name, p), piece in zip(self._parameters.items(), pieces, strict=True)
        }

    def __repr__(self) -> str:  # shows no number of records
        return f"TrainingSession({self._done} of {self._steps} steps)"


class NoisySums:
    """Releases the noisy sum of a training's every step, as many as were paid for.

    Args:
        token: From the ledger, for a training event.
        noise: Draws the noise.
        done: Steps that were released before, by a run that this one resumes.

    Raises:
        ArgumentError: If the event is of another kind.
    """

    def __init__(self, token: Token, noise: TrainingNoise, *, done: int = 0) -> None:
        event = token.consume()
        if not isinstance(event, TrainingEvent):
            raise ArgumentError(
                f"the token pays for {type(event).__name__}, which does not release gradients"
            )
        self._event = event
        self._noise = noise
        self._grid, self._scale = Grid(event.clip, event.cells), noise_scale(event)
        self._done = done
        self._lock = threading.Lock()

    @property
    def done(self) -> int:
        """Number of steps that were released."""
        return self._done

    def release(self, total: Sensitive[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return a sum of clipped gradients of records sampled at the event's rate, with noise.

        Args:
            total: The exact sum [cells], float64.

        Raises:
            ArgumentError: If the sum has another shape than was paid for.
            BudgetError: If all steps that were paid for are done; nothing was drawn.
        """
        exact = revealed(total)
        if not isinstance(exact, np.ndarray) or exact.dtype != np.float64 or exact.ndim != 1:
            raise ArgumentError("a sum of gradients must be a Sensitive numpy array of float64 with one axis")
        require_cells(exact.size, self._event.cells)
        with self._lock:
            if self._done >= self._event.steps:
                raise BudgetError(
                    f"all {self._event.steps} steps that were paid for are done; nothing was drawn. Ask for more steps "
                    "when training begins"
                )
            self._done += 1
        noisy = self._noise.gaussian_vector(self._grid.rounded(exact), self._scale)
        released: NDArray[np.float64] = np.multiply(noisy, self._grid.unit)
        return released


def _cells(parameters: Mapping[str, Tensor]) -> int:
    torch = require("torch", "neural")
    if not parameters or not all(isinstance(p, torch.Tensor) for p in parameters.values()):
        raise ArgumentError("parameters must be tensors of torch by their names, at least one")
    if any(not p.is_floating_point() or not p.numel() for p in parameters.values()):
        raise ArgumentError("each parameter must hold floats, at least one")
    return sum(int(p.numel()) for p in parameters.values())


def _try_out(losses: Losses, parameters: Mapping[str, Tensor], sizes: tuple[int, ...]) -> None:
    """Refuse a loss that depends on other records, by records that are made up of the domain's codes."""
    torch = require("torch", "neural")
    device = next(iter(parameters.values())).device
    spread = np.random.default_rng(0).integers(0, sizes, (_MADE_UP, len(sizes)))
    spread[0], spread[1] = 0, np.asarray(sizes) - 1
    require_separate(
        losses, parameters, torch.as_tensor(spread, device=device), torch.Generator(device).manual_seed(0)
    )
