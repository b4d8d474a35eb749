"""The interfaces ("doors") to sensitive records: every answer is noisy and paid for, or privacy is off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from syntabula.marginals.domain import Domain
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.doors.tables import Curator

if TYPE_CHECKING:
    from syntabula.marginals.measurement import FloatArray
    from syntabula.privacy.training.counts import LeafCurator, NearestCurator
    from syntabula.privacy.training.features import FeatureCurator
    from syntabula.privacy.training.records import RecordCurator
    from syntabula.privacy.training.teachers import TeacherCurator


@dataclass(frozen=True, eq=False)
class Doors:
    """The queries that a learner may ask a sensitive table; every answer is noisy and paid for by one ledger.

    Attributes:
        tables: Answers marginals, cells and dependences.
        texts: Returns the text of each code by column, as the codec writes it; of no column where nobody wrote any.
        weekdays: Returns the share of each weekday in each code of columns of days and times [codes, 7]: public facts,
            as the codes are.
    """

    tables: Curator
    texts: Callable[[], Mapping[str, Sequence[str]]] = dict
    weekdays: Callable[[], Mapping[str, FloatArray]] = dict

    @property
    def domain(self) -> Domain:
        """Columns and sizes of the table."""
        return self.tables.domain

    @property
    def records(self) -> RecordCurator:
        """Answers for the records themselves."""
        # Most methods ask tables alone, and load no other door.
        from syntabula.privacy.training.records import RecordCurator

        return RecordCurator(self.tables)

    @property
    def teachers(self) -> TeacherCurator:
        """Lets teachers on parts of the records vote on rows."""
        from syntabula.privacy.training.teachers import TeacherCurator

        return TeacherCurator(self.tables)

    @property
    def features(self) -> FeatureCurator:
        """Answers sums of bounded features of the records."""
        from syntabula.privacy.training.features import FeatureCurator

        return FeatureCurator(self.tables)

    @property
    def nearest(self) -> NearestCurator:
        """Lets records vote for the nearest of some rows."""
        from syntabula.privacy.training.counts import NearestCurator

        return NearestCurator(self.tables)

    @property
    def leaves(self) -> LeafCurator:
        """Answers for counts in the leaves of trees."""
        from syntabula.privacy.training.counts import LeafCurator

        return LeafCurator(self.tables)

    def recoded(self, recoding: Recoding) -> Doors:
        """Return the doors to the same table with codes merged."""

        def merged() -> dict[str, list[str]]:
            # The first of those with the largest share stands for all.
            firsts = {
                c: np.array(
                    [np.argmax(np.where(codes == new, recoding.shares[c], -1.0)) for new in np.unique(codes)]
                )
                for c, codes in recoding.maps.items()
            }
            return {c: [t[i] for i in firsts.get(c, range(len(t)))] for c, t in self.texts().items()}

        def averaged() -> dict[str, FloatArray]:
            found = dict(self.weekdays())
            for c in found.keys() & recoding.maps.keys():
                of_merged = np.zeros((recoding.target.size(c), found[c].shape[1]))
                np.add.at(of_merged, recoding.maps[c], recoding.shares[c][:, None] * found[c])
                found[c] = of_merged
            return found

        return Doors(self.tables.recoded(recoding), merged, averaged)
