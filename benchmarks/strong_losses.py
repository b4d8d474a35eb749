"""Where strong correlations are lost: in bins, in merged codes, or in what the model learned of them.

    python benchmarks/strong_losses.py --tables lending_club_2018 --methods aim --epsilons 5

Needs SYNTABULA_DATA. Columns are declared and pairs chosen as in strong_pairs.py. Each pair is a line: the real
correlation, and the part of it that is kept if real records are drawn anew within their bins, if they are drawn anew
within the release's merged codes, and in the release; then the factors of both columns' standard deviations in the
release, and of their interquartile ranges. What lies between the last two parts is the model's: noise, pairs that were
not measured, and fits.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from strong_pairs import FEWEST_VALUES, STRONG, learned

from syntabula.marginals.domain import EncodedTable
from syntabula.models.recoded import RecodedModel
from syntabula.table.read import read


def main() -> None:
    """Parse arguments, learn each table, and print a line per strong pair."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for row, frame, _, release in learned(parser, ["lending_club_2018"], ["aim"], [5.0]):
        print(f"\n{row}\n")
        show(frame, release)


def show(frame: pd.DataFrame, release: Any) -> None:
    """Print the strong pairs of a table with what a release keeps of them."""
    columns = [c for c in frame.select_dtypes("number") if frame[c].nunique() > FEWEST_VALUES]
    real, ours = frame[columns].astype(float), release.sample(seed=1)[columns].astype(float)
    codes, _ = release.codec.encode(read(frame, release.codec.schema))
    rng = np.random.default_rng(0)
    binned = decoded(release, codes, {}, columns, rng)
    merged = binned
    if isinstance(release.model, RecodedModel):
        recoding = release.model.recoding
        again = recoding.decode(recoding.encode(codes), rng)
        merged = decoded(release, again, release.model.drawn_apart, columns, rng)
    whole = real.corr()
    deviations, ranges = ours.std() / real.std(), quartiles(ours) / quartiles(real)
    print("| pair | real | bins | merged codes | release | standard deviations | interquartile ranges |")
    print("|---|---|---|---|---|---|---|")
    for a, b in combinations(columns, 2):
        if abs(r := whole.loc[a, b]) < STRONG:
            continue
        kept = " | ".join(f"{np.nan_to_num(f[a].corr(f[b])) / r:.2f}" for f in (binned, merged, ours))
        print(
            f"| {a}, {b} | {r:.3f} | {kept} | {deviations[a]:.2f}, {deviations[b]:.2f} | "
            f"{ranges[a]:.2f}, {ranges[b]:.2f} |"
        )


def decoded(
    release: Any,
    codes: EncodedTable,
    drawn_apart: Mapping[str, Any],
    columns: list[str],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return values drawn for codes, as a release draws them; missing cells are NaN."""
    drawn = release.codec.decode(codes, rng, drawn_apart=drawn_apart)
    return pd.DataFrame(
        {c: np.where(drawn[c].missing, np.nan, drawn[c].values.astype(float)) for c in columns}
    )


def quartiles(frame: pd.DataFrame) -> pd.Series:
    """Return the distance between the quartiles of each column."""
    return frame.quantile(0.75) - frame.quantile(0.25)


if __name__ == "__main__":
    main()
