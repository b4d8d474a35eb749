"""Find the categories of a column of labels, or without privacy the keys that it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from syntabula.privacy.doors.labels import CellText, LabelCurator
from syntabula.table.key_names import is_key_name, keys_of_persons
from syntabula.table.new_keys import hardly_repeat, identifier_of
from syntabula.table.schema.columns import Identifier

MOST_REPEATED = 0.1
"""Part of the cells whose texts may occur more than once among keys; of others, the frequent texts are learned."""


@dataclass(frozen=True)
class FoundCategories:
    """Released categories of a column.

    Attributes:
        labels: Categories in alphabetical order; empty if all are rare.
        n_missing: Noisy number of missing values; 0 if they are not frequent.
        n_labelled: Noisy number of the values that are one of these categories.
    """

    labels: tuple[str, ...]
    n_missing: int
    n_labelled: int

    @property
    def has_missing(self) -> bool:
        """Whether missing values are frequent."""
        return self.n_missing > 0

    def are_keys(self, name: str, n_records: float) -> bool:
        """Return whether texts are keys: none is frequent, or the column has the name of keys and most are not.

        Of accounts with ten records each, and a few with a hundred, only these few are found. Real keys would come out,
        beside an "other" for nearly all records.

        Args:
            name: Name of the column, which is public.
            n_records: Released number of records.
        """
        if not self.labels:
            return True
        has_name = is_key_name(name) or bool(keys_of_persons([name]))
        return has_name and 2 * self.n_labelled < n_records - self.n_missing


def extract_categories(
    column: LabelCurator, *, share: Fraction, delta: Fraction, step: str, least: int = 1
) -> FoundCategories:
    """Find the categories that enough records share.

    Partition selection: each label that occurs is counted with Gaussian noise and released if its noisy count reaches a
    threshold of four to five standard deviations, see `ThresholdEvent`. Rarer labels go to the category "other", which
    exists whether it is needed or not. None of the papers has a method for categories; this one is standard
    (Korolova, Kenthapadi, Mishra and Ntoulas, 2009; Desfontaines, Voss, Gipson and Mandayam, 2022).

    Args:
        column: The labels.
        share: Fraction of the whole budget, which must have a delta.
        delta: Upper bound on the probability of releasing a label that only one record has.
        step: Name of this spend in the ledger.
        least: Number of records below which a category is not found; see `LabelCurator.frequent`.

    Returns:
        The categories.
    """
    found = column.frequent(share=share, delta=delta, step=step, least=least)
    labels = tuple(x for x in found if x is not None)
    return FoundCategories(labels, found.get(None, 0), sum(found[x] for x in labels))


def exact_key(column: LabelCurator, numbers: tuple[int, int], *, step: str) -> Identifier | None:
    """Return the identifier of texts that hardly repeat, as all of them show it; None for others.

    It reads the labels as they are, as a draft of a schema does, so it is done without privacy only.

    Args:
        column: The labels.
        numbers: How many cells are present, and how many are missing.
        step: Name of this answer in the ledger.
    """
    n_present, n_missing = numbers

    def form(counts: Mapping[CellText, int]) -> dict[str, Any] | None:
        numbers = {label: number for label, number in counts.items() if label is not None}
        repeated = sum(number for number in numbers.values() if number > 1)
        if not hardly_repeat(len(numbers), n_present) or repeated > MOST_REPEATED * n_present:
            return None
        key = identifier_of(numbers, nullable=n_missing > 0, provenance="private")
        shares = None if key.shares is None else [*key.shares]
        return {"pattern": key.pattern, "shares": shares, "distinct": key.distinct}

    told = column.told(form, what="pattern of keys", step=step)
    return None if told is None else Identifier(**told, nullable=n_missing > 0, provenance="private")


def is_unicode(label: CellText) -> bool:
    """Return whether a label can be written as UTF-8."""
    try:
        (label or "").encode()
    except UnicodeEncodeError:
        return False
    return True
