"""The result of a fit: a model with its codec and its privacy statement."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._arguments import check_cliques, count
from syntabula._arguments import path as file_path
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import Model
from syntabula.privacy.statement import PrivacyStatement
from syntabula.synthesizers.drawing import Draw, Drawing, check_room, common_seed, generator, pieces, whole
from syntabula.table.coding.codec import Codec
from syntabula.table.frames.conform import output_type, undeclared_types
from syntabula.table.raw import Container, Origin, RawColumn
from syntabula.table.schema.schema import Schema

if TYPE_CHECKING:
    from syntabula.synthesizers.lost_columns import FoundColumns
    from syntabula.table.files.row_parts import RowPart
    from syntabula.table.rules.row_rules import RowRules


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A fitted synthesizer that is safe to share: everything in it is post-processing of noisy answers.

    Attributes:
        method: Key of the synthesizer that made it.
        codec: Maps codes to values.
        model: The fitted distribution over codes.
        privacy: The guarantee, what was spent and the assumptions.
        origin: The kind of table that was fitted, which samples have too, and the stored types of undeclared
            columns.
        rules: What every row satisfies, with the schema of whole rows; the codec and the model then have the columns
            that were learned. None if there are no rules.
    """

    method: str
    codec: Codec
    model: Model
    privacy: PrivacyStatement
    origin: Origin
    rules: RowRules | None = None

    @property
    def schema(self) -> Schema:
        """Columns and domains of the table."""
        return self.codec.schema if self.rules is None else self.rules.schema

    @property
    def provenance(self) -> Mapping[str, str]:
        """For each column, where its domain came from: public, private or observed."""
        return self.privacy.provenance

    @property
    def n_estimated(self) -> int:
        """Noisy estimate of the number of original records."""
        return max(0, round(self.model.total))

    def sample(
        self,
        n: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        given: Any = None,
        seed: int | None = None,
    ) -> Any:
        """Draw a synthetic table of the same kind as the original; this costs no privacy.

        Declared columns have the types that `output_type` says, whatever the original's were: in pandas, int64 or,
        if nullable, Int64 for whole numbers, bool or boolean for flags, datetime64 for days and times, and plain texts
        for categories that are texts. Columns that were found are stored as in the original.

        Conditions are exact: rows follow the release's distribution given them. Of sets of records (PrivSyn, Private-GSD)
        those that satisfy them are drawn. ARGN, Synthpop, diffusion and networks too wide for a junction tree draw rows
        until enough do. If few or no records do, a ConditionWarning is issued. If the schema has rules, every row
        satisfies them: one that does not gets other values within its codes, or is drawn anew, as are rows for
        conditions on computed columns. A RuleWarning says if they are more than a tenth.

        Args:
            n: Number of rows; by default the noisy estimate of the original's, or of its records that satisfy `where`.
            where: Allowed values of some columns, by name; every row satisfies all of them. For each column: a
                value; a list of alternatives; a range as a tuple (first, last) with both ends included, where
                None leaves an end open; a comparison as text, such as ">5" or ">=5 and <10"; None for missing; or
                ... for anything but missing. Lists may hold ranges, comparisons and None. Days and times may be
                text, in the column's format or ISO 8601. In a column of times, a day stands for the whole day.
            given: A table, as `fit` takes, with values of some columns. The result has one row for each of its rows, in
                the same order: given values are kept, and the others drawn conditionally, until `where` holds. A missing
                cell counts as "missing"; identifiers are kept and have no effect on the draw. Rows differ in a column
                that is `unique` and not given. The guarantee does not cover this table, whose values are in the result.
            seed: Makes the draw repeatable; the guarantee does not depend on it.

        Returns:
            A pandas or polars data frame or an Arrow table, like the fitted table; a data frame if that was a path.

        Raises:
            ArgumentError: If n is not an integer of at least 0, no row can satisfy `where`, `given` holds values that
                this release cannot have, `n` or a column of `where`, or there are more rows than `unique` values.
            SchemaError: If `where` or `given` names an unknown column, or a given column's stored type does not
                match the declared one.
            DataError: If the given table cannot be read.
            ResourceError: If so many rows do not fit into memory, or the model is a network too wide for a junction
                tree and either almost no row satisfies `where` or `given` is used, or fewer than one row in a thousand
                satisfies the rules, or rows with too few values of a `unique` column do.

        Examples:
            >>> import syntabula
            >>> people = syntabula.datasets.census(n_rows=3000)
            >>> release = syntabula.MST(epsilon=5.0).fit(people, syntabula.datasets.schema_of("census"))
            >>> young = release.sample(100, where={"age": (18, 30), "sex": "female"})
            >>> bool(young["age"].between(18, 30).all())
            True
        """
        from syntabula.table.frames.frames import frame_library, to_frame

        columns = self.sample_columns(n, where=where, given=given, seed=seed)
        library = frame_library(self.origin.container)
        labels = {n: tuple(c.categories) for n, c in self.schema.columns.items() if hasattr(c, "categories")}
        return to_frame(columns, self.stored_in(library), categories=labels)

    def sample_to(
        self,
        path: str | os.PathLike[str],
        n: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        given: Any = None,
        seed: int | None = None,
        parts: int | None = None,
        part: int | None = None,
    ) -> int:
        """Draw a synthetic table into a file, whose suffix sets the format; return the number of rows written.

        More rows than 250,000 are drawn and written in pieces, so that memory does not grow with them. See
        `sample` for all other arguments. An existing file is replaced at the very end; a symbolic link is replaced
        itself, not its target.

        With `parts`, the path is a folder, such as rows.parquet, of files such as part-007-of-200.parquet. Each part is
        drawn by its own seed, which follows from `seed` and its number: machines that draw one `part` each, with the
        same release, arguments and seed, write the files that one machine writes. All parts together have the rows,
        identifiers and units of one table. Each file is written whole or not at all; if one cannot be written, those
        before it stay, and `part` continues from there.

        Args:
            path: The file; with `parts`, the folder, which is made if it does not exist. Its suffix sets the format of
                the parts; without one it is Parquet.
            n: Number of rows, of all parts together.
            where: As `sample`.
            given: As `sample`.
            seed: Makes the draw repeatable. Parts without a seed are drawn independently.
            parts: Number of files, or None for a single one.
            part: The only part to draw, from 1 to `parts`; None for all.

        Raises:
            ArgumentError: As `sample`, or if the path is not a path or its suffix is unknown, or there is no such part.
            DataError: As `sample`, or if a file cannot be written, or its disk has no room for so many rows; an
                existing file is left unchanged. With `parts`, also if the folder holds anything but such parts.
            ResourceError: As `sample`, or if no disk could hold so many rows.
        """
        place = file_path("path", path)
        if parts is None:
            if part is not None:
                raise ArgumentError("part needs parts, the number of all parts; give both")
            self._format(place)
            rows, draw = self._drawing.prepared(n, where, given, seed)
            self._write(place, draw, range(rows), generator(seed))
            return rows
        from syntabula.table.files.row_parts import RowPart, checked_parts, folder_of_parts

        (of, numbers), common, folder = checked_parts(parts, part), common_seed(seed), Path(place)
        self._format(RowPart(1, of, 0).file(folder))
        rows, draw = self._drawing.prepared(n, where, given, common)
        wanted = [RowPart(number, of, rows) for number in numbers]
        with folder_of_parts(folder, wanted[0]):
            first = wanted[0].file(folder)
            check_room(first, draw, sum(p.stop - p.start for p in wanted), self._format(first))
            for position, one in enumerate(wanted):
                if position and self.rules is not None and where is not None and given is None:
                    # How many rows to try was learned from the parts before, which another machine does not draw.
                    _, draw = self._drawing.prepared(rows, where, given, common)
                own = range(one.start, one.stop)
                self._write(one.file(folder), draw, own, one.generator(common), checked=True)
        return sum(one.stop - one.start for one in wanted)

    def sample_on(
        self,
        session: Any,
        n: int | None = None,
        *,
        parts: int,
        where: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> Any:
        """Return a synthetic table as a Spark frame, whose workers draw it; this costs no privacy.

        Nothing is drawn before the frame is used, as by `frame.write.parquet`, and then each partition by itself. The
        rows are those that `sample_to` writes with the same seed and number of parts, however often they are drawn or a
        worker is lost. Texts, numbers, flags, days and times have Spark's types; times of day are texts.

        Args:
            session: A session of Spark, classic or Spark Connect, whose workers have this version of syntabula.
            n: Number of rows, of all parts together; by default as `sample`.
            parts: Number of partitions, as equal as can be.
            where: As `sample`.
            seed: Makes the draw repeatable.

        Raises:
            ArgumentError: As `sample`, or if the session is not one of Spark.
            ResourceError: As `sample`.
        """
        from syntabula.synthesizers.spark_rows import spark_frame
        from syntabula.table.files.row_parts import checked_parts

        of, _ = checked_parts(parts, None)
        common = common_seed(seed)
        rows, _ = self._drawing.prepared(n, where, None, common)
        return spark_frame(self, session, rows, parts=of, where=where, seed=common, load=load)

    def rows_of(
        self, part: RowPart, *, where: Mapping[str, Any] | None = None, seed: int
    ) -> Iterator[dict[str, RawColumn]]:
        """Yield the rows of a part in pieces, as raw columns: those that `sample_to` writes with the same seed."""
        _, draw = self._drawing.prepared(part.rows, where, None, seed)
        return pieces(draw, range(part.start, part.stop), part.generator(seed))

    def _write(
        self,
        file: str | os.PathLike[str],
        draw: Draw,
        rows: range,
        rng: np.random.Generator,
        *,
        checked: bool = False,
    ) -> None:
        """Draw the rows at some positions into a file; `checked` says whether its disk is known to have room."""
        from syntabula.table.files.files import write_pieces

        types = self._format(file)
        if not checked:
            check_room(file, draw, len(rows), types)
        write_pieces(pieces(draw, rows, rng), file, types)

    def _format(self, file: str | os.PathLike[str]) -> Origin:
        """Return the types that columns have in a file; raises ArgumentError if its suffix is unknown."""
        from syntabula.table.files.formats import output_format

        return self.stored_in(output_format(file).container)

    def sample_columns(
        self,
        n: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        given: Any = None,
        seed: int | None = None,
    ) -> dict[str, RawColumn]:
        """Draw a synthetic table as raw columns, in schema order; see `sample`."""
        rows, draw = self._drawing.prepared(n, where, given, seed)
        return whole(draw, rows, generator(seed))

    def probability(self, where: Mapping[str, Any]) -> float:
        """Return the probability that a row satisfies conditions, as `sample` takes them; this costs no privacy.

        Multiplied by `n_estimated`, it is a noisy estimate of how many original records satisfy them.
        """
        return self.probability_with_error(where)[0]

    def probability_with_error(self, where: Mapping[str, Any]) -> tuple[float, float]:
        """Return `probability` and its standard error, which is 0 where the model's own is computed, but for rounding.

        It is estimated on drawn rows if the schema has rules, if several ranges divide bins, and for models that cannot
        be restricted otherwise: of TabDDPM, and of several columns of GReaT, and of ARGN where these have too many codes
        to be added up. Orders of columns agree only about for these two; theirs is the mean over orders.
        """
        from syntabula.synthesizers.ruled_conditions import probability

        return probability(self.rules, self.codec, self.model, where)

    def rules_broken(self, tried: int = 10_000, *, seed: int = 0) -> dict[str, float]:
        """Return the share of rows that are discarded because they break a rule of the schema; costs no privacy.

        Args:
            tried: Number of rows to draw.
            seed: Makes the draw repeatable.

        Returns:
            Shares by rule, as `Rules.described` writes them; rules that no row broke are left out.
        """
        if self.rules is None:
            return {}
        from syntabula.synthesizers.ruled_rows import RuledRows

        rows = RuledRows(self.rules, self.codec, self.model, self._drawing.learned_rows)
        rows.try_rows(count()("tried", tried), generator(seed))
        return rows.shares()

    def lost_columns(self) -> list[str]:
        """Return the columns that hold one value, or if found privately running numbers or "other" nearly alone."""
        return [*self._found.lost]

    def other_columns(self) -> dict[str, float]:
        """Return the share of "other" in the other found columns, where it is a fifth or more."""
        return self._found.others

    def coarse_columns(self) -> list[str]:
        """Return the columns of numbers, days and times of which little more than bounds came out."""
        return self._found.coarse

    def blank_columns(self) -> list[str]:
        """Return the found columns that hold a value in fewer than one row of a hundred, or in none."""
        return self._found.blank

    @cached_property
    def _found(self) -> FoundColumns:
        from syntabula.synthesizers.lost_columns import FoundColumns

        columns = {name: self.schema[name] for name in self.privacy.columns_of("private")}
        noisy = self.privacy.budget.currency != "none"
        draw = self._drawing.rows
        hidden = self.privacy.hidden
        return FoundColumns(
            columns, self.codec, self.model, hidden, noisy, lambda n: whole(draw, n, generator(0))
        )

    def empty_categories(self) -> dict[str, int]:
        """Return how many declared categories of a column never come out as noise hides them, where any does not."""
        return self._found.empty

    @property
    def _drawing(self) -> Drawing:
        return Drawing(self.codec, self.model, self.rules)

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return the expected counts of codes for each clique: one axis per column, in the clique's order.

        Raises:
            ArgumentError: If a clique is not a tuple or list of names, or the method's model answers no marginals.
            SchemaError: If there is no such column.
        """
        check_cliques(cliques)
        answers = getattr(self.model, "marginals", None)
        if answers is None:
            raise ArgumentError(
                f"method {self.method!r} learns no marginals; draw rows with sample and count them"
            )
        found: list[FloatArray] = answers(cliques)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release to one file, whole or not at all.

        An existing file is replaced at the very end; a symbolic link is replaced itself, not its target.

        Raises:
            ReleaseFileError: If the file cannot be written; an existing file is left unchanged.
            ArgumentError: If the path is not a path, or the selector fitted a model whose class is not registered:
                register it, then save again.
        """
        from syntabula.synthesizers.stored_release import StoredRelease

        parts = StoredRelease(self.method, self.codec, self.model, self.privacy, self.origin, self.rules)
        parts.write(path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy a release as the bytes of its file, so that they hold no more than it; raises as `save`."""
        from syntabula.synthesizers.release_bytes import from_bytes, to_bytes

        return from_bytes, (to_bytes(self), load)

    def stored_in(self, container: Container) -> Origin:
        """Return the types of all columns in a library or file format."""
        types = {n: output_type(c, container) for n, c in self.schema.columns.items()}
        types |= undeclared_types(self.origin, self.schema.columns, container)
        return replace(self.origin.with_container(container), physical=types)

    def __repr__(self) -> str:
        return f"Release(method={self.method!r}, columns={len(self.schema.columns)})"


def load(path: str | os.PathLike[str]) -> Release:
    """Read a release file; nothing in it is executed.

    Raises:
        ReleaseFileError: If the file is missing, truncated, altered, foreign or from a newer version.
        ArgumentError: If the path is not a path.
        ResourceError: If there is too little memory for it.
    """
    from syntabula.synthesizers.stored_release import read_parts

    return Release(*read_parts(path))
