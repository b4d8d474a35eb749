"""How an undeclared column of a table in parts is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from syntabula.table.raw import PhysicalType


@dataclass(frozen=True)
class StoredType:
    """How an undeclared column is stored.

    Attributes:
        physical: Its type as a reader of whole tables names it.
        read: Its type as batches have it.
        kind: The type of the numbers that stand for its cells, float64 for decimals; of objects for texts.
    """

    physical: PhysicalType
    read: PhysicalType
    kind: np.dtype[Any]
