"""A small transformer over the columns of a record, in torch."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from syntabula.metrics.comparison import Floats
from syntabula.metrics.utility.learning import Labels, Matrix, Task

if TYPE_CHECKING:
    import torch

_BATCH = 512
_HEADS = 4
_DRAWING = threading.Lock()


@dataclass(kw_only=True)
class TabularTransformer:
    """Attention over one token per column, as FT-Transformer (Gorishniy et al. 2021), small.

    A number becomes its value times a learned vector plus a learned bias, and a category a learned vector; an
    additional token summarises the record. SynMeter's paper names a transformer, but the class of that name in
    its code is a multi-layer perceptron; this is a transformer. Training stops when the loss on a held-out
    tenth of the rows has not improved for `patience` epochs.

    Attributes:
        task: The prediction task.
        seed: Seed of weights, batches and dropout; the state of the global generator is restored.
        n_layers: Layers of attention.
        width: Length of a token, a multiple of 4.
        dropout: Fraction of activations dropped.
        learning_rate: AdamW's learning rate.
        weight_decay: AdamW's weight decay.
        most_epochs: Most passes over the rows.
        patience: Epochs without improvement after which training stops.
    """

    task: Task
    seed: int = 0
    n_layers: int = 2
    width: int = 32
    dropout: float = 0.1
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    most_epochs: int = 20
    patience: int = 3
    _network: Any = field(default=None, init=False, repr=False)
    _scale: tuple[float, float] = field(default=(0.0, 1.0), init=False, repr=False)

    def fit(self, x: Matrix, y: Labels) -> Self:
        """Learn from features [rows, features] and classes 0 .. k - 1, or numbers [rows]."""
        import torch

        n_out = int(np.max(y)) + 1 if self.task.has_classes else 1
        losses = torch.nn.functional
        loss: Any = losses.cross_entropy if self.task.has_classes else losses.mse_loss
        # Torch's generator is shared by all threads.
        with _DRAWING, torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self._network = _network(self, n_out)
            if self.task.has_classes:
                target = torch.from_numpy(np.asarray(y, np.int64))
            else:
                self._scale = float(np.mean(y)), float(np.std(y)) or 1.0
                scaled = (np.asarray(y, np.float64) - self._scale[0]) / self._scale[1]
                target = torch.from_numpy(scaled.astype(np.float32)[:, None])
            self._train(self._tokens(x), target, loss)
        return self

    def predict(self, x: Matrix) -> Labels:
        """Return classes or numbers [rows]."""
        out = self._outputs(x)
        mean, deviation = self._scale
        values: Labels = out.argmax(axis=1) if self.task.has_classes else out[:, 0] * deviation + mean
        return values

    def predict_proba(self, x: Matrix) -> Floats:
        """Return probabilities [rows, classes]."""
        out = self._outputs(x)
        shifted = np.exp(out - out.max(axis=1, keepdims=True))
        probabilities: Floats = shifted / shifted.sum(axis=1, keepdims=True)
        return probabilities

    def _tokens(self, x: Matrix) -> tuple[torch.Tensor, torch.Tensor]:
        """Return numbers [rows, numbers] and category indices [rows, categories] in a joint list of all
        categories."""
        import torch

        numbers, first = self.task.n_numbers, self.task.n_numbers
        places = []
        for size in self.task.categories:
            places.append(x[:, first : first + size].argmax(axis=1) + first - numbers)
            first += size
        codes = np.stack(places, axis=1) if places else np.zeros((len(x), 0), np.int64)
        return torch.from_numpy(np.ascontiguousarray(x[:, :numbers])), torch.from_numpy(
            codes.astype(np.int64)
        )

    def _train(self, tokens: tuple[torch.Tensor, torch.Tensor], target: torch.Tensor, loss: Any) -> None:
        import torch

        network = self._network
        order = torch.randperm(target.shape[0])
        held_out, rows = order[: max(1, order.shape[0] // 10)], order[max(1, order.shape[0] // 10) :]
        optimizer = torch.optim.AdamW(
            network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
        )
        best, best_weights, waited = float("inf"), network.state_dict(), 0
        for _ in range(self.most_epochs):
            network.train()
            for batch in torch.split(rows[torch.randperm(rows.shape[0])], _BATCH):
                optimizer.zero_grad()
                loss(network(tokens[0][batch], tokens[1][batch]), target[batch]).backward()
                optimizer.step()
            network.eval()
            with torch.no_grad():
                found = float(loss(network(tokens[0][held_out], tokens[1][held_out]), target[held_out]))
            if found < best:
                best, waited = found, 0
                best_weights = {name: value.clone() for name, value in network.state_dict().items()}
            elif (waited := waited + 1) >= self.patience:
                break
        network.load_state_dict(best_weights)

    def _outputs(self, x: Matrix) -> Floats:
        import torch

        self._network.eval()
        parts = []
        with torch.no_grad():
            numbers, codes = self._tokens(x)
            for rows in torch.split(torch.arange(len(x)), _BATCH):
                parts.append(self._network(numbers[rows], codes[rows]).numpy())
        return np.concatenate(parts).astype(np.float64)


def _network(settings: TabularTransformer, n_out: int) -> torch.nn.Module:
    import torch
    from torch import nn

    width, task = settings.width, settings.task

    class Network(nn.Module):
        """Tokens of columns, attention between them, and a linear layer on the summary token."""

        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.Parameter(torch.empty(task.n_numbers, width))
            self.biases = nn.Parameter(torch.empty(task.n_numbers, width))
            self.summary = nn.Parameter(torch.zeros(1, 1, width))
            for parameter in (self.weights, self.biases):
                nn.init.uniform_(parameter, -(width**-0.5), width**-0.5)
            self.embedding = nn.Embedding(max(1, sum(task.categories)), width)
            layer = nn.TransformerEncoderLayer(
                width, _HEADS, 2 * width, settings.dropout, "gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, settings.n_layers, enable_nested_tensor=False)
            self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, n_out))

        def forward(self, numbers: torch.Tensor, codes: torch.Tensor) -> Any:
            columns = [
                self.summary.expand(numbers.shape[0], 1, width),
                numbers[:, :, None] * self.weights + self.biases,
                self.embedding(codes),
            ]
            return self.head(self.encoder(torch.cat(columns, dim=1))[:, 0])

    return Network()
