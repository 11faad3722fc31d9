"""Plots by matplotlib, in a style for print. They need ``pip install matplotlib``.

Each function draws into ``ax``, or into a new figure, and returns the axes, so that all of matplotlib applies to them.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from driftway._driftway import Table
    from driftway._results import StudyResults

#: The last parts of names of columns, and the units that they stand for.
_UNITS = {"s": "s", "bps": "bit/s", "bytes": "B", "m": "m", "j": "J"}


def style() -> dict[str, Any]:
    """Return the settings of the style for print: ``with plt.rc_context(dw.plot.style()): …``."""
    from matplotlib import rc_params_from_file

    with as_file(files("driftway") / "print.mplstyle") as path:
        return {str(name): value for name, value in rc_params_from_file(path, use_default_template=False).items()}


def label(name: str) -> str:
    """Return the label of a column: ``throughput_bps`` is ``throughput (bit/s)``."""
    words = name.replace(".", "_").split("_")
    unit = _UNITS.get(words[-1])
    if unit is None or len(words) == 1:
        return " ".join(words)
    return f"{' '.join(words[:-1])} ({unit})"


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    # Newer types of matplotlib list the names of all settings.
    settings: Any = style()
    with plt.rc_context(settings):
        return plt.subplots()[1]


def line(table: Table | None, *, x: str, y: str, by: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the column ``y`` over ``x``, one line for each value of ``by``, in the order of the rows."""
    if table is None:
        raise TypeError("table: there is none; runs with step=\"1 s\" have the table steps")
    ax = _axes(ax)
    groups = table.column(by) if by else [None] * len(table)
    for group in dict.fromkeys(groups):
        rows = [row for row, of in zip(zip(table.column(x), table.column(y)), groups) if of == group]
        ax.plot(*zip(*[(at, value) for at, value in rows]), label=None if by is None else str(group))
    ax.set(xlabel=label(x), ylabel=label(y))
    if by:
        ax.legend(title=label(by))
    return ax


def means(results: StudyResults, metric: str, *, figure: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the means of a metric over the axis of a sweep, one line for each arm, with 90 % confidence intervals."""
    summary = results.summary()
    if "arm" not in summary.columns:
        raise TypeError("results: expected those of dw.sweep or dw.paper; dw.plot.line draws a table of runs")
    names = ("figure", "metric", "arm", "x", "mean", "ci90_low", "ci90_high")
    rows = [dict(zip(names, row)) for row in zip(*(summary.column(name) for name in names))]
    rows = [row for row in rows if row["metric"] == metric and figure in (None, row["figure"])]
    if not rows:
        known = ", ".join(dict.fromkeys(summary.column("metric")))
        raise ValueError(f"there is no metric {metric!r}; there are {known}")
    ax = _axes(ax)
    for arm in dict.fromkeys(row["arm"] for row in rows):
        points = [row for row in rows if row["arm"] == arm and row["mean"] is not None]
        at = [row["x"] if row["x"] is not None else 0.0 for row in points]
        mean = [row["mean"] for row in points]
        bounds = [
            [row["mean"] - _or(row["ci90_low"], row["mean"]) for row in points],
            [_or(row["ci90_high"], row["mean"]) - row["mean"] for row in points],
        ]
        ax.errorbar(at, mean, yerr=bounds, marker="o", label=str(arm))
    document = next(of for of in results.to_dict()["figures"] if of["figure"] == rows[0]["figure"])
    if document["x"]:
        unit = document["x"]["unit"]
        ax.set_xlabel(f"{document['x']['label']} ({unit})" if unit else document["x"]["label"])
    ax.set_ylabel(label(metric))
    ax.legend()
    return ax


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
