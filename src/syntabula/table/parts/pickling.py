"""Lets schemas and codecs be sent to other processes, which Python does not do with mappings that cannot be changed."""

from __future__ import annotations

import copyreg
from types import MappingProxyType
from typing import Any


def _unchangeable(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


copyreg.pickle(MappingProxyType, lambda mapping: (_unchangeable, (dict(mapping),)))
