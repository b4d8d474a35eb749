"""One run of dpmm's MST, AIM or PrivBayes on codes, in an environment where dpmm is installed; see `adapter`.

python dpmm.py METHOD CODES.csv SIZES.json OUT.csv EPSILON DELTA RHO SEED
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Read codes and the number of codes of each column, fit, write codes."""
    method, codes, sizes, out, epsilon, delta, _, seed = sys.argv[1:9]
    import pandas
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM
    from dpmm.models.priv_bayes import PrivBayesGM
    from numpy.random import RandomState

    frame = pandas.read_csv(codes)
    counts = json.loads(Path(sizes).read_text()).values()
    domain = dict(zip(frame.columns, counts, strict=True))
    kind = {"mst": MSTGM, "aim": AIMGM, "privbayes": PrivBayesGM}[method]
    options = {"mst": {"compress": True}, "aim": {"degree": 2, "max_model_size": 80}, "privbayes": {}}[method]
    model = kind(epsilon=float(epsilon), delta=float(delta), domain=domain, n_jobs=1, **options)
    model.set_random_state(RandomState(int(seed)))
    model.set_domain(domain)
    model.fit(frame)
    model.generate(n_records=len(frame))[list(domain)].astype(int).to_csv(out, index=False)


if __name__ == "__main__":
    main()
