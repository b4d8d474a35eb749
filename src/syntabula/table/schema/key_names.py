"""Names that keys of records usually have."""

from __future__ import annotations

import re

_WORD = re.compile(r"(^|[_\W])(id|ids|uuid|guid|key|nr|nbr|no|number|index)$", re.IGNORECASE)
_CAMEL = re.compile(r"[a-z](Id|ID|Key|Number|Nr|Uuid|UUID)$")


def is_key_name(name: str) -> bool:
    """Return whether a column's name, which is public, is one that keys have: id, order_id, customerID or uuid."""
    return bool(_WORD.search(name) or _CAMEL.search(name))
