"""Folders of pretrained models: what is refused before any library is loaded, and that nothing leaves the machine."""

from __future__ import annotations

import json
import math
import socket
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tiny_language import saved

import syntabula as st
from syntabula.errors import ArgumentError, MissingExtraError
from syntabula.record_models.pretrained_folder import check_folder, plain_config, read_base


def folder(place: Path, config: Any = None, *files: str) -> Path:
    place.mkdir(exist_ok=True)
    if config is not None:
        (place / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    for name in files:
        (place / name).write_text("{}")
    return place


GOOD = {"model_type": "gpt2"}


class TestCheckFolder:
    def test_a_name_of_a_model_elsewhere_is_no_folder(self) -> None:
        for name in ("gpt2", "distilbert/distilgpt2"):
            with pytest.raises(ArgumentError, match=r"is no folder on this machine.* never looked up"):
                check_folder(name)

    @pytest.mark.parametrize(
        ("config", "files", "message"),
        [
            (None, (), "has no config.json"),
            ("no JSON", (), "has a config.json that cannot be read"),
            ("[]", (), "has a config.json that cannot be read"),
            (GOOD, (), "has no model.safetensors"),
            (
                GOOD,
                ("pytorch_model.bin",),
                "pickle, which can run code when it is read; save them as safetensors",
            ),
            (GOOD, ("consolidated.pth",), "pickle"),
            (GOOD, ("adapter_config.json",), "is an adapter to another model"),
            (GOOD, ("model.safetensors.index.json",), "names other files than safetensors"),
            (GOOD | {"auto_map": {"AutoModel": "x.Y"}}, ("model.safetensors",), "code of its own"),
            (GOOD | {"text": {"auto_map": {"A": "x"}}}, ("model.safetensors",), "code of its own"),
            (GOOD | {"quantization_config": {"bits": 4}}, ("model.safetensors",), "quantised"),
        ],
    )
    def test_what_cannot_be_read_safely_is_refused_with_what_to_do(
        self, config: Any, files: tuple[str, ...], message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(ArgumentError, match=message):
            check_folder(folder(tmp_path / "model", config, *files))

    def test_parts_elsewhere_or_pickled_are_refused(self, tmp_path: Path) -> None:
        place = folder(tmp_path / "model", GOOD, "part.safetensors", "part.bin")
        (tmp_path / "far.safetensors").write_text("")
        for name in ("part.bin", "../far.safetensors", "missing.safetensors", 3):
            (place / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
            with pytest.raises(ArgumentError, match="names other files"):
                check_folder(place)
        (place / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": {"a": "part.safetensors"}})
        )
        check_folder(place)

    def test_a_tokenizer_with_code_is_refused(self, tmp_path: Path) -> None:
        place = folder(tmp_path / "model", GOOD, "model.safetensors")
        (place / "tokenizer_config.json").write_text(
            json.dumps({"auto_map": {"AutoTokenizer": ["x.Y", None]}})
        )

        with pytest.raises(ArgumentError, match=r"tokenizer_config.json .* code of its own"):
            check_folder(place)


class TestGReaT:
    def test_a_model_without_its_tokenizer_is_refused(self, tmp_path: Path) -> None:
        place = saved(tmp_path / "model")
        for file in place.glob("token*"):
            file.unlink()

        with pytest.raises(ArgumentError, match=r"tokenizer.* save .* there with save_pretrained"):
            read_base(place)

    def test_a_folder_is_refused_before_a_table_is_read(self, tmp_path: Path) -> None:
        method = st.GReaT(epsilon=math.inf)

        with pytest.raises(ArgumentError, match="is no folder on this machine"):
            method.with_options(model_path=str(tmp_path / "none"))
        with pytest.raises(ArgumentError, match="model_path must be the path of a folder"):
            method.with_options(model_path=3)

    @pytest.mark.parametrize("library", ["transformers", "peft"])
    def test_without_its_library_it_is_said_what_to_install_before_anything_is_read(
        self, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for needed in ("transformers", "peft"):
            # Both seem to be there, and then one of them does not.
            monkeypatch.setitem(sys.modules, needed, ModuleType(needed))
            sys.modules[needed].__spec__ = ModuleSpec(needed, None)
        monkeypatch.setitem(sys.modules, library, None)
        place = folder(tmp_path, GOOD, "model.safetensors")
        method = st.GReaT(epsilon=math.inf).with_options(model_path=str(place))

        with pytest.raises(MissingExtraError, match=r"syntabula\[language\]"):
            method.fit(tmp_path / "not there.csv", st.Schema({"a": st.Boolean()}))


class TestReadBase:
    @pytest.mark.thorough
    def test_it_is_read_without_a_word_to_the_network(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        saved(tmp_path)

        def refuse(*arguments: object, **more: object) -> None:
            raise AssertionError("something asked the network")

        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        monkeypatch.setattr(socket.socket, "connect", refuse)
        capfd.readouterr()

        model, tokenizer = read_base(tmp_path)

        assert tokenizer("a", add_special_tokens=False)["input_ids"]
        assert str(tmp_path) not in json.dumps(plain_config(model))
        assert not any(capfd.readouterr())

    @pytest.mark.thorough
    def test_what_is_no_causal_model_or_is_torn_is_refused_in_a_sentence(self, tmp_path: Path) -> None:
        saved(tmp_path / "good")
        torn = folder(tmp_path / "torn", (tmp_path / "good" / "config.json").read_text())
        (torn / "model.safetensors").write_bytes((tmp_path / "good" / "model.safetensors").read_bytes()[:500])
        (torn / "tokenizer.json").write_text((tmp_path / "good" / "tokenizer.json").read_text())
        foreign = folder(tmp_path / "foreign", {"model_type": "of my own"}, "model.safetensors")

        for place in (torn, foreign):
            with pytest.raises(ArgumentError, match="cannot be read as a causal language model") as caught:
                read_base(place)
            assert caught.value.__cause__ is None
