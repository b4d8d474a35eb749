"""Generator and critic of CTGAN: rows drawn under a condition, and judged in packs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, normalise, not_negative, positive, real
from syntabula._extras import require
from syntabula._planning import FitCost, Progress
from syntabula._spaces import Choice, Range, tunable
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.privacy.training.records import RecordCurator
from syntabula.record_models.blocks import FloatTable, first_weights
from syntabula.record_models.conditioned import (
    condition_shares,
    picks_by_condition,
    trained_condition_shares,
)
from syntabula.record_models.encoding import FEW_CODES, Encoder, Encoding, Widths
from syntabula.record_models.latent import LatentRows, Shapes
from syntabula.record_models.loop import Descent, Pick, Training
from syntabula.record_models.noisy_critic import noisy_critic_cost, rows_by_critic
from syntabula.record_models.noisy_loop import NoisyTraining, PaidTraining
from syntabula.record_models.population import EvolvedRows

if TYPE_CHECKING:
    from torch import Generator, Tensor

_CRITIC = "critic/"
_CRITIC_UNITS, _NOISY_CRITIC_UNITS = 256, 32
_NORMALISED_ROWS = 8192
_LEAST_VARIANCE = 1e-5


@dataclass(frozen=True, kw_only=True, eq=False)
class Adversarial(LatentRows):
    """Hidden numbers and a condition that a generator turns into rows, which a critic cannot tell from records.

    Xu et al. (2019). A condition is one category of one column. In training the column is drawn
    evenly and the category by the logarithm of its frequency, and records are drawn among those that have it; rows
    are drawn under conditions by true frequency.

    The generator is normalised by the statistics of each batch in training (Ioffe, Szegedy 2015), and afterwards by
    those of 8,192 rows, which become part of its weights. These rows have the conditions of training: a generator that
    is normalised by the conditions of the rows that it is to draw is another one than that which was trained.

    Attributes:
        units: Width of the generator's layers, which all see the hidden numbers, the condition and the layers before.
        layers: Number of them.
        critic_units: Width of the critic's two layers; None for 256, or with a budget 32, as each weight takes noise.
        pac: Rows that the critic judges together, so that it sees if they are too much alike (Lin et al. 2018, PacGAN).
            Its first layer has weights of its own for each place in a pack, and so learns each from as many rows fewer:
            in as many steps packs of the paper's 10 rows teach far less than rows judged alone.
        temperature: Of the soft draws of categories in training (Jang et al. 2017).
        penalty: Factor of the squared difference between one and the slope of the critic (Gulrajani et al. 2017).
        dropout: Part of the critic's layers that is left out at random; the paper leaves out half.
        levels: With a budget, codes of a column that are told apart, at most 30; more are merged, and drawn by their
            one-way marginal.
    """

    kind: ClassVar[str] = "adversarial"
    _descent: ClassVar[Descent] = Descent(betas=(0.5, 0.9), longest_gradient=float("inf"), is_contest=True)

    units: int = tunable(256, Choice((64, 128, 256, 512)))
    layers: int = tunable(2, Range(low=1, high=4))
    critic_units: int | None = tunable(None, Choice((128, 256, 512)))
    pac: int = 1
    temperature: float = 0.2
    penalty: float = 10.0
    dropout: float = 0.0
    levels: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(
            self,
            units=count(),
            layers=count(),
            critic_units=count().or_none,
            levels=count(2, FEW_CODES),
            pac=count(),
            temperature=positive,
            penalty=not_negative,
            dropout=real("a number of at least 0 and below 1", lambda part: 0 <= part < 1),
        )

    @property
    def starts_at_marginals(self) -> bool:
        """Whether a network that noise trains draws the one-way marginals from the start: yes."""
        return True

    @property
    def noisy_levels(self) -> int:
        """Most codes of a column that a training with noise tells apart."""
        return self.levels

    @classmethod
    def _read(cls, facts: Mapping[str, Any]) -> tuple[Self, list[int], list[int]]:
        # Older files do not say how many levels there were, as there was no training with noise.
        return super()._read({"levels": cls.levels, **facts})

    @property
    def can_stop_early(self) -> bool:
        """No: the network says of no record how probable it is."""
        return False

    def noisy_training_cost(
        self, domain: Domain, n_rows: int, training: Training, noisy: NoisyTraining, steps: int
    ) -> FitCost:
        """Say what so many steps with noise take, from a timed step on made-up records."""
        merged = Domain(domain.columns, tuple(min(size, self.levels) for size in domain.sizes))
        units = self.critic_units or _NOISY_CRITIC_UNITS
        return noisy_critic_cost(merged, n_rows, training, noisy, steps, units)

    def trained_with_noise(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        door: RecordCurator,
        paid: PaidTraining,
        progress: Progress,
    ) -> EvolvedRows:
        """Return rows that a critic, trained by noisy gradients, takes for records."""
        units = self.critic_units or _NOISY_CRITIC_UNITS
        return rows_by_critic(domain, one_way, door, paid, progress, units=units)

    def _outputs(self, n: int, rng: np.random.Generator) -> FloatTable:
        value = self._inputs(n, condition_shares(self._fitted), rng)
        for layer in range(self.layers):
            found = value @ self._weights[f"layer/{layer}"] + self._weights[f"bias/{layer}"]
            value = np.concatenate([np.maximum(found, 0, out=found), value], 1)
        outputs: FloatTable = value @ self._weights["outputs"] + self._weights["bias/outputs"]
        n_offsets = len(self._fitted.modes)
        outputs[:, :n_offsets] = np.tanh(outputs[:, :n_offsets])
        return outputs

    def _inputs(self, n: int, shares: FloatArray, rng: np.random.Generator) -> FloatTable:
        """Draw hidden numbers, and conditions by their shares [n, hidden + conditions]."""
        hidden = rng.standard_normal((n, self._n_hidden), dtype=np.float32)
        conditions = np.zeros((n, shares.size), dtype=np.float32)
        if shares.size:
            conditions[np.arange(n), rng.choice(shares.size, n, p=shares)] = 1.0
        return np.concatenate([hidden, conditions], 1)

    def _kept_shapes(self, widths: Widths) -> Shapes:
        shapes: dict[str, tuple[int, ...]] = {}
        inputs, outputs = self._n_hidden + widths.whole, widths.offsets + widths.blocks
        for layer in range(self.layers):
            shapes |= {f"layer/{layer}": (inputs, self.units), f"bias/{layer}": (self.units,)}
            inputs += self.units
        return shapes | {"outputs": (inputs, outputs), "bias/outputs": (outputs,)}

    def _trained_shapes(self, widths: Widths) -> Shapes:
        inputs, units = (
            self.pac * (widths.offsets + widths.blocks + widths.whole),
            self.critic_units or _CRITIC_UNITS,
        )
        return {
            **self._kept_shapes(widths),
            **{f"scale/{layer}": (self.units,) for layer in range(self.layers)},
            _CRITIC + "layer/0": (inputs, units),
            _CRITIC + "bias/0": (units,),
            _CRITIC + "layer/1": (units, units),
            _CRITIC + "bias/1": (units,),
            _CRITIC + "outputs": (units, 1),
        }

    def _network(self, encoder: Encoder, random: Generator) -> AdversarialNetwork:
        shapes = self._trained_shapes(encoder.encoding.widths)
        weights = first_weights(shapes, device=encoder.device, random=random)
        for layer in range(self.layers):
            weights[f"scale/{layer}"] += 1.0
        return AdversarialNetwork(self, encoder, weights)

    def _picks(self, encoding: Encoding) -> Callable[[Tensor], Pick]:
        return lambda table: picks_by_condition(table, encoding, multiple=self.pac)

    def _kept(
        self, weights: Mapping[str, np.ndarray], encoding: Encoding, n_rows: int, rng: np.random.Generator
    ) -> Mapping[str, np.ndarray]:
        """Return the generator's weights, its normalisation worked into them."""
        kept = {name: weights[name] for name in self._kept_shapes(encoding.widths)}
        value = self._inputs(_NORMALISED_ROWS, trained_condition_shares(encoding, n_rows), rng)
        for layer in range(self.layers):
            found = value @ weights[f"layer/{layer}"]
            factors = weights[f"scale/{layer}"] / np.sqrt(found.var(0) + _LEAST_VARIANCE)
            kept[f"layer/{layer}"] = weights[f"layer/{layer}"] * factors
            kept[f"bias/{layer}"] = weights[f"bias/{layer}"] - found.mean(0) * factors
            found = np.maximum(found * factors + kept[f"bias/{layer}"], 0)
            value = np.concatenate([found, value], 1)
        return kept


class AdversarialNetwork:
    """Generator and critic in torch. Their losses are added up: neither's has a gradient for the other's weights.

    Args:
        model: Whose options they have.
        encoder: Of records.
        parameters: All weights by name.
    """

    def __init__(self, model: Adversarial, encoder: Encoder, parameters: Mapping[str, Tensor]) -> None:
        torch = require("torch", "neural")
        self.parameters, self._model, self._encoder = parameters, model, encoder
        encoding = encoder.encoding
        sizes = [encoding.blocks.sizes[j] for j in encoding.whole]
        columns = np.repeat(np.array(encoding.whole, dtype=np.intp), sizes)
        within = np.concatenate([np.zeros(0, np.intp), *(np.arange(size) for size in sizes)]).astype(np.intp)
        self._columns = torch.as_tensor(columns, device=encoder.device)
        self._logits = torch.as_tensor(encoding.blocks.starts[columns] + within, device=encoder.device)

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return the critic's and the generator's loss [batch, 2]; rows of a pack have the same one of the critic.

        Args:
            records: Positions of codes, and the condition under which the record was drawn [batch, columns + 1];
                a multiple of the size of a pack.
            random: Draws all else.
        """
        torch, model = require("torch", "neural"), self._model
        n, conditions = len(records), records[:, -1].long()
        offsets, places = self._encoder.encoded(records[:, :-1], random)
        widths = self._encoder.encoding.widths
        condition = offsets.new_zeros(n, widths.whole)
        if widths.whole:
            condition.scatter_(1, conditions[:, None], 1.0)
        real = torch.cat(
            [offsets, offsets.new_zeros(n, widths.blocks).scatter_(1, places, 1.0), condition], 1
        )
        hidden = torch.randn((n, model._n_hidden), generator=random, device=records.device)
        outputs = self._generated(torch.cat([hidden, condition], 1))
        logits = outputs[:, widths.offsets :]
        soft = self._encoder.encoding.blocks.soft_draws(logits, model.temperature, random)
        made = torch.cat([outputs[:, : widths.offsets].tanh(), soft, condition], 1)

        critic = {name: w for name, w in self.parameters.items() if name.startswith(_CRITIC)}
        fixed = {name: w.detach() for name, w in critic.items()}
        packs = [rows.reshape(n // model.pac, -1) for rows in (real, made)]
        generators = -self._judged(packs[1], fixed, random).repeat_interleave(model.pac)
        if widths.whole:
            columns, wanted = self._columns[conditions], self._logits[conditions]
            sums = self._encoder.encoding.blocks.log_sums(logits).gather(1, columns[:, None])
            generators = generators + (sums - logits.gather(1, wanted[:, None]))[:, 0]
        packs[1] = packs[1].detach()
        judged = self._judged(torch.cat(packs), critic, random)
        critics = judged[len(packs[0]) :] - judged[: len(packs[0])]
        if model.penalty:
            part = torch.rand((len(packs[0]), 1), generator=random, device=records.device)
            slopes = self._slopes(torch.lerp(packs[1], packs[0], part), critic, random)
            critics = critics + model.penalty * (slopes - 1) ** 2
        found: Tensor = torch.stack([critics.repeat_interleave(model.pac), generators], 1)
        return found

    def _generated(self, value: Tensor) -> Tensor:
        """Return what is made of hidden numbers and conditions [batch, offsets and logits]."""
        torch, weights = require("torch", "neural"), self.parameters
        for layer in range(self._model.layers):
            found = value @ weights[f"layer/{layer}"]
            found = torch.nn.functional.batch_norm(
                found,
                None,
                None,
                weights[f"scale/{layer}"],
                weights[f"bias/{layer}"],
                training=True,
                eps=_LEAST_VARIANCE,
            )
            value = torch.cat([found.relu(), value], 1)
        outputs: Tensor = torch.addmm(weights["bias/outputs"], value, weights["outputs"])
        return outputs

    def _judged(self, packs: Tensor, critic: Mapping[str, Tensor], random: Generator) -> Tensor:
        """Return the critic's score of each pack."""
        torch = require("torch", "neural")
        value = packs
        for layer in range(2):
            value = torch.addmm(critic[f"{_CRITIC}bias/{layer}"], value, critic[f"{_CRITIC}layer/{layer}"])
            value = value * self._factors(value, random)
        scores: Tensor = (value @ critic[_CRITIC + "outputs"])[:, 0]
        return scores

    def _factors(self, value: Tensor, random: Generator) -> Tensor:
        """Return the slope of a leaky rectifier at each number, and 0 for those left out."""
        torch, left_out = require("torch", "neural"), self._model.dropout
        # In place throughout: choosing between two numbers and mixing types take several times as long.
        slopes: Tensor = (value.detach() > 0).to(value.dtype).clamp_min_(0.2)
        if left_out:
            drawn = torch.rand(value.shape, generator=random, device=value.device)
            slopes.mul_(drawn.ge_(left_out)).div_(1 - left_out)
        return slopes

    def _slopes(self, packs: Tensor, critic: Mapping[str, Tensor], random: Generator) -> Tensor:
        """Return the length of the gradient of each pack's score.

        The critic is linear between its bends, so that its gradient is a product of its weights, of which that of the
        weights follows as that of any other product: no graph of a gradient is needed.
        """
        torch = require("torch", "neural")
        factors, value = [], packs
        with torch.no_grad():
            for layer in range(2):
                value = torch.addmm(
                    critic[f"{_CRITIC}bias/{layer}"], value, critic[f"{_CRITIC}layer/{layer}"]
                )
                factors.append(self._factors(value, random))
                value = value * factors[-1]
        back = factors[1] * critic[_CRITIC + "outputs"][:, 0]
        back = factors[0] * (back @ critic[_CRITIC + "layer/1"].T)
        gradient = back @ critic[_CRITIC + "layer/0"].T
        found: Tensor = (gradient * gradient).sum(1).add(1e-12).sqrt()
        return found
