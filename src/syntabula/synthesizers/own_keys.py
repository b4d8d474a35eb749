"""Keys of a pattern: enough for all rows, and such that no other release has: by equal keys, tables that have nothing to
do with each other could be joined."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from syntabula.errors import SchemaError
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.units import UnitKeySource
from syntabula.table.coding.codec import Codec
from syntabula.table.schema.columns import Identifier
from syntabula.table.schema.schema import Schema


def require_enough_keys(schema: Schema | None, n_rows: float) -> None:
    """Refuse declared keys that would not suffice for a table as long as the real one, before more budget is spent.

    Args:
        schema: The declared columns.
        n_rows: Number of rows, exact where there is no privacy, else as released.

    Raises:
        SchemaError: If a pattern has fewer different keys than there are rows, and nothing says that they come again.
    """
    for name, column in ({} if schema is None else schema.columns).items():
        if not isinstance(column, Identifier) or column.pattern is None or column.distinct is not None:
            continue
        # Those of units come again in their rows.
        if schema is not None and name != schema.unit and (n_keys := column.keys().n_keys) < n_rows:
            raise SchemaError(
                f"column {name!r}: its pattern has {n_keys:,} different keys, fewer than the table has rows; say by "
                "`distinct` how many differ, if they come again, or declare a longer pattern. Nothing but the number of "
                "records was asked of the table"
            )


def with_own_keys(codec: Codec, noise: NoiseSource) -> Codec:
    """Return a codec whose keys of patterns follow from a number that the source of noise draws for this run.

    It depends on no record. All tables drawn from one release have the same keys in the same order, as parts of one table
    may be drawn on several machines. With a seed the number follows from it, and a source that draws no secrets leaves
    the keys that depend on the column alone.
    """
    if not isinstance(noise, UnitKeySource):
        return codec
    # A seeded source has one secret, which also chooses the rows of units.
    digest = hashlib.blake2b(noise.unit_key(), digest_size=6, person=b"own keys").digest()
    return replace(codec, own_keys=int.from_bytes(digest, "little"))
