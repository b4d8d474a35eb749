"""One training loop for all networks that are trained on records without privacy, and how all of them are trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from syntabula._arguments import count, normalise, positive, real, words
from syntabula._extras import require
from syntabula._planning import Progress
from syntabula.errors import TrainingError
from syntabula.models.row_fitting import pick_device, training_threads

if TYPE_CHECKING:
    from torch import Generator, Tensor

TRAIN = "train on the records"

_PASSES = 30
_LEAST_STEPS, _MOST_STEPS = 1000, 6000
_LOOKS = 25
_HELD_OUT_RECORDS = 4000
_WARM_UP = 0.03
_LONGEST_GRADIENT = 5.0
_WEIGHT_DECAY = 1e-4
_MOMENTS = ("exp_avg", "exp_avg_sq")
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
            limit. The model then depends on how fast the machine is.
        batch: Records in a batch; all of them where there are fewer.
        learning_rate: Of AdamW, at its largest.
        held_out: Part of the records that is never trained on, to see when to stop; 0 for none.
        patience: The last fifth begins when so many looks at the held-out records, of 25, brought nothing, and ends
            when as many brought nothing again.
        average: How much of the running mean of the weights is kept at each step.
        threads: How many train on a processor. The same table and seed of the method give the same model for the same
            number.
        device: "auto" (a GPU if there is one), or a device as torch names it.
    """

    steps: int | None = None
    seconds: float | None = None
    batch: int = 512
    learning_rate: float = 2e-3
    held_out: float = 0.1
    patience: int = 4
    average: float = 0.998
    threads: int = 1
    device: str = "auto"

    def __post_init__(self) -> None:
        part = real("a number of at least 0 and below 1", lambda number: 0 <= number < 1)
        normalise(
            self,
            steps=count().or_none,
            seconds=positive.or_none,
            batch=count(),
            learning_rate=positive,
            held_out=part,
            patience=count(),
            average=part,
            threads=count(),
            device=words('"auto" or a name of torch, such as "cpu" or "cuda:0"'),
        )

    def steps_for(self, n_rows: int) -> int:
        """Return the most steps for a table of so many rows."""
        if self.steps is not None:
            return self.steps
        wanted = math.ceil(_PASSES * (1 - self.held_out) * n_rows / self.batch)
        return min(max(wanted, _LEAST_STEPS), _MOST_STEPS)


class Trainable(Protocol):
    """A network and its loss."""

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """All that training changes, by name."""
        ...

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return the loss of each record [batch].

        Args:
            records: [batch, columns], as `train` was given them.
            random: What else is drawn, drawn from this.
        """
        ...


def train(
    make: Callable[[Any, Generator], Trainable],
    records: np.ndarray,
    training: Training,
    progress: Progress,
    *,
    seed: int,
) -> dict[str, np.ndarray]:
    """Train a network and return its weights.

    Args:
        make: Returns the untrained network on a device.
        records: Integers [rows, columns]; no rows leave the network as it is.
        training: How.
        progress: Told the time that is left, and the loss of held-out records.
        seed: Of the first weights, the batches and the held-out records.

    Raises:
        ArgumentError: If there is no such device.
        MissingExtraError: If torch is not installed.
        TrainingError: If the loss is no number any more.
    """
    torch = require("torch", "neural")
    device = pick_device(training.device)
    with training_threads(training.threads):
        random = torch.Generator(device).manual_seed(seed)
        network = make(device, random)
        if not len(records):
            return arrays_of(network.parameters)
        table = torch.as_tensor(records, device=device)
        order = torch.randperm(len(table), generator=random, device=device)
        kept_back = min(int(training.held_out * len(table)), len(table) - 1)
        looked_at = table[order[:kept_back][:_HELD_OUT_RECORDS]]
        run = _Run(network, table[order[kept_back:]], looked_at, random, training)
        return arrays_of(run.to_the_end(training.steps_for(len(records)), progress))


class Descent:
    """Weights, their running mean, and the optimiser that changes both.

    Args:
        weights: What is trained.
        learning_rate: Of AdamW, at its largest.
        average: How much of the running mean is kept at each step.
    """

    def __init__(self, weights: list[Tensor], *, learning_rate: float, average: float) -> None:
        torch = require("torch", "neural")
        self.weights = weights
        self.mean = [w.detach().clone() for w in weights]
        self._learning_rate, self._average = learning_rate, average
        self._optimiser = torch.optim.AdamW(
            [w.requires_grad_() for w in weights], weight_decay=_WEIGHT_DECAY, fused=True
        )

    def step(self, done: float, step: int) -> None:
        """Take one step by the weights' gradients, which are then used up.

        Args:
            done: Part of the training that is done, of which the learning rate follows.
            step: Number of steps before this one.
        """
        torch = require("torch", "neural")
        warm = min(1.0, max(done / _WARM_UP, (step + 1) / 50))
        rate = self._learning_rate * warm * (1 + math.cos(math.pi * done)) / 2
        self._optimiser.param_groups[0]["lr"] = rate
        self._optimiser.step()
        self._optimiser.zero_grad()
        with torch.no_grad():
            # The first steps are forgotten faster.
            kept = min(self._average, (1 + step) / (10 + step))
            torch._foreach_lerp_(self.mean, self.weights, 1 - kept)

    def state(self) -> np.ndarray:
        """Return all that the next step goes on from [numbers]."""
        torch = require("torch", "neural")
        moments = [self._optimiser.state[w] for w in self.weights]
        parts = [*self.weights, *self.mean, *(m[name] for name in _MOMENTS for m in moments)]
        found: np.ndarray = torch.cat([part.detach().flatten() for part in parts]).cpu().numpy()
        return found

    def restore(self, state: np.ndarray, steps: int) -> None:
        """Take up the state after so many steps."""
        torch = require("torch", "neural")
        device = self.weights[0].device
        sizes = [w.numel() for w in self.weights] * (2 + len(_MOMENTS))
        pieces = torch.tensor(np.asarray(state, np.float32), device=device).split(sizes)
        n = len(self.weights)
        with torch.no_grad():
            for place, weight in enumerate(self.weights):
                parts = [piece.reshape(weight.shape) for piece in pieces[place::n]]
                weight.copy_(parts[0])
                self.mean[place].copy_(parts[1])
                done = torch.tensor(float(steps), device=device)
                moments = {name: p.clone() for name, p in zip(_MOMENTS, parts[2:], strict=True)}
                self._optimiser.state[weight] = {"step": done, **moments}


class _Run:
    """One training: the weights, their running mean, and the best of those that were looked at."""

    def __init__(
        self, network: Trainable, table: Tensor, held_out: Tensor, random: Generator, training: Training
    ) -> None:
        self._network, self._table, self._held_out = network, table, held_out
        self._random, self._training = random, training
        self._descent = Descent(
            list(network.parameters.values()),
            learning_rate=training.learning_rate,
            average=training.average,
        )
        self._weights, self._mean = self._descent.weights, self._descent.mean
        self._best: list[Tensor] | None = None
        self._least, self._since = math.inf, 0

    def to_the_end(self, steps: int, progress: Progress) -> dict[str, Tensor]:
        """Take so many steps, or as many of them as time and held-out records allow."""
        look_every = max(steps // _LOOKS, 1)
        began, shown = perf_counter(), TRAIN
        step, left_out, done = 0, 0, 0.0
        progress(TRAIN, 0.0)
        while done < 1:
            loss = self._step(done, step)
            step += 1
            elapsed = perf_counter() - began
            done = max((step + left_out) / steps, elapsed / (self._training.seconds or math.inf))
            if step % look_every == 0 or done >= 1:
                self._check(float(loss), step)
                gains_nothing = self._look()
                if gains_nothing and done < _LAST_PART:
                    left_out = math.ceil(_LAST_PART * steps) - step
                    done = _LAST_PART
                    self._go_back()
                elif gains_nothing or done >= 1:
                    break
                left = elapsed / step * (steps - step - left_out)
                if self._training.seconds is not None:
                    left = min(left, self._training.seconds - elapsed)
                shown = f"{TRAIN}: loss {self._seen(float(loss)):.4g}, at most {left:,.0f} s left"
            if step % 10 == 0:
                progress(shown, done)
        progress(TRAIN, 1.0)
        for weight in self._weights:
            weight.requires_grad_(False)
        found = self._mean if self._best is None else self._best
        return dict(zip(self._network.parameters, found, strict=True))

    def _step(self, done: float, step: int) -> Tensor:
        torch = require("torch", "neural")
        size = min(self._training.batch, len(self._table))
        drawn = torch.randint(len(self._table), (size,), generator=self._random, device=self._table.device)
        loss: Tensor = self._network.losses(self._table[drawn], self._random).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._weights, _LONGEST_GRADIENT)
        self._descent.step(done, step)
        return loss.detach()

    def _look(self) -> bool:
        """Compare the running mean with the best one on the held-out records; say whether to stop."""
        if not len(self._held_out):
            return False
        torch = require("torch", "neural")
        with torch.no_grad():
            now = [w.detach().clone() for w in self._weights]
            torch._foreach_copy_(self._weights, self._mean)
            # The same draws at each look.
            same = torch.Generator(self._table.device).manual_seed(0)
            parts = torch.split(self._held_out, max(self._training.batch, 512))
            loss = sum(float(self._network.losses(part, same).sum()) for part in parts) / len(self._held_out)
            torch._foreach_copy_(self._weights, now)
        if loss < self._least:
            self._least, self._since = loss, 0
            self._best = [m.clone() for m in self._mean]
        else:
            self._since += 1
        return self._since >= self._training.patience

    def _go_back(self) -> None:
        """Take the best mean for the weights."""
        assert self._best is not None
        torch = require("torch", "neural")
        with torch.no_grad():
            for weights in (self._weights, self._mean):
                torch._foreach_copy_(weights, self._best)
        self._since = 0

    def _check(self, loss: float, step: int) -> None:
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss was no finite number any more at step {step:,} of the training; lower learning_rate, which is "
                f"{self._training.learning_rate:g}"
            )

    def _seen(self, loss: float) -> float:
        return self._least if len(self._held_out) else loss


def arrays_of(weights: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Return weights as arrays, by name."""
    return {name: weight.detach().cpu().numpy() for name, weight in weights.items()}


def seconds_per_step(
    make: Callable[[Any, Generator], Trainable], sizes: tuple[int, ...], training: Training, batch: int
) -> float:
    """Return how long a step takes on a free machine, measured on a batch of random codes below `sizes`."""
    taken: list[float] = []
    torch = require("torch", "neural")
    device = pick_device(training.device)
    on_processor = device.type == "cpu"
    # What others do on the machine just now is not to be in it.
    clock, share = (process_time, training.threads) if on_processor else (perf_counter, 1)
    with training_threads(training.threads):
        random = torch.Generator(device).manual_seed(0)
        network = make(device, random)
        places = torch.rand((batch, len(sizes)), generator=random, device=device)
        table = (places * torch.tensor(sizes, device=device)).long()
        run = _Run(network, table, table[:0], random, training)
        for step in range(3):
            began = clock()
            float(run._step(0.5, step))
            taken.append((clock() - began) / share)
    return min(taken)
