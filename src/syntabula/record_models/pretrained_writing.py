"""Reads and writes records with a pretrained causal language model of torch."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.record_models.any_order_sampling import drawn_from
from syntabula.record_models.representation import Places
from syntabula.record_models.token_texts import TokenTexts

if TYPE_CHECKING:
    from torch import Generator, Tensor


class Reader:
    """A model and the words of a table: what it says of the next token of a value."""

    def __init__(self, model: Any, texts: TokenTexts, device: Any) -> None:
        torch = require("torch", "neural")
        self._model, self.texts, self.device = model, texts, device
        self._vocabulary = torch.as_tensor(texts.vocabulary, dtype=torch.long, device=device)
        self._takes_places = "position_ids" in signature(model.base_model.forward).parameters

    def read(self, tokens: Tensor, seen: Tensor, places: Tensor, kept: Any = None) -> tuple[Tensor, Any]:
        """Return what the model knows after each token [rows, tokens, units], and what it keeps for the next ones.

        Args:
            tokens: [rows, tokens].
            seen: Which tokens count, those read before included [rows, all tokens].
            places: Position of each token in its text [rows, tokens].
            kept: Of earlier tokens; None if nothing is to be kept.
        """
        more = {"position_ids": places} if self._takes_places else {}
        found = self._model.base_model(
            input_ids=tokens,
            attention_mask=seen.long(),
            past_key_values=kept,
            use_cache=kept is not None,
            **more,
        )
        return found.last_hidden_state, found.get("past_key_values")

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits of the words that values are written in [..., vocabulary]."""
        torch = require("torch", "neural")
        head = self._model.get_output_embeddings()
        bias = None if getattr(head, "bias", None) is None else head.bias[self._vocabulary]
        found: Tensor = torch.nn.functional.linear(hidden, head.weight[self._vocabulary], bias)
        return found

    def computes_as_the_model(self) -> bool:
        """Return whether these logits are those of the model itself, which may do more to them than a layer."""
        torch = require("torch", "neural")
        tokens = torch.as_tensor([[*self.texts.start, *self.texts.prefixes[0]]], device=self.device)
        with torch.no_grad():
            whole = self._model(input_ids=tokens).logits[..., self._vocabulary]
            hidden, _ = self.read(
                tokens, torch.ones_like(tokens), torch.arange(tokens.shape[1])[None].to(self.device)
            )
            return bool(torch.allclose(self.logits(hidden), whole, rtol=1e-3, atol=1e-3))


class WrittenRecords(Reader):
    """The loss of records as texts: how improbable each value is, given the clauses before it in random order.

    Args:
        model: With parameters that are trained; without dropout.
        texts: Of the table.
        device: Of torch.
    """

    def __init__(self, model: Any, texts: TokenTexts, device: Any) -> None:
        super().__init__(model, texts, device)
        torch = require("torch", "neural")
        table, is_value, starts = (torch.as_tensor(a, device=device) for a in texts.clauses)
        self._table, self._is_value, self._starts = table.long(), is_value, starts
        self.parameters: Mapping[str, Tensor] = {n: p for n, p in model.named_parameters() if p.requires_grad}

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return the loss of each record [batch]; of the words that a value can be written in."""
        torch = require("torch", "neural")
        n, columns = records.shape
        order = torch.rand((n, columns), generator=random, device=self.device).argsort(1)
        clauses = (self._starts + records.long()).gather(1, order)
        tokens, asked = self._table[clauses].flatten(1), self._is_value[clauses].flatten(1)
        # What stands beyond the ends of clauses goes to the end of the text.
        side_by_side = (tokens < 0).to(torch.uint8).argsort(dim=1, stable=True)
        tokens, asked = tokens.gather(1, side_by_side), asked.gather(1, side_by_side)
        longest = int((tokens >= 0).sum(1).max())
        start = torch.as_tensor(self.texts.start, device=self.device).expand(n, -1)
        tokens = torch.cat([start, tokens[:, :longest]], 1)
        asked = asked[:, :longest]
        seen = tokens >= 0
        places = torch.arange(tokens.shape[1], device=self.device).expand(n, -1)
        hidden, _ = self.read(tokens.clamp(min=0), seen, places)
        before = hidden[:, start.shape[1] - 1 : -1][asked]
        wanted = torch.searchsorted(self._vocabulary, tokens[:, start.shape[1] :][asked])
        each = torch.nn.functional.cross_entropy(self.logits(before), wanted, reduction="none")
        owner = torch.arange(n, device=self.device)[:, None].expand(n, longest)[asked]
        losses: Tensor = torch.zeros(n, device=self.device).index_add(0, owner, each)
        return losses


class TokenPages(Reader):
    """Some records that are written side by side, token by token, and what the model keeps of them."""

    def __init__(self, model: Any, texts: TokenTexts, device: Any, n: int) -> None:
        super().__init__(model, texts, device)
        torch, transformers = require("torch", "neural"), require("transformers", "language")
        self._n, self._kept = n, transformers.DynamicCache(config=model.config)
        self._seen = torch.zeros((n, 0), dtype=torch.bool, device=device)
        self._lengths = torch.zeros(n, dtype=torch.long, device=device)
        self._hidden: Any = None
        self._tell(np.tile(texts.start, (n, 1)), np.ones(n, dtype=np.bool_))

    def copy(self, column: int, codes: Places) -> None:
        """Write given codes of a column [records]; nothing where it is their number, which stands for unknown."""
        values = self.texts.values[column]
        known = codes < len(values)
        if not known.any():
            return
        self._tell(np.tile(self.texts.prefixes[column], (self._n, 1)), known)
        longest = max(len(values[code]) for code in np.unique(codes[known]).tolist())
        table = np.zeros((len(values) + 1, longest), dtype=np.int64)
        lengths = np.zeros(len(values) + 1, dtype=np.intp)
        for code in np.unique(codes[known]).tolist():
            lengths[code] = len(values[code])
            table[code, : lengths[code]] = values[code]
        at = np.where(known, codes, len(values))
        for step in range(longest):
            self._tell(table[at, step : step + 1], lengths[at] > step)

    def write(self, column: int, rng: np.random.Generator) -> Places:
        """Draw a code of a column for each record, given all that is written there, and write it."""
        self._tell(np.tile(self.texts.prefixes[column], (self._n, 1)), np.ones(self._n, dtype=np.bool_))
        tree = self.texts.trees[column]
        nodes, found = np.zeros(self._n, dtype=np.intp), np.zeros(self._n, dtype=np.intp)
        writing = np.ones(self._n, dtype=np.bool_)
        while writing.any():
            logits = self.logits(self._hidden).double().cpu().numpy()
            words = np.zeros(self._n, dtype=np.intp)
            for node in np.unique(nodes[writing]).tolist():
                follow, leads = tree[node]
                rows = np.flatnonzero(writing & (nodes == node))
                likely = logits[np.ix_(rows, follow)]
                drawn = drawn_from(np.exp(likely - likely.max(1, keepdims=True)), rng)
                words[rows], nodes[rows] = follow[drawn], leads[drawn]
            self._tell(self.texts.vocabulary[words][:, None], writing)
            ended = writing & (nodes < 0)
            found[ended] = -1 - nodes[ended]
            writing &= ~ended
        return found

    def _tell(self, tokens: NDArray[np.integer[Any]], told: NDArray[np.bool_]) -> None:
        """Write tokens [records, tokens] in some of the records; in the others there is a gap that nothing looks at."""
        torch = require("torch", "neural")
        words = torch.as_tensor(tokens, dtype=torch.long, device=self.device)
        which = torch.as_tensor(told, device=self.device)
        self._seen = torch.cat([self._seen, which[:, None].expand(-1, words.shape[1])], 1)
        places = self._lengths[:, None] + torch.arange(words.shape[1], device=self.device)
        with torch.no_grad():
            hidden, self._kept = self.read(words, self._seen, places, self._kept)
        last = hidden[:, -1]
        self._hidden = last if self._hidden is None else torch.where(which[:, None], last, self._hidden)
        self._lengths = self._lengths + which * words.shape[1]
