"""Plots of a report, as SVG that stands within a page. Drawn by pygal, of the extra `bench`.

Bars have the ends of their 95% interval as whiskers. Nothing in a plot is fetched when the page is opened.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nibd.bench.intervals import Estimate

INSTALL = "pip install 'nibd[bench]'"
WIDTH, HEIGHT, ROW = 760, 360, 26
_SCRIPT = re.compile(r"<script.*?</script>", re.DOTALL)
"""Settings for a script of pygal's that is not there."""


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar for each label of each series; `None` where there is none. `flat`: they lie, for long labels."""

    title: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[Estimate | float | None]]
    flat: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """Points (x, y) of each series. Both axes are logarithmic if `by_powers`."""

    title: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    x: str = ""
    y: str = ""
    by_powers: bool = False


Chart = Bars | Lines


def missing() -> str | None:
    """Why nothing can be drawn, if so."""
    return None if importlib.util.find_spec("pygal") else f"not installed: pygal; {INSTALL}"


def svg(chart: Chart) -> str:
    """Raises ImportError where `missing` says why."""
    pygal = importlib.import_module("pygal")
    style = pygal.style.Style(
        background="white", plot_background="white", font_family="sans-serif", opacity=".75",
        colors=("#3465a4", "#cc6600", "#4e9a06", "#75507b", "#c4a000", "#a40000"),
    )  # fmt: skip
    options: dict[str, Any] = {
        "style": style, "js": [], "width": WIDTH, "height": HEIGHT, "title": chart.title,
        "show_legend": len(chart.series) > 1, "legend_at_bottom": True, "truncate_legend": -1,
        "explicit_size": True,
    }  # fmt: skip
    drawn = _bars(pygal, chart, options) if isinstance(chart, Bars) else _lines(pygal, chart, options)
    rendered: str = drawn.render(disable_xml_declaration=True, is_unicode=True)
    return _SCRIPT.sub("", rendered)


def _bars(pygal: Any, chart: Bars, options: dict[str, Any]) -> Any:
    options["range"] = _reach(chart)
    if chart.flat:
        options["height"] = 110 + ROW * len(chart.labels) * len(chart.series)
    kind = pygal.HorizontalBar if chart.flat else pygal.Bar
    drawn = kind(**options)
    # Those that lie are drawn from below.
    step = -1 if chart.flat else 1
    drawn.x_labels = list(chart.labels)[::step]
    for name, values in chart.series.items():
        drawn.add(name, [_bar(value) for value in values][::step])
    return drawn


def _reach(chart: Bars) -> tuple[float, float]:
    """From the lowest to the highest end, and 0; pygal leaves whiskers out of account."""
    ends = [0.0]
    for value in (value for values in chart.series.values() for value in values):
        if isinstance(value, Estimate):
            ends += [value.low, value.high]
        elif value is not None:
            ends.append(value)
    return min(ends), max(ends) or 1.0


def _bar(value: Estimate | float | None) -> Any:
    if isinstance(value, Estimate):
        return {"value": value.value, "ci": {"low": value.low, "high": value.high}}
    return value


def _lines(pygal: Any, chart: Lines, options: dict[str, Any]) -> Any:
    drawn = pygal.XY(
        **options, x_title=chart.x, y_title=chart.y, logarithmic=chart.by_powers, xrange=_range(chart)
    )
    for name, points in chart.series.items():
        drawn.add(name, list(points))
    return drawn


def _range(chart: Lines) -> tuple[float, float] | None:
    xs = [x for points in chart.series.values() for x, _ in points]
    return (min(xs), max(xs)) if xs and not chart.by_powers else None
