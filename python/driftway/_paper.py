"""Papers: figures and statements as tables."""

from __future__ import annotations

from typing import Any

from driftway import _driftway
from driftway._aids import registry
from driftway._driftway import Table
from driftway._progress import Progress
from driftway._results import StudyResults, _estimates
from driftway._scenario import _jobs
from driftway._values import to_whole


class Paper(StudyResults):
    """The results of a paper: its figures and statements as tables."""

    def __init__(self, name: str, native: _driftway.StudyResults) -> None:
        super().__init__(native)
        self.name = name

    @property
    def title(self) -> str:
        """The title of the study."""
        return str(self.to_dict()["title"])

    def figures(self) -> Table:
        """Return a row for each point: driftway's means with intervals, and the values of the paper.

        The column ``source`` is ``"driftway"`` or ``"paper"``.
        """
        rows: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
        for figure in self.to_dict()["figures"]:
            of = {"figure": figure["figure"], "title": figure["title"], "metric": figure["y"]["metric"]}
            for arm, points in figure["arms"].items():
                rows += [({**of, "source": "driftway", "arm": arm, "x": _float(p["x"])}, p) for p in points]
            for curve in figure["paper"]:
                for x, value in curve["points"]:
                    point = {"mean": value, "n": 0}
                    rows.append(({**of, "source": "paper", "arm": curve["arm"], "x": _float(x)}, point))
        return _estimates(rows)

    def statements(self) -> Table:
        """Return a row for each statement: what it says, what was measured, and the verdict."""
        names = ("id", "figure", "reading", "says", "metric", "measured", "n", "verdict", "expected", "because")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for statement in self.to_dict()["statements"]:
            for name in names:
                value = statement.get(name)
                columns[name].append(_float(value) if name == "measured" else value)
        return Table.from_columns(columns)

    def __repr__(self) -> str:
        return f"<Paper {self.name}: {self.title}>"


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def papers() -> list[str]:
    """Return the names of the papers."""
    return _driftway.paper_names()


def paper(
    name: str,
    *,
    figures: list[str] | None = None,
    quick: bool = False,
    runs: int | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> Paper:
    """Reproduce a paper, as ``driftway paper`` does.

    Args:
        name: its name, one of ``papers()``, or a directory with a ``paper.toml``.
        figures: the figures to run; by default all.
        quick: run the quick part.
        runs: runs for each point; by default the paper's.
        jobs: runs in parallel; by default one per processor.
        progress: show the progress on a terminal.
    """
    runs = None if runs is None else to_whole("runs", runs, 1)
    study = _driftway.Study.paper(name, list(figures or []), runs, quick, registry())
    with Progress(study.run_count, progress) as show:
        return Paper(name, study.run(_jobs(jobs), False, None, [], show))
