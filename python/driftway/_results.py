"""Results of runs and of studies."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from driftway import _driftway
from driftway._driftway import Events, Table

if TYPE_CHECKING:
    from driftway._scenario import Scenario


class Results:
    """The results of runs of one scenario, as tables that polars, pandas and DuckDB read without copying.

    They can be pickled, without the events.
    """

    def __init__(self, scenario: Scenario, native: _driftway.Results, meanings: dict[str, str]) -> None:
        self._scenario = scenario.copy()
        self._native = native
        self._meanings = meanings

    @property
    def scenario(self) -> Scenario:
        """The scenario that was run."""
        return self._scenario

    @cached_property
    def runs(self) -> Table:
        """A row for each run: its seed, its fingerprint, and metrics of the network."""
        table = self._native.runs()
        for name, values in self._native.metrics():
            table = table.with_column(name, values, self._meanings.get(name, ""))
        return table

    @cached_property
    def flows(self) -> Table:
        """A row for each flow of each run."""
        return self._native.flows()

    @cached_property
    def steps(self) -> Table | None:
        """A row for each flow and time step; ``None`` if the runs had no ``step``."""
        return self._native.steps()

    @cached_property
    def events(self) -> Events | None:
        """A row for each event; ``None`` if the runs had no ``events``. The rows stay in a file until they are read."""
        return self._native.events()

    def summary(self) -> Table:
        """Return the mean of each metric of each flow over the runs, with 90 % and 95 % confidence intervals."""
        document = self.to_dict()
        rows = [
            ({"flow": flow, "source": of["source"], "destination": of["destination"]}, metric, estimate)
            for flow, of in enumerate(document["summary"]["flows"])
            for metric, estimate in of["metrics"].items()
        ]
        empty = {"flow": None, "source": None, "destination": None}
        drops = document["summary"]["drops"].items()
        rows += [(empty, f"drops.{reason}", estimate) for reason, estimate in drops]
        return _estimates([({**of, "metric": metric}, estimate) for of, metric, estimate in rows])

    def to_dict(self) -> dict[str, Any]:
        """Return the document of ``driftway run --json``, without the computing time."""
        document: dict[str, Any] = json.loads(self._native.to_json())
        del document["timing"]
        return document

    def __len__(self) -> int:
        return len(self._native)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._scenario, self._native.to_bytes(), self._meanings)

    def __repr__(self) -> str:
        return f"<Results of {len(self)} runs of {self._scenario.name!r}>"


def _restore(scenario: Scenario, content: bytes, meanings: dict[str, str]) -> Results:
    return Results(scenario, _driftway.Results.from_bytes(scenario._native, content), meanings)


def _estimates(rows: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> Table:
    """Return a table of estimates, each with what it is of."""
    columns: dict[str, list[Any]] = {}
    for of, estimate in rows:
        low90, high90 = (estimate and estimate.get("ci90")) or (None, None)
        low95, high95 = (estimate and estimate.get("ci95")) or (None, None)
        row = {
            **of,
            "mean": estimate and estimate["mean"],
            "ci90_low": low90,
            "ci90_high": high90,
            "ci95_low": low95,
            "ci95_high": high95,
            "n": estimate["n"] if estimate else 0,
        }
        for name, value in row.items():
            if name in ("mean", "ci90_low", "ci90_high", "ci95_low", "ci95_high") and value is not None:
                value = float(value)
            columns.setdefault(name, []).append(value)
    return Table.from_columns(columns)


class StudyResults:
    """The results of a study or a sweep, as tables that polars, pandas and DuckDB read without copying."""

    def __init__(self, native: _driftway.StudyResults) -> None:
        self._native = native

    @cached_property
    def runs(self) -> Table:
        """A row for each run: figure, arm, point of the axis, keys that vary, seed, and metrics."""
        return self._table("runs")

    @cached_property
    def flows(self) -> Table:
        """A row for each flow of each run."""
        return self._table("flows")

    @cached_property
    def steps(self) -> Table | None:
        """A row for each flow and time step; ``None`` if the study has no ``step``."""
        return self._native.table("steps")

    @property
    def events(self) -> None:
        """No events: runs of a study are cached, and their events are not."""
        return None

    def summary(self) -> Table:
        """Return the mean of each metric of each arm at each point, with 90 % and 95 % confidence intervals."""
        rows = [
            (
                {"figure": figure["figure"], "metric": figure["y"]["metric"], "arm": arm, "x": point["x"]},
                point if point["n"] else None,
            )
            for figure in self.to_dict()["figures"]
            for arm, points in _arms(figure)
            for point in points
        ]
        return _estimates([({**of, "x": _number(of["x"])}, estimate) for of, estimate in rows])

    def to_dict(self) -> dict[str, Any]:
        """Return the document of ``driftway sweep --json``, without the computing time."""
        document: dict[str, Any] = json.loads(self._native.to_json())
        del document["timing"]
        return document

    def _table(self, name: str) -> Table:
        table = self._native.table(name)
        assert table is not None, name
        return table


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _arms(figure: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    return list(figure["arms"].items())
