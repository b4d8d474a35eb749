"""The page of all cells of the papers: a verdict, those that are behind, those that were not run, and the whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cell_reasons import GROUPS

if TYPE_CHECKING:
    from cells import PaperCell

_TITLE = """# Every figure of the papers' main tables beside ours

**Question.** Is each of our figures at least as good as the paper's, in SynMeter's tables 4, 5, D17, D28 and D29,
tab_bench's table 1 and MargNet's tables 6, 8 and 9, and if not, why?

**Answer.** {answer}

[All results](README.md)

## Verdict

"No more" is no worse than the paper's figure, "level" is equal once rounded to the digits that the paper prints,
and higher is better in F1 alone.

| table | figures in the paper | run | no more | level | behind | not run |
|---|---|---|---|---|---|---|
{verdict}

## Run it

```
python benchmarks/cells.py
```

This writes the page and [cells.csv](cells.csv), one line for each cell, from the stores of this folder; nothing is
run. The stores are made by the studies of each table, such as `syntabula bench run synmeter-f2`.

## Behind, by reason

{behind}
## Not run

{missing}

## All cells that were run

Worst first within each score. "±" is the standard error of our mean over seeds, for table 5 that of the record that
discloses most; "times" is how many times as bad as the paper's ours is, below 1 where it is better. Our `mst`
stands beside the paper's PGM.

{whole}
## Shortcomings

- Ours have default settings, and SynMeter's are tuned; its evaluators too, which were tuned here on insurance and
  obesity alone. One seed stands for tab_bench and MargNet, and for tuned evaluators.
- SynMeter's figures are means of ten tables of one fit; ours are of one table for each of three fits, which part
  the rows anew.
- Where a reason is "network", "weaker" or "learner" the gap is real as far as these runs tell, and nothing here
  shows that other settings would close it.
- In table 5 runs of `synmeter` are of 21 November, with the methods as they were; other runs of the same cell are
  in the stores.
- `affinity_reasons.jsonl` has one seed, three learners of eight (linear, tree, XGBoost) and four tables.

## How it was measured

Version 0.1.0 before its release, 21 to 28 November 2026; [papers.md](papers.md) and [studies.md](studies.md) say
how each study was run. The runs of `affinity_reasons.jsonl` took 315 processor seconds on 28 November, and
PrivSyn's disclosure on faults and robot with 80 shadow models some 600 each, one at a time on a machine with a
dozen processes for two cores.
"""


def page(cells: Sequence[PaperCell]) -> str:
    """Return the page."""
    sources = list(dict.fromkeys(c.source for c in cells))
    count = Counter((c.source, c.status) for c in cells)
    total = Counter(c.status for c in cells)
    verdict = [
        f"| {s.name} | {sum(count[s, k] for k in total)} | {sum(count[s, k] for k in total if k != 'not run')} "
        f"| {count[s, 'no more']} | {count[s, 'level']} | {count[s, 'behind']} | {count[s, 'not run']} |"
        for s in sources
    ]
    ran = sum(total.values()) - total["not run"]
    groups = Counter(c.reason[0] for c in cells if c.status == "behind")
    first = ", ".join(f"{name} {n}" for name, n in groups.most_common())
    answer = (
        f"Of {ran:,} cells that were run, {total['no more']} are no worse than the paper's, {total['level']} are level "
        f"with it after rounding, and {total['behind']} are behind, each with its reason below ({first}). "
        f"Of the papers' {sum(total.values()):,} figures {total['not run']} were not run, most for want of the data."
    )
    return _TITLE.format(
        answer=answer,
        verdict="\n".join(verdict),
        behind=_behind(cells),
        missing=_missing(cells),
        whole=_whole(cells),
    )


def _behind(cells: Sequence[PaperCell]) -> str:
    parts = []
    for group, words in GROUPS.items():
        mine = [c for c in cells if c.reason[0] == group]
        if mine:
            lines = [f"| {c.source.name} | {_place(c)} | {_figures(c)} | {c.reason[1]} |" for c in mine]
            head = (
                "| table | data | method | epsilon | the paper | ours | times | shown by |\n"
                + "|---" * 8
                + "|"
            )
            parts.append(
                f"### {group.capitalize()} ({len(mine)})\n\n{words}\n\n{head}\n" + "\n".join(lines) + "\n"
            )
    return "\n".join(parts)


def _missing(cells: Sequence[PaperCell]) -> str:
    counted: dict[tuple[str, str, str], list[PaperCell]] = {}
    for c in cells:
        if c.status == "not run":
            counted.setdefault((c.source.name, c.title, c.reason[1]), []).append(c)
    lines = ["| table | data | methods | cells | why |", "|---|---|---|---|---|"]
    for (name, title, why), found in counted.items():
        methods = list(dict.fromkeys(c.method for c in found))
        said = ", ".join(methods) if len(methods) < 5 else f"all {len(methods)}"
        lines.append(f"| {name} | {title} | {said} | {len(found)} | {why} |")
    return "\n".join(lines)


def _whole(cells: Sequence[PaperCell]) -> str:
    parts = []
    for source in dict.fromkeys(c.source for c in cells):
        ran = sorted((c for c in cells if c.source == source and c.ours == c.ours), key=lambda c: -c.worse)
        head = "| data | method | epsilon | the paper | ours | times | | runs | store |\n" + "|---" * 9 + "|"
        lines = [
            f"| {_place(c)} | {_figures(c)} | {'' if c.status == 'no more' else c.status} | {c.runs} | {c.store} |"
            for c in ran
        ]
        parts.append(f"### {source.name}\n\n{head}\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _place(cell: PaperCell) -> str:
    return f"{cell.title} | {cell.method} | {'inf' if math.isinf(cell.epsilon) else f'{cell.epsilon:g}'}"


def _figures(cell: PaperCell) -> str:
    error = "" if math.isnan(cell.error) else f" ± {_short(cell.error, cell.digits + 1)}"
    ours = f"{_short(cell.ours, cell.digits + 1)}{error}"
    return f"{_short(cell.theirs, cell.digits)} | {ours} | {cell.worse:.2f}"


def _short(value: float, digits: int) -> str:
    shown = f"{value:.{digits}f}"
    return shown[1:] if shown.startswith("0.") else shown
