"""A probabilistic circuit on a tree of dependences, which answers marginals, conditions and any given columns exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, normalise, not_negative
from syntabula._planning import FitCost, Progress
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import bound, check_sample, whole_model
from syntabula.models.restricted import Restricted, Weights
from syntabula.record_models.dependence_tree import dependence_tree
from syntabula.record_models.expectation import LatentTreeFit
from syntabula.record_models.latent_tree import LatentTree, outwards
from syntabula.record_models.lookup_model import LookupModel
from syntabula.record_models.loop import Training, seconds_per_step, train
from syntabula.record_models.representation import Places, column_lookup, column_lookups, usual_sizes

_ROWS_AT_ONCE = 8192
_RECORDS_OF_STATE, _LEAST_STATES, _MOST_STATES = 100, 16, 128


@dataclass(frozen=True, kw_only=True, eq=False)
class Circuit(LookupModel):
    """Gives each column a hidden state, joins the states in the tree of strongest pairs, and draws codes from them.

    A mixture of products has one hidden state for all columns; here each column has its own (Liu, Van den Broeck 2021,
    "Tractable Regularization of Probabilistic Circuits": hidden Chow-Liu trees). Marginals, probabilities of conditions,
    and rows given any columns follow exactly, by one pass over the tree.

    Saved are the one-way marginals, the tree and its probabilities. A model that was loaded samples without torch.

    Attributes:
        states: Hidden states of each column; None for one per 100 records, from 16 to 128.
        smoothing: With the weight of how many records a code's states follow those of the neighbouring codes; in a
            column without an order those of all codes, with a tenth of it. So hundreds of codes are not learned by heart.
    """

    kind: ClassVar[str] = "circuit"

    states: int | None = None
    smoothing: float = tunable(100.0, Range(low=1.0, high=300.0, log=True))
    _tree: LatentTree | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        normalise(self, states=count().or_none, smoothing=not_negative)

    @property
    def _n_waves(self) -> int:
        return 1

    def training_cost(self, domain: Domain, n_rows: int, training: Training) -> FitCost:
        """Say what training takes, from a timed step on a made-up batch."""
        batch = training.batch_of(n_rows)
        ordered, usual = tuple(c in domain.ordered for c in domain), usual_sizes(domain)
        states = self._states_for(n_rows)
        seconds = _timed_step(self.smoothing, states, usual, ordered, training, batch)
        seconds = training.seconds_for(n_rows, seconds)
        numbers = states * (sum(domain.sizes) + states * len(domain))
        # Counts, mean, best, and tables made of them with what that takes; what a batch leaves; the table.
        kept = 8 * numbers + 5 * batch * len(domain) * states + 2 * n_rows * len(domain)
        return FitCost(kept * 4 / 2**20, seconds)

    def trained(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        records: EncodedTable,
        training: Training,
        progress: Progress,
        *,
        seed: int,
    ) -> Self:
        """Return a model trained on records."""
        lookups = column_lookups(domain, one_way, waves=self._n_waves)
        places = np.stack([x.places[codes] for x, codes in zip(lookups, records.codes, strict=True)], 1)
        parents = dependence_tree(places, lookups)
        fits: list[LatentTreeFit] = []

        def make(device: Any, random: Any) -> LatentTreeFit:
            fit = LatentTreeFit(
                lookups,
                parents,
                states=self._states_for(records.n_rows),
                n_records=records.n_rows,
                smoothing=self.smoothing,
                start=places,
                device=device,
                random=random,
            )
            fits.append(fit)
            return fit

        found = train(
            make,
            places.astype(np.int32),
            training,
            progress,
            seed=seed,
            checkpoints=self._checkpoints,
        )
        emissions, transitions = fits[0].tables(found["counts"], found["pairs"])
        tree = LatentTree(parents, transitions, tuple(emissions))
        total = float(max(records.n_rows, 1))
        return replace(self, _domain=domain, _total=total, _one_way=dict(one_way), _tree=tree)

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique, exactly: one axis per column, in its order."""
        found = []
        for clique in cliques:
            self.domain.canonical(clique)
            columns = [self.domain.index(c) for c in clique]
            table = np.zeros(self.domain.shape(clique))
            joint = self._bound_tree.joint(columns)
            table[np.ix_(*(self._lookups[c].codes for c in columns))] = self._total * joint
            found.append(table)
        return found

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows; with `given`, draw the other columns conditionally, whichever are given.

        A given code that no record had tells nothing, or in an ordered column what the nearest code tells.
        """
        check_sample(self.domain, n, given)
        known = {self.domain.index(c): places for c, places in self._given_places(given).items()}
        return self._decoded(_drawn(self._bound_tree, n, rng, known), given)

    def restricted(self, weights: Weights) -> Restricted:
        """Return the records that satisfy conditions, which are a circuit themselves, exactly."""
        held = {self.domain.index(c): w[self._lookup(c).codes] for c, w in weights.items()}
        if not held:
            return Restricted(1.0, self.sample)
        probability, tree = self._bound_tree.restricted(held)
        return Restricted(min(probability, 1.0), lambda n, rng: self._decoded(_drawn(tree, n, rng, {})))

    @property
    def _bound_tree(self) -> LatentTree:
        bound(self._domain)
        assert self._tree is not None
        return self._tree

    def _states_for(self, n_rows: int) -> int:
        usual = min(max(n_rows // _RECORDS_OF_STATE, _LEAST_STATES), _MOST_STATES)
        return self.states or usual

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: domain, tree and options as facts, marginals and probabilities as arrays."""
        tree = self._bound_tree
        facts = {
            **self._column_facts(),
            "used": [lookup.size for lookup in self._lookups],
            "parents": list(tree.parents),
            "hidden": tree.transitions.shape[1],
        }
        return facts, {
            "one_way": self._one_way_array(),
            "transitions": tree.transitions,
            "emissions": np.concatenate(tree.emissions),
        }

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            model, used, _, hidden = cls._read(facts)
            return {
                "one_way": 8 * sum(model.domain.sizes),
                "transitions": 4 * len(used) * hidden**2,
                "emissions": 4 * sum(used) * hidden,
            }

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            model, used, parents, hidden = cls._read(facts)
            transitions = _checked(arrays["transitions"], len(used), hidden, hidden)
            emissions = _checked(arrays["emissions"], sum(used), hidden)
            blocks = np.split(emissions, np.cumsum(used)[:-1])
            sums = [transitions.sum(2, dtype=np.float64), *(b.sum(0, dtype=np.float64) for b in blocks)]
            if (
                (transitions < 0).any()
                or (emissions < 0).any()
                or any((abs(s - 1) > 1e-3).any() for s in sums)
            ):
                raise ValueError("what are no probabilities")
            model = model._with_one_way(arrays["one_way"], used)
            return replace(model, _tree=LatentTree(parents, transitions, tuple(blocks)))

    @classmethod
    def _read(cls, facts: Mapping[str, Any]) -> tuple[Self, list[int], tuple[int, ...], int]:
        """Return a model without its arrays, the numbers of codes with records, the tree, and of hidden states."""
        model = cls._of_facts(facts)
        parents, hidden = tuple(int(parent) for parent in facts["parents"]), int(facts["hidden"])
        if len(outwards(parents)) != len(model.domain) or hidden < 1:
            raise ValueError("another tree")
        return model, model._used(facts), parents, hidden


def _drawn(tree: LatentTree, n: int, rng: np.random.Generator, known: Mapping[int, Places]) -> Places:
    """Draw rows with known places of some columns, by their positions [rows, columns]."""
    parts = [np.zeros((0, len(tree.parents)), dtype=np.intp)]
    for start in range(0, n, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, n)
        part = {c: places[start:stop] for c, places in known.items()}
        parts.append(tree.draw(stop - start, rng, part))
    return np.concatenate(parts)


def _checked(array: np.ndarray, *shape: int) -> np.ndarray:
    found = np.asarray(array)
    if found.shape != shape or found.dtype != np.float32 or not np.isfinite(found).all():
        raise ValueError("an array of another model, or no numbers")
    return found


@lru_cache(maxsize=16)
def _timed_step(
    smoothing: float,
    states: int,
    sizes: tuple[int, ...],
    ordered: tuple[bool, ...],
    training: Training,
    batch: int,
) -> float:
    lookups = [column_lookup(np.ones(s), waves=1 if o else None) for s, o in zip(sizes, ordered, strict=True)]

    def make(device: Any, random: Any) -> LatentTreeFit:
        return LatentTreeFit(
            lookups,
            range(-1, len(sizes) - 1),
            states=states,
            n_records=batch,
            smoothing=smoothing,
            start=np.zeros((1, len(sizes)), dtype=np.intp),
            device=device,
            random=random,
        )

    n_weights = states * (sum(sizes) + states * len(sizes))
    return seconds_per_step(make, sizes, training, batch, n_weights=n_weights)
