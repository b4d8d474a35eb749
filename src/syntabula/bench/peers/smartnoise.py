"""One run of SmartNoise's MST or AIM on codes, in an environment where smartnoise-synth is installed; see `adapter`.

python smartnoise.py METHOD CODES.csv SIZES.json OUT.csv EPSILON DELTA RHO SEED

Settings are the library's. It draws its Gaussian noise without a seed, so that runs with the same seed differ.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Read codes and the number of codes of each column, fit, write codes."""
    method, codes, sizes, out, epsilon, delta, _, seed = sys.argv[1:9]
    import numpy
    import pandas
    from snsynth import Synthesizer
    from snsynth.transform import LabelTransformer, TableTransformer

    frame = pandas.read_csv(codes)
    columns = []
    for size in json.loads(Path(sizes).read_text()).values():
        labels = LabelTransformer(nullable=False)
        labels.fit(range(size))  # all codes are public, also those that no row has
        columns.append(labels)
    numpy.random.seed(int(seed))  # noqa: NPY002 - the library draws from this generator
    model = Synthesizer.create(method, epsilon=float(epsilon), delta=float(delta))
    model.fit(frame, transformer=TableTransformer(columns))
    drawn = pandas.DataFrame(model.sample(len(frame)))
    drawn.columns = frame.columns
    drawn.astype(int).to_csv(out, index=False)


if __name__ == "__main__":
    main()
