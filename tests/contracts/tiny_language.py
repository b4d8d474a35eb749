"""A language model with random weights and a tokenizer of single bytes, saved as a pretrained one is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

UNITS = 32


def require_libraries() -> None:
    """Skip a test where the libraries of the extra are not installed."""
    for library in ("torch", "transformers", "peft"):
        pytest.importorskip(library, reason=f"{library} of the extra 'language' is not installed")


def saved(folder: Path, *, words: tuple[str, ...] = (), **config: Any) -> Path:
    """Save a model of two small layers, which knows no language at all, and its tokenizer.

    With `words` the tokenizer knows these alone, and answers [unk] for all others.
    """
    require_libraries()
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = ["<|end|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|end|>").save_pretrained(folder)
    if words:
        known = {word: i for i, word in enumerate(("[unk]", *words))}
        by_words = Tokenizer(models.WordLevel(vocab=known, unk_token="[unk]"))
        by_words.pre_tokenizer = pre_tokenizers.Whitespace()
        named = PreTrainedTokenizerFast(tokenizer_object=by_words, unk_token="[unk]", bos_token="[unk]")
        named.save_pretrained(folder)
    usual = {"vocab_size": len(letters), "n_positions": 128, "n_embd": UNITS, "n_layer": 2, "n_head": 2}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = GPT2LMHeadModel(GPT2Config(**(usual | {"bos_token_id": 0, "eos_token_id": 0} | config)))
    model.save_pretrained(folder)
    return folder
