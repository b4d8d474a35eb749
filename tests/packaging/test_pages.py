"""Links, anchors and commands in the committed Markdown files lead somewhere."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
SCRIPT = re.compile(r"\bbenchmarks/\w+\.py\b")
# A command goes on over lines that end in a backslash.
COMMAND = re.compile(r"^.*\bbenchmarks/\w+\.py\b(?:.*\\\n)*.*$", re.MULTILINE)
OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]*")


def committed() -> list[Path]:
    command = ["git", "-C", str(ROOT), "ls-files", "*.md"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in listed.splitlines()]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings: lower case, hyphens for spaces, numbers for repeats."""
    found: Counter[str] = Counter()
    given = set()
    for title in HEADING.findall(FENCE.sub("", text)):
        shown = LINK.sub(lambda link: link.group(0).partition("]")[0][1:], title)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        given.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return given


def broken_links(page: Path) -> list[str]:
    """Return the relative links of a page whose file or anchor does not exist."""
    broken = []
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    return broken


def unknown_parts(text: str) -> list[str]:
    """Return scripts in the text that do not exist, and options of their commands that no script declares."""
    scripts = sorted({script for script in SCRIPT.findall(text) if not (ROOT / script).is_file()})
    source = "".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / "benchmarks").glob("*.py")))
    options = {option for command in COMMAND.findall(text) for option in OPTION.findall(command)}
    return scripts + sorted(option for option in options if f'"{option}"' not in source)


class TestPages:
    def test_relative_links_and_anchors_exist(self) -> None:
        found = {page.relative_to(ROOT): broken_links(page) for page in committed()}

        assert len(found) > 10
        assert {page: links for page, links in found.items() if links} == {}

    def test_commands_name_scripts_and_options_that_exist(self) -> None:
        found = {
            page.relative_to(ROOT): unknown_parts(page.read_text(encoding="utf-8")) for page in committed()
        }

        assert {page: parts for page, parts in found.items() if parts} == {}


class TestChecks:
    def test_every_page_of_results_is_in_the_index(self) -> None:
        folder = ROOT / "benchmarks" / "results"
        index = (folder / "README.md").read_text(encoding="utf-8")

        missing = [
            p.name for p in folder.glob("*.md") if f"]({p.name}" not in index and p.name != "README.md"
        ]

        assert missing == []

    def test_broken_links_are_found(self, tmp_path: Path) -> None:
        (tmp_path / "other.md").write_text("# A title, `code`\n## Twice\n## Twice\n")
        page = tmp_path / "page.md"
        page.write_text(
            "[a](other.md#a-title-code) [b](other.md#twice-1) [c](https://example.org/none)\n"
            "[d](none.md) [e](other.md#none) [f](#none)\n```\n# [g](none.md)\n```\n"
        )

        assert broken_links(page) == ["none.md", "other.md#none", "#none"]

    def test_unknown_scripts_and_options_are_found(self) -> None:
        text = "```\npython benchmarks/none.py\npython benchmarks/aim.py growth --epsilon 1 \\\n    --none y\n```\n"

        assert unknown_parts(text) == ["benchmarks/none.py", "--none"]
