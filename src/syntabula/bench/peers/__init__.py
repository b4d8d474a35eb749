"""Code of others as rows of a study, each run by a Python of its own that the user names.

An adapter is a script of a page in this folder. It runs in an environment where the peer is installed and this library
need not be: `SYNTABULA_PEER_MBI=/path/to/bin/python` names it. Where the variable is absent, the peer's cells are left
out, with the reason. A peer gets integer codes in the bins of the cell, so that all see the same table, or the rows
themselves if it prepares columns on its own.
"""

from __future__ import annotations

from syntabula.bench.peers.adapter import ADAPTERS, Adapter, check_peer

__all__ = ["ADAPTERS", "Adapter", "check_peer"]
