"""The register of model kinds: which class a release file means by the kind that it names.

A file names its model by kind, never by an import path, so that loading imports nothing that the file chose. The
kinds of this package come first; a plug-in cannot take one of them over.
"""

from __future__ import annotations

import re
from importlib import import_module, metadata
from typing import Any, TypeVar

from syntabula.errors import ArgumentError, ReleaseFileError
from syntabula.models.base import MarginalModel

ENTRY_POINTS = "syntabula.models"

_BUILT_IN = {
    "bayesian_network": "syntabula.models.bayesian_network:BayesianNetwork",
    "genetic": "syntabula.models.genetic:Genetic",
    "gum": "syntabula.models.gum:GUM",
    "neural": "syntabula.models.neural:NeuralRows",
    "pgm": "syntabula.models.pgm:PGM",
    "relaxed_projection": "syntabula.models.relaxed_projection:RelaxedProjection",
    "recoded": "syntabula.models.recoded:RecodedModel",
}
_KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
_METHODS = ("over", "memory_mb", "fit", "marginals", "sample", "state", "from_state")
_HOW_TO_REGISTER = (
    "give the class an attribute `kind` of its own and decorate it with @syntabula.register_model, or name it in the "
    f"entry-point group {ENTRY_POINTS!r} of its package"
)

ModelT = TypeVar("ModelT", bound=type)

_registered: dict[str, type[Any]] = {}


def register_model(model: ModelT) -> ModelT:
    """Register a class of models under its attribute `kind`, so that its releases can be saved and loaded.

    The registration lasts as long as the process. A package does the same for everyone who installs it by an entry point
    of the group `syntabula.models`, whose name is the kind and whose value is the class, "module:Class".

    Args:
        model: A class with the methods of `MarginalModel` and a text `kind` that no other class has. A class of the
            same name and module is replaced, so that a notebook cell can run again.

    Returns:
        The class, so that this serves as a decorator.

    Raises:
        ArgumentError: If it is no such class, or the kind belongs to another one.

    Examples:
        >>> import syntabula
        >>> from syntabula.models.pgm import PGM
        >>> @syntabula.register_model
        ... class MyPGM(PGM):
        ...     kind = "my_pgm"
        >>> method = syntabula.Marginal(selector="one_way", model=MyPGM())
    """
    if not isinstance(model, type):
        raise ArgumentError(
            f"register_model takes the class of a model, not an object of type {_name(model)}"
        )
    missing = [name for name in _METHODS if not callable(getattr(model, name, None))]
    if missing:
        raise ArgumentError(f"{model.__name__} lacks the methods of a model: {', '.join(missing)}")
    kind = model.__dict__.get("kind")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ArgumentError(
            f"{model.__name__} needs an attribute `kind` of its own: a text of letters, digits and any of _.+- that "
            "release files name it by"
        )
    taken = _class_of(kind)
    if taken is not None and _home(taken) != _home(model):
        raise ArgumentError(
            f"the kind {kind!r} belongs to {_home(taken)}; give {model.__name__} another `kind`"
        )
    _registered[kind] = model
    return model


def stored_kind(model: MarginalModel) -> str:
    """Return the kind that release files name a model by.

    Raises:
        ArgumentError: If the class of the model is not registered; says how to do that.
    """
    kind = getattr(type(model), "kind", None)
    if isinstance(kind, str) and _class_of(kind) is type(model):
        return kind
    raise ArgumentError(
        f"a model of class {_name(model)} cannot be stored in a release file, as the class is not registered: "
        f"{_HOW_TO_REGISTER}"
    )


def plug_in_of(kind: str) -> str | None:
    """Return where a kind that is not of this package comes from, in words for who lacks it; None for ours."""
    if kind in _BUILT_IN:
        return None
    if kind in _registered:
        return _home(_registered[kind])
    point = _entry_point(kind)
    package = f"{point.dist.name}, " if point is not None and point.dist is not None else ""
    return package + ("" if point is None else point.value)


def class_of(kind: object, plug_in: object = None) -> type[Any]:
    """Return the class that a release file means by a kind.

    Args:
        kind: As the file has it.
        plug_in: What `plug_in_of` returned when the file was written. It is only shown, and not imported.

    Raises:
        ReleaseFileError: If no class of that kind is here; names the plug-in.
    """
    found = _class_of(kind) if isinstance(kind, str) else None
    if found is not None:
        return found
    if isinstance(kind, str) and _KIND.fullmatch(kind):
        source = f" (saved with {plug_in[:200]!r})" if isinstance(plug_in, str) and plug_in else ""
        raise ReleaseFileError(
            f"this file holds a model of kind {kind!r}{source}, which is not installed here; install that plug-in, or "
            "import the module that registers the model, or upgrade syntabula if the kind is one of its own"
        )
    raise ReleaseFileError("this file names no kind of model")


def _class_of(kind: str) -> type[Any] | None:
    if kind in _BUILT_IN:
        module, _, name = _BUILT_IN[kind].partition(":")
        built_in: type[Any] = getattr(import_module(module), name)
        return built_in
    if kind in _registered:
        return _registered[kind]
    point = _entry_point(kind)
    if point is None:
        return None
    try:
        loaded = point.load()
    except ImportError as error:
        raise ReleaseFileError(
            f"the plug-in {point.value!r}, which makes models of kind {kind!r}, cannot be loaded "
            f"({_name(error)}); repair its installation"
        ) from None
    return loaded if isinstance(loaded, type) and getattr(loaded, "kind", None) == kind else None


def _entry_point(kind: str) -> metadata.EntryPoint | None:
    return next(iter(metadata.entry_points(group=ENTRY_POINTS, name=kind)), None)


def _home(model: type[Any]) -> str:
    return f"{model.__module__}:{model.__qualname__}"


def _name(thing: object) -> str:
    return type(thing).__name__
