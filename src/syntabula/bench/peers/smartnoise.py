"""One run of SmartNoise's MST, AIM, DP-CTGAN or PATE-CTGAN on codes, where smartnoise-synth is installed; see `adapter`.

python smartnoise.py METHOD CODES.csv SIZES.json OUT.csv EPSILON DELTA RHO SEED

Settings are the library's, with the delta of the cell for the networks too. It draws its Gaussian noise without a seed,
so that runs with the same seed differ.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

NETWORKS = ("dpctgan", "patectgan")


def main() -> None:
    """Read codes and the number of codes of each column, fit, write codes."""
    method, codes, sizes, out, epsilon, delta, _, seed = sys.argv[1:9]
    import numpy
    import pandas
    from snsynth import Synthesizer
    from snsynth.transform import ChainTransformer, LabelTransformer, OneHotEncoder, TableTransformer

    frame = pandas.read_csv(codes)
    columns = []
    for size in json.loads(Path(sizes).read_text()).values():
        labels = LabelTransformer(nullable=False)
        labels.fit(range(size))  # all codes are public, also those that no row has
        one_hot = OneHotEncoder()
        one_hot.fit(range(size))
        columns.append(ChainTransformer([labels, one_hot]) if method in NETWORKS else labels)
    numpy.random.seed(int(seed))  # noqa: NPY002 - the library draws from this generator
    model = Synthesizer.create(method, epsilon=float(epsilon), delta=float(delta))
    model.fit(frame, transformer=TableTransformer(columns))
    drawn = pandas.DataFrame(model.sample(len(frame)))
    drawn.columns = frame.columns
    drawn.astype(int).to_csv(out, index=False)


if __name__ == "__main__":
    main()
