"""Results of runs and of studies."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from driftway import _driftway
from driftway._driftway import Events, Table
from driftway._replay import Replay, make_replay

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

    def replay(
        self,
        seed: int | None = None,
        other: Results | None = None,
        *,
        from_s: float = 0.0,
        to_s: float | None = None,
        labels: tuple[str, str] | None = None,
    ) -> Replay:
        """Return a page with a map and a time line of the events of a run, which a notebook shows.

        The runs need ``events=True``. A page has at most 3 MB; what is left out of a larger run it says.

        Args:
            seed: the seed of the run; by default the first.
            other: results whose run with the same seed is shown beside it, such as those with an aid.
            from_s: the beginning of the part that is shown (s).
            to_s: its end (s); by default that of the run.
            labels: the names of the two runs; by default the keys in which they differ.

        Raises:
            ValueError: there are no events, no run has the seed, or the times are not in the run.
        """
        return make_replay(self, seed, other, from_s, to_s, labels)

    def summary(self) -> Table:
        """Return the mean of each metric of each flow over the runs, with 90 % and 95 % confidence intervals.

        Metrics in Python, and drops, are of no flow.
        """
        document = self.to_dict()
        rows = [
            ({"flow": flow, "source": of["source"], "destination": of["destination"]}, metric, estimate)
            for flow, of in enumerate(document["summary"]["flows"])
            for metric, estimate in of["metrics"].items()
        ]
        empty = {"flow": None, "source": None, "destination": None}
        drops = document["summary"]["drops"].items()
        rows += [(empty, f"drops.{reason}", estimate) for reason, estimate in drops]
        rows += [(empty, name, _estimate(values)) for name, values in self._native.metrics()]
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


def _estimate(values: Iterable[float | None]) -> dict[str, Any] | None:
    return _driftway.estimate([value for value in values if value is not None])


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


@dataclasses.dataclass(frozen=True)
class _Kept:
    """What pickle keeps of the module's results of a study."""

    tables: dict[str, Table]
    measured: list[tuple[str, list[tuple[str, int, float | None]]]]
    document: str

    @classmethod
    def of(cls, native: _driftway.StudyResults | _Kept) -> _Kept:
        if isinstance(native, cls):
            return native
        tables = {name: native.table(name) for name in ("runs", "flows", "steps")}
        return cls({name: of for name, of in tables.items() if of is not None}, native.metrics(), native.to_json())

    def table(self, name: str) -> Table | None:
        return self.tables.get(name)

    def metrics(self) -> list[tuple[str, list[tuple[str, int, float | None]]]]:
        return self.measured

    def to_json(self) -> str:
        return self.document


class StudyResults:
    """The results of a study or a sweep, as tables that polars, pandas and DuckDB read without copying.

    They can be pickled.
    """

    _native: _driftway.StudyResults | _Kept

    def __init__(self, native: _driftway.StudyResults, meanings: dict[str, str] | None = None) -> None:
        self._native = native
        self._meanings = meanings or {}

    @cached_property
    def runs(self) -> Table:
        """A row for each run: figure, arm, point of the axis, keys that vary, seed, and metrics."""
        table = self._table("runs")
        places = list(zip(table.column("scenario"), table.column("seed"), strict=True))
        for name, measured in self._native.metrics():
            values = {(scenario, seed): value for scenario, seed, value in measured}
            table = table.with_column(name, [values[place] for place in places], self._meanings.get(name, ""))
        return table

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
        ] + self._measured()
        return _estimates([({**of, "x": _number(of["x"])}, estimate) for of, estimate in rows])

    def _measured(self) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Return the estimates of metrics in Python."""
        names = [name for name, _ in self._native.metrics()]
        if not names:
            return []
        rows: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
        places = list(zip(*(self.runs.column(name) for name in ("figure", "arm", "x")), strict=True))
        for name in names:
            values: dict[tuple[Any, ...], list[float | None]] = {place: [] for place in places}
            for place, value in zip(places, self.runs.column(name), strict=True):
                values[place].append(value)
            for (figure, arm, x), of in values.items():
                rows.append(({"figure": figure, "metric": name, "arm": arm, "x": x}, _estimate(of)))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the document of ``driftway sweep --json``, without the computing time."""
        document: dict[str, Any] = json.loads(self._native.to_json())
        del document["timing"]
        return document

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.runs)} runs>"

    def __getstate__(self) -> dict[str, Any]:
        # Tables that were asked for are made again.
        own = {name: of for name, of in vars(self).items() if not isinstance(of, Table)}
        return {**own, "_native": _Kept.of(self._native)}

    def _table(self, name: str) -> Table:
        table = self._native.table(name)
        assert table is not None, name
        return table


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _arms(figure: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    return list(figure["arms"].items())
