"""One training loop for all models that are trained on records without privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Protocol, get_args, runtime_checkable

import numpy as np

from syntabula._arguments import count, normalise, one_of, positive, real, words
from syntabula._extras import require
from syntabula._float32 import training_products
from syntabula._planning import TRIED_RECORDS, Progress, times_are_asked
from syntabula._spaces import Choice, Range, tunable
from syntabula._threads import MOST_TRAINING_THREADS, threads_at_once, training_threads
from syntabula.errors import TrainingError
from syntabula.models.row_fitting import pick_device
from syntabula.privacy.journal import Checkpoint
from syntabula.record_models.adamw import AdamW, move_mean, rate_of_steps, warmth
from syntabula.record_models.checkpoints import PARTS, Checkpoints, go_on, packed, unpacked
from syntabula.record_models.looks import Start, loss_at
from syntabula.record_models.precision import Precision, let_round
from syntabula.record_models.too_short import less_probable
from syntabula.record_models.training_memory import require_room, training_memory

if TYPE_CHECKING:
    from torch import Generator, Tensor

TRAIN = "train on the records"

_PASSES = 30
_LEAST_STEPS, _MOST_STEPS = 1000, 6000
_LOOKS, _HELD_OUT_RECORDS = 25, 4000
_TIMED_STEPS = 3
_LONG_SECONDS = 0.2
"""Steps that take as long are timed twice: the second is as fast as any, and their clock is exact."""
_LAST_PART = 0.8


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a network is trained on records.

    The learning rate grows for the first steps and then falls along half a cosine to zero. What is kept is a running
    mean of the weights, as it was when records held out from training were most probable. Where these gain nothing more,
    training goes back to that mean and takes the last fifth of its steps from there, at a low rate.

    Attributes:
        steps: At most so many batches; None for 30 passes over the records, from 1,000 to 6,000 steps.
        seconds: Training ends after so long at the latest, the learning rate having come down by then; None for no
            limit. The model then depends on how fast the machine is. With a budget, which pays for all steps before the
            first, there are as many as a trial on made-up records says this is long enough for, on a machine that does
            nothing else.
        batch: Records in a batch; all of them where there are fewer.
        learning_rate: Of AdamW, at its largest; of a circuit, how far its expected counts go to those of a batch. A step
            moves each weight by about as much, so it is from 1e-7, below which float32 weights stay where they are, to 1.
        held_out: Part of the records that is never trained on, to see when to stop; 0 for none.
        patience: The last fifth begins when so many looks at the held-out records, of 25, brought nothing, and ends
            when as many brought nothing again.
        average: How much of the running mean of the weights is kept at each step.
        threads: How many train on a processor. The same table and seed of the method give the same model for the same
            number.
        device: "auto" (a GPU if there is one), or a device as torch names it.
        precision: "auto" rounds the products of large matrices to bfloat16 where the processor multiplies these in
            hardware, so that another processor gives other rows, and all products to TF32 on a GPU that does; "float32"
            never does. No gradient of records to which noise is added is made of rounded products.
    """

    steps: int | None = None
    seconds: float | None = None
    learning_rate: float = tunable(2e-3, Range(low=3e-4, high=1e-2, log=True))
    batch: int = tunable(512, Choice((128, 256, 512, 1024, 2048)))
    held_out: float = 0.1
    patience: int = 4
    average: float = 0.998
    threads: int = 1
    device: str = "auto"
    precision: Precision = "auto"

    def __post_init__(self) -> None:
        part = real("a number of at least 0 and below 1", lambda number: 0 <= number < 1)
        normalise(
            self,
            steps=count().or_none,
            seconds=positive.or_none,
            batch=count(),
            learning_rate=rate_of_steps,
            held_out=part,
            patience=count(),
            average=part,
            threads=count(1, MOST_TRAINING_THREADS),
            device=words('"auto" or a name of torch, such as "cpu" or "cuda:0"'),
            precision=one_of(*get_args(Precision)),
        )

    def steps_for(self, n_rows: int) -> int:
        """Return the most steps for a table of so many rows."""
        if self.steps is not None:
            return self.steps
        wanted = math.ceil(_PASSES * (1 - self.held_out) * n_rows / self.batch)
        return min(max(wanted, _LEAST_STEPS), _MOST_STEPS)

    def seconds_for(self, n_rows: int, each_step: float) -> float:
        """Return the most seconds for a table of so many rows, from those of a step."""
        return min(self.steps_for(n_rows) * each_step, math.inf if self.seconds is None else self.seconds)

    def products(self, device: Any) -> AbstractContextManager[None]:
        """Return within what a device multiplies matrices as `precision` says."""
        return training_products(rounded_by_gpus=self.precision == "auto" and device.type == "cuda")

    def batch_of(self, n_rows: int) -> int:
        """Return the size of a batch from so many records."""
        return max(min(self.batch, n_rows), 1)


@dataclass(frozen=True, kw_only=True)
class Descent:
    """How a kind of network goes down its loss, whatever the user's options.

    Attributes:
        betas: How much AdamW keeps at each step of its mean gradient, and of that of the squares.
        longest_gradient: Longer ones are shortened to this.
        is_contest: Whether two losses pull against each other, so that neither says what was learned.
    """

    betas: tuple[float, float] = (0.9, 0.999)
    longest_gradient: float = 5.0
    is_contest: bool = False


class Trainable(Protocol):
    """A network and its loss."""

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """All that training changes, by name."""
        ...

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return the loss of each record [batch], or several that are added up and shown one by one [batch, losses].

        Args:
            records: [batch, columns], as `train` was given them, or what `picks` makes of them.
            random: What else is drawn, drawn from this.
        """
        ...


Pick = Callable[[int, "Generator"], "Tensor"]
"""Returns the records of a batch of about so many."""


def evenly(table: Tensor) -> Pick:
    """Return the pick of batches in which each record is as likely as any other."""
    torch = require("torch", "neural")

    def pick(n: int, random: Generator) -> Tensor:
        # Faster than by brackets.
        drawn: Tensor = table.index_select(
            0, torch.randint(len(table), (n,), generator=random, device=table.device)
        )
        return drawn

    return pick


@runtime_checkable
class SelfMoving(Trainable, Protocol):
    """A model that knows a better step than one down the gradient of its loss, as one of expectation-maximisation."""

    def moved(self, records: Tensor, rate: float) -> Tensor:
        """Change the parameters in place, the more the larger the rate; return the loss of each record [batch]."""
        ...


def train(
    make: Callable[[Any, Generator], Trainable],
    records: np.ndarray,
    training: Training,
    progress: Progress,
    *,
    seed: int,
    checkpoints: Checkpoints | None = None,
    descent: Descent = Descent(),
    picks: Callable[[Tensor], Pick] = evenly,
) -> dict[str, np.ndarray]:
    """Train a network and return its weights.

    The state is kept after each fifth of the steps; a training that goes on from there ends with the same weights.

    Args:
        make: Returns the untrained network on a device.
        records: Integers [rows, columns]; no rows leave the network as it is.
        training: How.
        progress: Told the time that is left, and the loss of held-out records.
        seed: Of the first weights, the batches and the held-out records.
        checkpoints: Where the state is kept, and may have been kept before; None for nowhere.
        descent: How the loss is gone down.
        picks: Returns the pick of batches from the records that are trained on [rows, columns].

    Raises:
        ArgumentError: If there is no such device.
        MissingExtraError: If torch is not installed.
        ReleaseFileError: If what was kept is of another network, or the state cannot be kept.
        ResourceError: If memory runs out.
        TrainingError: If the loss is no number any more, or records are less probable in the end than at the start.
    """
    torch = require("torch", "neural")
    device = pick_device(training.device)
    room = training_memory(device, batch=training.batch)
    with training_threads(training.threads), training.products(device), room:
        random = torch.Generator(device).manual_seed(seed)
        network = make(device, random)
        if not len(records):
            return arrays_of(network.parameters)
        table = torch.as_tensor(records, device=device)
        order = torch.randperm(len(table), generator=random, device=device)
        kept_back = min(int(training.held_out * len(table)), len(table) - 1)
        looked_at = table[order[:kept_back][:_HELD_OUT_RECORDS]]
        run = _Run(network, table[order[kept_back:]], looked_at, random, training, descent, picks)
        return arrays_of(run.to_the_end(training.steps_for(len(records)), progress, checkpoints))


class _Run:
    """One training: the weights, their running mean, and the best of those that were looked at."""

    def __init__(
        self,
        network: Trainable,
        table: Tensor,
        held_out: Tensor,
        random: Generator,
        training: Training,
        descent: Descent,
        picks: Callable[[Tensor], Pick],
    ) -> None:
        let_round(network, training.precision, table.device)
        self._network, self._held_out, self._random = network, held_out, random
        self._training, self._descent = training, descent
        self._table, self._pick, self._batch = table, picks(table), min(training.batch, len(table))
        self._weights = list(network.parameters.values())
        self._mean = [w.detach().clone() for w in self._weights]
        self._best: list[Tensor] | None = None
        self._least, self._since = math.inf, 0
        self._steps, self._left_out, self._done, self._elapsed = 0, 0, 0.0, 0.0
        self._optimiser = AdamW([w.requires_grad_() for w in self._weights], descent.betas)

    def to_the_end(
        self, steps: int, progress: Progress, checkpoints: Checkpoints | None = None
    ) -> dict[str, Tensor]:
        """Take so many steps, or as many of them as time and held-out records allow."""
        start = None if self._descent.is_contest else Start.of(self._network, self._table, self._batch)
        if checkpoints is not None and checkpoints.resumed is not None:
            self._restore(checkpoints.resumed)
        look_every, keep_every = max(steps // _LOOKS, 1), max(steps // PARTS, 1)
        began, shown = perf_counter() - self._elapsed, TRAIN
        progress(TRAIN, self._done)
        while self._done < 1:
            losses = self._step(self._done, self._steps)
            self._steps += 1
            step, elapsed = self._steps, perf_counter() - began
            self._done = max((step + self._left_out) / steps, elapsed / (self._training.seconds or math.inf))
            if step % look_every == 0 or self._done >= 1:
                self._check(losses, step)
                gains_nothing = self._look()
                if gains_nothing and self._done < _LAST_PART:
                    self._left_out = math.ceil(_LAST_PART * steps) - step
                    self._done = _LAST_PART
                    self._go_back()
                elif gains_nothing or self._done >= 1:
                    break
                left = elapsed / step * (steps - step - self._left_out)
                if self._training.seconds is not None:
                    left = min(left, self._training.seconds - elapsed)
                shown = f"{TRAIN}: loss {self._seen(losses)}, at most {left:,.0f} s left"
            if checkpoints is not None and step % keep_every == 0:
                self._elapsed = elapsed
                checkpoints.checkpoint(step, packed(self._state()))
            if step % 10 == 0:
                progress(shown, self._done)
        progress(TRAIN, 1.0)
        for weight in self._weights:
            weight.requires_grad_(False)
        found = self._mean if self._best is None else self._best
        if start is not None and not start.is_kept(found, self._steps):
            raise self._astray(less_probable(self._steps, self._training.steps, self._training.seconds))
        return dict(zip(self._network.parameters, found, strict=True))

    def _state(self) -> list[Tensor]:
        """Return all that the next step goes on from; where there is no best mean yet, that of now stands for it."""
        torch = require("torch", "neural")
        moments = [*self._optimiser.taken, *self._optimiser.first, *self._optimiser.second]
        best = self._mean if self._best is None else self._best
        place = (self._left_out, self._done, self._elapsed, self._least, self._since, self._best is not None)
        numbers = torch.tensor(place, dtype=torch.float64)
        return [*best, *self._weights, *self._mean, *moments, numbers, self._random.get_state()]

    def _restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a state that was kept."""
        torch, n, state = require("torch", "neural"), len(self._weights), self._state()
        *tensors, numbers, random = unpacked(checkpoint.values, state)
        with torch.no_grad():
            torch._foreach_copy_(state[n:-2], tensors[n:])
        left_out, self._done, self._elapsed, self._least, since, has_best = numbers.tolist()
        self._steps, self._left_out, self._since = checkpoint.steps, int(left_out), int(since)
        self._best = tensors[:n] if has_best else None
        go_on(self._random, random)

    def _step(self, done: float, step: int) -> Tensor:
        rate = self._training.learning_rate * warmth(done, step)
        losses = self._moved(self._pick(self._batch, self._random), rate)
        move_mean(self._mean, self._weights, self._training.average, step)
        return losses.detach()

    def _moved(self, records: Tensor, rate: float) -> Tensor:
        """Change the weights by what a batch says; return its loss."""
        if isinstance(self._network, SelfMoving):
            return self._network.moved(records, rate).mean(0)
        losses: Tensor = self._network.losses(records, self._random).mean(0)
        self._optimiser.forget_gradients()
        losses.sum().backward()  # type: ignore[no-untyped-call]
        if self._descent.longest_gradient < math.inf:
            self._optimiser.shorten_gradients(self._descent.longest_gradient)
        self._optimiser.step(rate)
        return losses

    def _look(self) -> bool:
        """Compare the running mean with the best one on the held-out records; say whether to stop."""
        if not len(self._held_out):
            return False
        loss = loss_at(self._mean, self._network, self._held_out, max(self._training.batch, 512))
        if loss < self._least:
            self._least, self._since = loss, 0
            self._best = [m.clone() for m in self._mean]
        else:
            self._since += 1
        return self._since >= self._training.patience

    def _go_back(self) -> None:
        """Take the best mean for the weights; where no look found a number, go on, and say so in the end."""
        torch = require("torch", "neural")
        with torch.no_grad():
            for weights in (self._weights, self._mean):
                torch._foreach_copy_(weights, self._best or self._mean)
        self._since = 0

    def _check(self, losses: Tensor, step: int) -> None:
        if not bool(losses.isfinite().all()):
            raise self._astray(f"the loss was no finite number any more at step {step:,} of the training;")

    def _astray(self, why: str) -> TrainingError:
        return TrainingError(f"{why} lower learning_rate, which is {self._training.learning_rate:g}")

    def _seen(self, losses: Tensor) -> str:
        seen = [self._least] if len(self._held_out) else losses.reshape(-1).tolist()
        return " and ".join(f"{loss:.4g}" for loss in seen)


def arrays_of(weights: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Return weights as arrays, by name."""
    return {name: weight.detach().cpu().numpy() for name, weight in weights.items()}


def seconds_per_step(
    make: Callable[[Any, Generator], Trainable],
    sizes: tuple[int, ...],
    training: Training,
    batch: int,
    *,
    n_weights: int,
    descent: Descent = Descent(),
    picks: Callable[[Tensor], Pick] = evenly,
) -> float:
    """Return how long a step takes on a free machine, measured on a batch of random codes below `sizes`."""
    taken: list[float] = []
    torch, device = require("torch", "neural"), pick_device(training.device)
    # Weights, gradient, two moments and mean: what memory cannot hold is a ResourceError.
    require_room(5 * n_weights, device)
    repeats = _TIMED_STEPS if times_are_asked() else 1
    batch = batch if times_are_asked() else min(batch, TRIED_RECORDS)
    on_processor = device.type == "cpu"
    # What others do on the machine just now is not to be in it.
    clock, share = (process_time, threads_at_once(training.threads)) if on_processor else (perf_counter, 1)
    with training_threads(training.threads), training.products(device):
        random = torch.Generator(device).manual_seed(0)
        network = make(device, random)
        places = torch.rand((batch, len(sizes)), generator=random, device=device)
        table = (places * torch.tensor(sizes, device=device)).long()
        run = _Run(network, table, table[:0], random, training, descent, picks)
        for step in range(repeats):
            began = clock()
            float(run._step(0.5, step).sum())
            taken.append((clock() - began) / share)
            if step and taken[-1] > _LONG_SECONDS:
                break
    return min(taken)
