"""Matplotlib figures as inline SVG with the colours and fonts of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from syntabula._extras import require

# Placeholder colours; the page's style replaces them, light or dark.
TEXT, LINE, REAL, SYNTHETIC, HEAT = "#010001", "#010002", "#010003", "#010004", "#010005"
_STYLED = {
    TEXT: "currentColor",
    LINE: "var(--line)",
    REAL: "var(--real)",
    SYNTHETIC: "var(--synthetic)",
    HEAT: "var(--heat)",
}
_SETTINGS = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10.0,
    "text.color": TEXT,
    "axes.edgecolor": LINE,
    "axes.labelcolor": TEXT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": TEXT,
    "ytick.labelcolor": TEXT,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
}
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_FONT = re.compile(r"font: ((?:bold |\d+ )?)([\d.]+)px [^;]*")
_POINTS = 72  # of an inch: the unit of the figures' coordinates


def drawn(width: float, height: float, draw: Callable[[Any], None], description: str) -> str:
    """Draw a figure and return it as an `svg` element without a fixed size.

    Args:
        width: Width in units; at natural size, a unit is a pixel of the page and letters are 10 high.
        height: Height in units.
        draw: Draws on the figure, using only the colours of this module.
        description: Alternative text, for those who cannot see the picture.

    Returns:
        Escaped markup for an HTML page, without external references.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    matplotlib = require("matplotlib", "report")
    figure_class = require("matplotlib.figure", "report").Figure
    canvas_class = require("matplotlib.backends.backend_svg", "report").FigureCanvasSVG
    target = io.BytesIO()
    # Identifiers must be unique among the pictures of a page, and the same in every run.
    settings = {**_SETTINGS, "svg.hashsalt": description}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # The page uses its own fonts, so glyphs missing in matplotlib's do not matter.
        warnings.simplefilter("ignore", UserWarning)
        figure = figure_class(figsize=(width / _POINTS, height / _POINTS))
        canvas_class(figure)
        draw(figure)
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _inline(target.getvalue(), description)


def _inline(document: bytes, description: str) -> str:
    root = ElementTree.fromstring(document)
    used = set(re.findall(r"#([\w-]+)", document.decode()))
    _clean(root, used)
    box = root.attrib["viewBox"]
    root.attrib.clear()
    # The page's style overrides the natural width.
    root.attrib.update({"viewBox": box, "width": box.split()[2], "role": "img", "aria-label": description})
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _clean(element: ElementTree.Element, used: set[str]) -> None:
    """Remove what a page does not need: namespaces, metadata, style sheets, unused identifiers, decimals."""
    element.tag = _local(element.tag)
    for child in [*element]:
        if _local(child.tag) in ("metadata", "style"):
            element.remove(child)
        else:
            _clean(child, used)
    attributes = {_local(name): value for name, value in element.attrib.items()}
    element.attrib.clear()
    for name, value in attributes.items():
        if name != "id" or value in used:
            element.set(name, _restyled(_NUMBER.sub(_rounded, value)))
    if element.tag != "text":
        element.text = (element.text or "").strip()
    element.tail = ""


def _restyled(text: str) -> str:
    for colour, style in _STYLED.items():
        text = text.replace(colour, style)
    return _FONT.sub(lambda font: f"font-size: {font[2]}px" + ("; font-weight: 700" if font[1] else ""), text)


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match.group()):.1f}".removesuffix(".0")


def _local(name: str) -> str:
    return name.rpartition("}")[2]
