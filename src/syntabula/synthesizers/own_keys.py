"""Keys of a pattern that no other release has: by equal keys, tables that have nothing to do with each other could be
joined."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.units import UnitKeySource
from syntabula.table.coding.codec import Codec


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
