"""What the library says, in the words of the command: arguments of Python become the options that were typed."""

from __future__ import annotations

import re

# The argument that a message of the library begins with, and the option that it came from.
_ARGUMENTS = {
    "accounting": "--accounting",
    "bins": "--bins",
    "delta": "--delta",
    "discretizer": "--discretizer",
    "epsilon": "--epsilon",
    "folder": "--folder",
    "n": "--rows",
    "n_rows": "--assume-rows",
    "plane": "--plane",
    "rho": "--rho",
    "seed": "--seed",
    "share": "--preprocessing-share",
    "target": "--target",
    "title": "--title",
    "where": "--where",
    "within": "--within",
    "workers": "--workers",
}
_BEGINS = re.compile(rf"({'|'.join(_ARGUMENTS)})(?= (must|is|asks|gives|cannot|allows)\b)")
# Names of Python within a message, the longest first.
_NAMES = {
    r"allow_observed=True \(--observed-domain\)": "--observed-domain",
    r"`others: find` in the schema file \(Schema\(\.\.\., others='find'\)\)": "`others: find` in the schema file",
    r"use Budget\.none\(\) \(--epsilon inf\)": "use --epsilon inf",
    r"Budget\.pure\(epsilon\)": "--pure",
    r"Budget\.none\(\)": "--epsilon inf",
    r"\bgiven=": "--given",
    r"release\.schema\[[^\]]*\]": "`syntabula info`",
    r"\bmemory_mb\b": "--memory",
    r"\b(max_memory_mb|max_model_mb|max_rows)\b(?! must)": r"--option \1",
    r"\bn_shadows\b": "--shadows",
    r"\b(n_records|max_records)\b": "--records",
    r"\b(with|without) resume\b": r"\1 --resume",
    r"\bthe share of preprocessing\b": "--preprocessing-share",
    r"\bor None\b": "or null",
    r"\bTrue or False\b": "true or false",
}


def in_flags(message: str) -> str:
    """Return a message of the library with the options of the command in place of arguments."""
    if begins := _BEGINS.match(message):
        message = _ARGUMENTS[begins[1]] + message[begins.end() :]
    for name, flag in _NAMES.items():
        message = re.sub(name, flag, message)
    return message
