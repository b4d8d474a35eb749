"""A pretrained language model of the user's, fine-tuned to write the records of a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, normalise, positive, refusal
from syntabula._extras import require
from syntabula._planning import FitCost, Progress
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import bound, check_sample, whole_model
from syntabula.models.row_fitting import pick_device
from syntabula.record_models.lookup_model import (
    LookupModel,
    read_weights,
    weight_arrays,
    weight_bytes,
)
from syntabula.record_models.loop import Training, seconds_per_step, train
from syntabula.record_models.pretrained_folder import (
    EXTRA,
    built,
    check_config,
    check_folder,
    plain_config,
    quiet,
    read_base,
)
from syntabula.record_models.pretrained_writing import TokenPages, WrittenRecords
from syntabula.record_models.representation import Places, column_lookups
from syntabula.record_models.token_texts import TokenTexts, texts_known_to

_ROWS_AT_ONCE = 256
_TIMED_RECORDS = 2
_USUAL_CODES = 300


@dataclass(frozen=True, kw_only=True, eq=False)
class PretrainedLanguage(LookupModel):
    """Fine-tunes a causal language model in a folder of the user's on records written as clauses in random order.

    Borisov et al. (2023), with low-rank updates of all linear layers (Hu et al. 2022, "LoRA"). The loss is that of
    values alone, as nothing is to be learned of names; when rows are drawn only tokens that lead to a value of the
    column can follow, so every text is a record. Values given are written first.

    Saved is the whole model, its updates added to it, as plain arrays: a release needs neither the folder nor its
    tokenizer, but takes four bytes for each parameter. The folder's name is not saved. Drawing rows of a loaded release
    needs the library that knows the architecture; nothing in a file is executed.

    Attributes:
        model_path: Folder with a pretrained causal language model and its tokenizer, as transformers saves them, with
            weights as safetensors; empty for none. Nothing is ever downloaded.
        rank: Of the updates: more can say more.
        strength: What the updates are multiplied by, times the rank.
    """

    kind: ClassVar[str] = "pretrained_language"

    model_path: str = ""
    rank: int = 16
    strength: float = 32.0
    _known: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    _texts: TokenTexts | None = field(default=None, repr=False)
    _config: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _weights: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        normalise(self, rank=count(), strength=positive)
        if self.model_path is None or isinstance(self.model_path, Path):
            object.__setattr__(self, "model_path", str(self.model_path or ""))
        if not isinstance(self.model_path, str) or "\0" in self.model_path:
            raise refusal("model_path", "the path of a folder", self.model_path)
        if self.model_path:
            check_folder(self.model_path)

    @property
    def _n_waves(self) -> int:
        return 1  # of no use here, but only ordered columns have them, and take the nearest code

    def training_cost(self, domain: Domain, n_rows: int, training: Training) -> FitCost:
        """Say what training takes, from a timed step on a few made-up records."""
        model, tokenizer = read_base(self.model_path)
        batch = training.batch_of(n_rows)
        usual = tuple(min(size, _USUAL_CODES) for size in domain.sizes)
        texts = texts_known_to(
            tokenizer, {c: _positions(size) for c, size in zip(domain, usual, strict=True)}
        )
        self._check_length(model, texts)
        timed = min(batch, _TIMED_RECORDS)
        weights = sum(p.numel() for p in model.parameters())
        seconds = seconds_per_step(
            lambda device, random: self._network(model, texts, device, random),
            usual,
            training,
            timed,
            # The folder's weights have been read, and updates that are added are few beside them.
            n_weights=0,
        )
        seconds = training.seconds_for(n_rows, seconds * batch / timed)
        units, layers = model.get_output_embeddings().weight.shape[1], _layers(model)
        # The model, twice when its updates are added; what a batch leaves for its gradient; the table.
        left = batch * texts.longest * (24 * layers * units + 3 * len(texts.vocabulary))
        return FitCost((2.5 * weights + left + n_rows * len(domain)) * 4 / 2**20, seconds)

    def with_texts(self, texts: Callable[[], Mapping[str, Sequence[str]]]) -> Self:
        """Return the same model, which knows the text of each code of the table it will be trained on."""
        return replace(self, _known=texts())

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
        """Return a model fine-tuned on records; without texts, the position of a code is its text.

        Raises:
            ArgumentError: If the folder is refused, or a record has more tokens than the model reads.
            MissingExtraError: If a library is missing.
        """
        model, tokenizer = read_base(self.model_path)
        lookups = column_lookups(domain, one_way, waves=self._n_waves)
        written = {}
        for column, lookup in zip(domain, lookups, strict=True):
            known = self._known.get(column) or _positions(domain.size(column))
            written[column] = [known[code] for code in lookup.codes]
        texts = texts_known_to(tokenizer, written)
        self._check_length(model, texts)
        places = [lookup.places[codes] for lookup, codes in zip(lookups, records.codes, strict=True)]
        networks: list[_Tuned] = []

        def make(device: Any, random: Any) -> _Tuned:
            networks.append(self._network(model, texts, device, random))
            return networks[-1]

        found = train(
            make,
            np.stack(places, 1).astype(np.int32),
            training,
            progress,
            seed=seed,
            checkpoints=self._checkpoints,
        )
        weights = networks[0].merged(found)
        return replace(
            self,
            model_path="",
            _domain=domain,
            _total=float(max(records.n_rows, 1)),
            _one_way=dict(one_way),
            _known={},
            _texts=texts,
            _config=plain_config(model),
            _weights=weights,
        )

    def _network(self, model: Any, texts: TokenTexts, device: Any, random: Any) -> _Tuned:
        torch, transformers = require("torch", "neural"), require("transformers", EXTRA)
        peft = require("peft", EXTRA)
        seed = int(torch.randint(2**62, (1,), generator=random, device=device))
        model = model.to(device)
        if not WrittenRecords(model, texts, device).computes_as_the_model():
            raise ArgumentError(
                "the model in model_path does more to its last layer than a linear map, which is not supported; use "
                "another architecture, such as that of GPT-2 or Llama"
            )
        updates = peft.LoraConfig(
            r=self.rank, lora_alpha=self.strength, target_modules="all-linear", task_type="CAUSAL_LM"
        )
        with quiet(transformers), torch.random.fork_rng(devices=[]):
            torch.random.default_generator.manual_seed(seed)
            return _Tuned(peft.get_peft_model(model, updates).eval(), texts, device)

    def _check_length(self, model: Any, texts: TokenTexts) -> None:
        most = getattr(model.config, "max_position_embeddings", None)
        if isinstance(most, int) and texts.longest > most:
            raise ArgumentError(
                f"a record may take {texts.longest:,} tokens, and the model in model_path reads {most:,}; leave columns "
                "out, shorten their names, or use a model that reads more"
            )

    @property
    def draws_slowly(self) -> bool:
        """Yes: such a model writes a few rows a second on a processor."""
        return True

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Write n rows; with `given`, its clauses are written first, and the other columns drawn after them.

        A given code that no record had is not written, or in an ordered column the nearest code is.

        Raises:
            MissingExtraError: If a library is missing.
        """
        check_sample(self.domain, n, given)
        known = self._given_places(given)
        rows = np.zeros((n, len(self.domain)), dtype=np.intp)
        for start in range(0, n, _ROWS_AT_ONCE):
            part = slice(start, min(start + _ROWS_AT_ONCE, n))
            self._write(rows[part], {c: places[part] for c, places in known.items()}, rng)
        return self._decoded(rows, given)

    def _write(self, rows: Places, known: Mapping[str, Places], rng: np.random.Generator) -> None:
        """Write rows [rows, columns] in place: known places of some columns, then the others, each in random order."""
        pages = TokenPages(self._model, self._bound_texts, self._model.device, len(rows))
        before = [self.domain.index(c) for c in known]
        after = [j for j, name in enumerate(self.domain) if name not in known]
        for column in rng.permutation(before).astype(int).tolist():
            rows[:, column] = known[self.domain.columns[column]]
            pages.copy(column, rows[:, column])
        for column in rng.permutation(after).astype(int).tolist():
            rows[:, column] = pages.write(column, rng)

    @property
    def _bound_texts(self) -> TokenTexts:
        bound(self._domain)
        assert self._texts is not None
        return self._texts

    @cached_property
    def _model(self) -> Any:
        torch = require("torch", "neural")
        with whole_model():
            model = built(self._config, {name: array.shape for name, array in self._weights.items()})
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.as_tensor(self._weights[name]))
        return model.requires_grad_(False).to(pick_device("auto"))

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: domain, architecture and names as facts; marginals, texts, weights as arrays."""
        texts = self._bound_texts
        values = [value for column in texts.values for value in column]
        facts = {
            **self._column_facts(),
            "used": [len(column) for column in texts.values],
            "start": list(texts.start),
            "prefixes": [list(prefix) for prefix in texts.prefixes],
            "tokens": sum(map(len, values)),
            "config": json.dumps(self._config),
            "network": {name: list(array.shape) for name, array in self._weights.items()},
        }
        return facts, weight_arrays(self._weights) | {
            "one_way": self._one_way_array(),
            "lengths": np.array([len(value) for value in values], dtype=np.int32),
            "tokens": np.array([token for value in values for token in value], dtype=np.int32),
        }

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            model, used, shapes = cls._read(facts)
            return {
                "one_way": 8 * sum(model.domain.sizes),
                "lengths": 4 * sum(used),
                "tokens": 4 * int(facts["tokens"]),
                **weight_bytes(shapes),
            }

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`, without any library; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            model, used, shapes = cls._read(facts)
            lengths, tokens = (np.asarray(arrays[name]) for name in ("lengths", "tokens"))
            if lengths.dtype != np.int32 or tokens.dtype != np.int32:
                raise ValueError("arrays of another type")
            if lengths.shape != (sum(used),) or (lengths < 1).any() or tokens.shape != (int(lengths.sum()),):
                raise ValueError("texts of another domain")
            values = [tuple(v.tolist()) for v in np.split(tokens, np.cumsum(lengths)[:-1])]
            ends = np.cumsum([0, *used])
            texts = TokenTexts(
                tuple(int(token) for token in facts["start"]),
                tuple(tuple(int(token) for token in prefix) for prefix in facts["prefixes"]),
                tuple(tuple(values[a:b]) for a, b in pairwise(ends.tolist())),
            )
            texts.check(used)
            model = model._with_one_way(arrays["one_way"], used)
            return replace(model, _texts=texts, _weights=read_weights(arrays, shapes))

    @classmethod
    def _read(cls, facts: Mapping[str, Any]) -> tuple[Self, list[int], dict[str, tuple[int, ...]]]:
        """Return a model without its arrays, the numbers of codes with records, and the shapes of its weights."""
        if facts["model_path"]:
            raise ValueError("a folder that is no part of a file")
        model = cls._of_facts(facts)
        config = json.loads(facts["config"])
        if not isinstance(config, dict) or not facts["network"]:
            raise ValueError("no network")
        check_config(config, "this file")
        shapes = {str(name): tuple(int(k) for k in shape) for name, shape in facts["network"].items()}
        if min(k for shape in shapes.values() for k in (1, *shape)) < 1:
            raise ValueError("weights without numbers")
        return replace(model, _config=config), model._used(facts), shapes


class _Tuned(WrittenRecords):
    """A model whose updates are trained."""

    def __init__(self, tuned: Any, texts: TokenTexts, device: Any) -> None:
        super().__init__(tuned.base_model.model, texts, device)
        self._tuned = tuned

    def merged(self, updates: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the weights of the model, some updates added to them; the model takes no more training."""
        torch = require("torch", "neural")
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(torch.as_tensor(updates[name]))
            merged = self._tuned.merge_and_unload()
        return {n: p.detach().float().cpu().numpy().copy() for n, p in merged.named_parameters()}


def _positions(size: int) -> list[str]:
    return [f"{i}" for i in range(size)]


def _layers(model: Any) -> int:
    return int(getattr(model.config, "num_hidden_layers", 12))
