"""Reads a pretrained language model from a folder of the user's: nothing is downloaded, and nothing in it is executed."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from syntabula._extras import require, require_installed
from syntabula.errors import ArgumentError

EXTRA = "language"
"""Installs what these models need."""

_CODE = ("auto_map", "custom_pipelines")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_SHARDS = "model.safetensors.index.json"


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse what is no folder of a model that can be read safely; no library is needed for that.

    Raises:
        ArgumentError: If it is no folder, has no configuration or no weights as safetensors, or comes with code.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise _refused(
            folder,
            "is no folder on this machine; name one with a model that was saved there, as names of models elsewhere are "
            "never looked up",
        )
    if (folder / "adapter_config.json").exists():
        raise _refused(folder, "is an adapter to another model; merge both and save the whole model")
    if not (folder / "config.json").is_file():
        raise _refused(folder, "has no config.json; save a causal language model there with save_pretrained")
    for name in ("config.json", "tokenizer_config.json"):
        if (folder / name).exists():
            check_config(_read(folder, name), f"{name} in model_path {str(folder)!r}")
    if (folder / _SHARDS).exists():
        parts = _read(folder, _SHARDS).get("weight_map", {})
        names = [*parts.values()] if isinstance(parts, Mapping) else [None]
        if not names or not all(isinstance(n, str) and _is_weights(folder, n) for n in names):
            raise _refused(folder, f"has a {_SHARDS} that names other files than safetensors in this folder")
    elif not _is_weights(folder, "model.safetensors"):
        pickled = any(file.suffix in _PICKLES for file in folder.iterdir())
        raise _refused(
            folder,
            "holds weights as a pickle, which can run code when it is read; save them as safetensors"
            if pickled
            else "has no model.safetensors; save the model there with save_pretrained",
        )


def check_config(config: Mapping[str, Any], where: str) -> None:
    """Refuse a configuration that brings code of its own, or weights that are no plain numbers.

    Raises:
        ArgumentError: Names the setting.
    """
    for key, value in config.items():
        if key in _CODE and value:
            raise ArgumentError(
                f"{where} asks for code of its own ({key}), which is never run; use another model"
            )
        if key == "quantization_config" and value:
            raise ArgumentError(f"{where} says that weights are quantised; save the model in full precision")
        if isinstance(value, Mapping):
            check_config(value, where)


def read_base(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Return a causal language model in single precision, and its tokenizer.

    Args:
        path: A folder that `check_folder` accepts.

    Raises:
        ArgumentError: If it is refused, or the library cannot read it as a causal language model.
        MissingExtraError: If a library is missing.
    """
    check_folder(path)
    # Said before libraries are loaded, which takes seconds.
    for library in ("transformers", "peft"):
        require_installed(library, EXTRA)
    torch, transformers = require("torch", "neural"), require("transformers", EXTRA)
    where: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        with quiet(transformers):
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(path), **where)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                str(path), use_safetensors=True, dtype=torch.float32, attn_implementation="eager", **where
            )
    except Exception as error:
        raise _refused(
            Path(path),
            f"cannot be read as a causal language model with its tokenizer ({type(error).__name__}); save both there "
            "with save_pretrained",
        ) from None
    # Where its files are missing, newer transformers makes a tokenizer without any token of the configuration alone.
    if not tokenise_with(tokenizer)("a"):
        raise _refused(
            Path(path),
            "has no tokenizer that knows the letter a; save that of the model there with save_pretrained",
        )
    return model.eval(), tokenizer


def plain_config(model: Any) -> dict[str, Any]:
    """Return the configuration of a model as facts that a file can hold, without names of places."""
    config: dict[str, Any] = json.loads(model.config.to_json_string(use_diff=True))
    left_out = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype")
    return {k: v for k, v in config.items() if k not in left_out and "implementation" not in k}


def built(config: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> Any:
    """Return an untrained model of a stored configuration.

    Args:
        config: As `plain_config` returns it.
        shapes: Of its parameters; no memory is taken for others.

    Raises:
        MissingExtraError: If a library is missing.
        ValueError: If the library knows no such model, or its parameters have other shapes.
    """
    torch, transformers = require("torch", "neural"), require("transformers", EXTRA)
    kind = config.get("model_type")
    settings = {k: v for k, v in config.items() if k != "model_type" and "implementation" not in k}
    with quiet(transformers):
        made = transformers.AutoConfig.for_model(kind, **settings)

        def make() -> Any:
            return transformers.AutoModelForCausalLM.from_config(made, attn_implementation="eager")

        with torch.device("meta"):
            found = {n: tuple(p.shape) for n, p in make().named_parameters()}
        if found != dict(shapes):
            raise ValueError("weights of another network")
        with torch.random.fork_rng(devices=[]):
            return make().float().eval()


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Keep what a library prints and warns of out of the user's sight."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _is_weights(folder: Path, name: str) -> bool:
    return name == Path(name).name and name.endswith(".safetensors") and (folder / name).is_file()


def _read(folder: Path, name: str) -> dict[str, Any]:
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _refused(folder, f"has a {name} that cannot be read")
    return found


def _refused(folder: Path, why: str) -> ArgumentError:
    return ArgumentError(f"model_path {str(folder)!r} {why}")


Tokenise = Callable[[str], list[int]]


def tokenise_with(tokenizer: Any) -> Tokenise:
    """Return what turns a text into tokens, without any that the tokenizer adds at its ends."""

    def tokens(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    return tokens


def start_of(tokenizer: Any) -> list[int]:
    """Return the tokens that stand before each text."""
    for token in (tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return [int(token)]
    return tokenise_with(tokenizer)("\n")
