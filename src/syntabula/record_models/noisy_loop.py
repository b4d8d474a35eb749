"""The training loop of networks that are trained on records with a budget: noisy gradients, and no look at a loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise, positive, real
from syntabula._extras import require
from syntabula._planning import TRIED_RECORDS, Progress, times_are_asked
from syntabula._threads import threads_at_once, training_threads
from syntabula.errors import ReleaseFileError
from syntabula.models.row_fitting import pick_device
from syntabula.privacy.journal import Checkpoint
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.training.per_record import clipped_sum
from syntabula.privacy.training.records import MOST_RECORDS, RECORDS_AT_ONCE, RecordCurator, TrainingSession
from syntabula.record_models.adamw import AdamW, move_mean, rate_of_steps, warmth
from syntabula.record_models.loop import (
    TRAIN,
    Trainable,
    Training,
    arrays_of,
)
from syntabula.record_models.training_memory import require_room, training_memory

if TYPE_CHECKING:
    from torch import Generator, Tensor

_STEPS, _LEAST_STEPS, _MOST_STEPS = 300, 100, 2000
_CHECKPOINTS = 5
_LARGEST = 1e15
_TIMED_STEPS = 3
_TIMED_SCALE = 2.0**30


@dataclass(frozen=True, kw_only=True)
class NoisyTraining:
    """How a network is trained with a budget: each step is a noisy mean of the clipped gradients of sampled records.

    All steps are paid for before the first one. No loss is seen, no record held out and no step left out. What is kept
    is the running mean of the weights after the last step. Device and threads are those of `Training`.

    Attributes:
        steps: Exactly so many; None for 300 times the square root of epsilon, from 100 to 2,000.
        rate: Chance of each record to be in a step. Where a unit has several rows, a step takes one of them at most, and
            the rate is at most one over `rows_per_unit`.
        clip: Largest L2 length of the gradient of a record's loss.
        learning_rate: Of AdamW, at its largest; it grows for the first steps and then falls along half a cosine to zero.
            A step moves each weight by about as much, so it is from 1e-7 to 1: with others nothing is learned, and all
            steps would be paid for.
        average: How much of the running mean of the weights is kept at each step.
    """

    steps: int | None = None
    rate: float = 1 / 25
    clip: float = 1.0
    learning_rate: float = 1e-2
    average: float = 0.98

    def __post_init__(self) -> None:
        normalise(
            self,
            steps=count().or_none,
            rate=real("a number above 0 and at most 1", lambda number: 0 < number <= 1),
            clip=positive,
            learning_rate=rate_of_steps,
            average=real("a number of at least 0 and below 1", lambda number: 0 <= number < 1),
        )

    def steps_for(self, epsilon: float) -> int:
        """Return the steps for a budget of so much epsilon: more of them where each needs less noise."""
        if self.steps is not None:
            return self.steps
        return min(max(math.ceil(_STEPS * math.sqrt(epsilon)), _LEAST_STEPS), _MOST_STEPS)

    def batch_of(self, n_rows: int) -> int:
        """Return how many of so many records are in a step, on average."""
        return max(round(min(self.rate * n_rows, MOST_RECORDS)), 1)


@dataclass(frozen=True, kw_only=True)
class PaidTraining:
    """A training as it is paid for; all of it is public or released.

    Attributes:
        training: Device and threads.
        noisy: All other options.
        steps: Number of steps.
        total: Number of records, as it was released.
        share: Part of the whole budget.
        seed: Of the first weights.
    """

    training: Training
    noisy: NoisyTraining
    steps: int
    total: float
    share: Fraction
    seed: int

    @property
    def rate(self) -> float:
        """Chance of a record to be in a step; lower than asked for where that would be more than a step may take."""
        return min(self.noisy.rate, 0.9 * MOST_RECORDS / self.total)


@runtime_checkable
class Followed(Trainable, Protocol):
    """A network with public rows that follow its weights, and that the losses of records depend on."""

    @property
    def following(self) -> list[Tensor]:
        """The rows and what belongs to them, which a resumed run goes on from: float32, or whole numbers below 2^24."""
        ...

    def follow(self, step: int) -> None:
        """Change these in place before a step, by themselves, the weights and the number of the step alone."""
        ...


def train_with_noise(
    make: Callable[[Any, Generator], Trainable],
    places: Sequence[NDArray[np.intp]],
    door: RecordCurator,
    paid: PaidTraining,
    progress: Progress,
) -> dict[str, np.ndarray]:
    """Train a network by noisy gradients of its records' losses and return the running mean of its weights.

    A journal holds the state after each fifth of the steps and after the last, so that what anyone sees comes from
    steps of one run alone (`privacy.resume`).

    Args:
        make: Returns the untrained network on a device.
        places: For each column, what the network is given for each of its codes.
        door: Gives the gradients.
        paid: What is paid for.
        progress: Told the time that is left.

    Raises:
        ArgumentError: If there is no such device, or the gradient of a single record is not known.
        BudgetError: If the budget is too small for these steps; nothing was drawn for them.
        BudgetExceededError: If the ledger cannot pay.
        MissingExtraError: If torch is not installed.
        ResourceError: If memory runs out; what was paid for is in the journal, if there is one.
    """
    torch = require("torch", "neural")
    training, noisy, steps = paid.training, paid.noisy, paid.steps
    device = pick_device(training.device)
    with training_threads(training.threads), training_memory(device):
        network = make(device, torch.Generator(device).manual_seed(paid.seed))
        tables = [torch.as_tensor(table, device=device) for table in places]

        def losses(codes: Tensor, random: Generator) -> Tensor:
            placed = [table[codes[:, column]] for column, table in enumerate(tables)]
            return network.losses(torch.stack(placed, 1), random)

        weights = _Weights(network, noisy)
        session = door.training(
            losses,
            network.parameters,
            rate=min(paid.rate, door.most_rate),
            steps=steps,
            clip=noisy.clip,
            total=paid.total,
            share=paid.share,
            step=TRAIN,
        )
        if session.resumed is not None:
            weights.restore(session.resumed)
        _take_steps(session, weights, network, steps, progress)
        return arrays_of(dict(zip(network.parameters, weights.mean, strict=True)))


class _Weights:
    """Weights, their running mean, and the optimiser that changes both by gradients that hold noise."""

    def __init__(self, network: Trainable, noisy: NoisyTraining) -> None:
        self._weights = list(network.parameters.values())
        self._beside = network.following if isinstance(network, Followed) else []
        self.mean = [w.detach().clone() for w in self._weights]
        self._noisy = noisy
        self._optimiser = AdamW([w.requires_grad_() for w in self._weights])

    def step(self, done: float, step: int) -> None:
        """Take one step by the weights' gradients.

        Args:
            done: Part of the training that is done.
            step: Number of steps before this one.
        """
        self._optimiser.step(self._noisy.learning_rate * warmth(done, step))
        move_mean(self.mean, self._weights, self._noisy.average, step)

    def state(self) -> NDArray[np.float32]:
        """Return all that the next step goes on from [numbers]."""
        torch = require("torch", "neural")
        parts = [*self._held, *(beside.float() for beside in self._beside)]
        found: NDArray[np.float32] = torch.cat([part.detach().flatten() for part in parts]).cpu().numpy()
        return found

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take up the state of a checkpoint."""
        torch = require("torch", "neural")
        device = self._weights[0].device
        restored = [*self._held, *self._beside]
        sizes = [tensor.numel() for tensor in restored]
        values = np.array(checkpoint.values, np.float32)
        if values.size != sum(sizes):
            raise ReleaseFileError(
                "the journal is damaged: its checkpoint does not fit the network; put back the file as the run left it"
            )
        pieces = torch.as_tensor(values, device=device).split(sizes)
        with torch.no_grad():
            for tensor, piece in zip(restored, pieces, strict=True):
                tensor.copy_(piece.reshape(tensor.shape))
            for taken in self._optimiser.taken:
                taken.fill_(checkpoint.steps)

    @property
    def _held(self) -> list[Tensor]:
        """All that changes by gradients, as a checkpoint holds it."""
        return [*self._weights, *self.mean, *self._optimiser.first, *self._optimiser.second]


def _take_steps(
    session: TrainingSession,
    weights: _Weights,
    network: Trainable,
    steps: int,
    progress: Progress,
) -> None:
    every, first = max(steps // _CHECKPOINTS, 1), steps - session.steps_left
    began = perf_counter()
    progress(TRAIN, first / steps)
    for step in range(first, steps):
        if isinstance(network, Followed):
            network.follow(step)
        for name, gradient in session.gradient().items():
            # Whatever clip and noise are, moments stay numbers.
            network.parameters[name].grad = gradient.clamp(-_LARGEST, _LARGEST)
        weights.step(step / steps, step)
        if (step + 1) % every == 0 or step + 1 == steps:
            session.checkpoint(weights.state())
        if (step + 1) % 10 == 0:
            left = (perf_counter() - began) / (step + 1 - first) * (steps - step - 1)
            progress(f"{TRAIN}: at most {left:,.0f} s left", (step + 1) / steps)
    progress(TRAIN, 1.0)


def seconds_per_noisy_step(
    make: Callable[[Any, Generator], Trainable],
    sizes: tuple[int, ...],
    training: Training,
    noisy: NoisyTraining,
    batch: int,
    *,
    n_weights: int,
) -> float:
    """Return how long a step takes on a free machine, measured on so many records of random codes below `sizes`.

    Raises:
        ResourceError: If the memory of this machine cannot hold a network of so many weights in training.
    """
    taken: list[float] = []
    torch = require("torch", "neural")
    device = pick_device(training.device)
    # Weights, mean and two moments; sums, noise and what it is drawn from in 64 bits.
    require_room(10 * n_weights, device)
    repeats = _TIMED_STEPS if times_are_asked() else 1
    on_processor = device.type == "cpu"
    clock, share = (process_time, threads_at_once(training.threads)) if on_processor else (perf_counter, 1)
    # A step takes many records so many at a time.
    tried = min(batch, RECORDS_AT_ONCE if times_are_asked() else TRIED_RECORDS)
    with training_threads(training.threads):
        random = torch.Generator(device).manual_seed(0)
        network = make(device, random)
        parameters = network.parameters
        table = torch.rand((tried, len(sizes)), generator=random, device=device)
        table = (table * torch.tensor(sizes, device=device)).long()
        weights, noise = _Weights(network, noisy), SeededNoise(0)
        for step in range(repeats):
            began = clock()
            sums = clipped_sum(network.losses, parameters, table, random, clip=noisy.clip)
            for name, p in parameters.items():
                p.grad = sums[name].to(p)
            weights.step(0.5, step)
            summed = (clock() - began) / share
            began = clock()
            if isinstance(network, Followed):
                network.follow(step)
            noise.gaussian_vector(
                np.zeros(sum(p.numel() for p in parameters.values()), np.int64), _TIMED_SCALE
            )
            taken.append(summed * batch / tried + (clock() - began) / share)
    return min(taken)
