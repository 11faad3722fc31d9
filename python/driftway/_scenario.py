"""Scenarios."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from driftway import _driftway
from driftway._aids import Metric, registry
from driftway._errors import ScenarioError
from driftway._progress import Progress
from driftway._results import Results
from driftway._values import Value, to_assignments, to_time, to_whole


class Scenario:
    """A scenario: everything about a run but its seed. It is checked, and its defaults are filled in.

    ``load`` and ``loads`` make scenarios. A scenario can be pickled; the aids in Python that it names have to be declared
    where it is read.
    """

    _native: _driftway.Scenario

    def __init__(self, native: _driftway.Scenario) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """The name in the scenario."""
        return self._native.name

    @property
    def file(self) -> str:
        """The name of the file."""
        return self._native.file

    @property
    def duration_s(self) -> float:
        """The longest duration of a run in simulated time (s)."""
        return self._native.duration_s

    @property
    def digest(self) -> str:
        """A digest of everything that can change a run, in hexadecimal: equal for equal scenarios."""
        return self._native.digest

    def get(self, key: str) -> Any:
        """Return the value of a dotted key, ``"network.link.rate"`` or ``"flow.0.aid"``, after all defaults.

        Quantities are texts with their unit, as in a file; tables are dicts and arrays lists.

        Raises:
            KeyError: there is no such key in this scenario.
        """
        if not isinstance(key, str):
            raise TypeError(f"key: expected a text such as 'network.link.rate', found {key!r}")
        value: Any = tomllib.loads(self.to_toml())
        path: list[str] = []
        for part in key.split("."):
            known = _keys(value)
            if part not in known:
                near = difflib.get_close_matches(part, known, n=1)
                hint = f"did you mean {near[0]}? " if near else ""
                where = ".".join(path) or "the scenario"
                raise KeyError(f"{key}: {where} has no {part!r}; {hint}there are {', '.join(known) or 'no keys'}")
            value = value[int(part)] if isinstance(value, list) else value[part]
            path.append(part)
        if path[-1] in ("aid", "receiver_aid", "growth") and isinstance(value, dict) and list(value) == ["name"]:
            return value["name"]
        return value

    def set(self, key: str | Mapping[str, Value], value: Value | None = None) -> None:
        """Set a key of this scenario, or several at once, as ``--set`` does.

        Raises:
            ScenarioError: the key or the value is not valid; the scenario is as before then.
        """
        if isinstance(key, str):
            if value is None:
                raise TypeError(f"{key}: a value is missing")
            key = {key: value}
        native = self._native
        self._native = _parse(native.file, native.text, native.assignments + to_assignments(key))

    def copy(self) -> Scenario:
        """Return a copy, which can be set without a change of this one."""
        return Scenario(self._native)

    def to_toml(self, *, documented: bool = False) -> str:
        """Return the scenario as a file with all defaults; if ``documented``, with the meaning of each key."""
        return self._native.to_toml(documented)

    def run(
        self,
        seeds: Iterable[int] = range(10),
        jobs: int | None = None,
        step: str | float | None = None,
        events: bool = False,
        progress: bool = True,
        metrics: Iterable[Callable[..., Any] | str] = (),
    ) -> Results:
        """Run the scenario with each of ``seeds``.

        The results are those of ``driftway run`` to the last bit. Other threads of Python run meanwhile, and Ctrl-C ends
        the runs.

        Args:
            seeds: the seeds, each once.
            jobs: runs in parallel; by default one per processor, and one if an aid is in Python.
            step: the time between two rows of the table ``steps``: a text such as ``"100 ms"``, or seconds.
            events: keep an event log of each run, in a temporary file.
            progress: show the progress on a terminal.
            metrics: functions declared by ``metric``, or their names: columns of the table ``runs``.

        Raises:
            ScenarioError: an argument is not valid.
            RunError: an aid or a metric raised an exception, which is the cause.
        """
        seeds = _seeds(seeds)
        if isinstance(metrics, str):
            raise TypeError(f"metrics: expected a list, such as [{metrics!r}]")
        found = [Metric.find(of) for of in metrics]
        with Progress(len(seeds), progress) as show:
            native = self._native.run(
                seeds, _jobs(jobs), to_time("step", step), bool(events), [(of.name, of.function) for of in found], show
            )
        return Results(self, native, {of.name: of.meaning for of in found})

    def __reduce__(self) -> tuple[Any, ...]:
        native = self._native
        # Relative names of movement files are looked up beside the file, wherever it is read.
        file = native.file if native.file.startswith("paper:") else os.path.abspath(native.file)
        return _restore, (file, native.text, native.assignments)

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r} from {self.file}>"


def _keys(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(index) for index in range(len(value))]
    return list(value) if isinstance(value, dict) else []


def _seeds(seeds: Iterable[int]) -> list[int]:
    if isinstance(seeds, int):
        raise TypeError(f"seeds: expected several, such as [{seeds}] or range({seeds})")
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise TypeError(f"seeds: expected whole numbers, such as range(10), found {seeds!r}")
    return [to_whole("seeds", seed) for seed in seeds]


def _jobs(jobs: int | None) -> int | None:
    return None if jobs is None else to_whole("jobs", jobs, 1, 2**31)


def _parse(file: str, text: str, assignments: list[tuple[str, str]]) -> _driftway.Scenario:
    return _driftway.Scenario.parse(file, text, assignments, registry())


def _restore(file: str, text: str, assignments: list[tuple[str, str]]) -> Scenario:
    return Scenario(_parse(file, text, assignments))


def load(path: str | os.PathLike[str], set: Mapping[str, Value] | None = None) -> Scenario:
    """Read a scenario file, or a scenario of a paper (``"paper:liu-singh-2001/figure-8.toml"``).

    Args:
        path: the file.
        set: keys to set, as ``--set`` does: ``{"network.link.rate": "1 Mbit/s"}``.

    Raises:
        ScenarioError: the file or a key is not valid, with line and column.
    """
    return Scenario(_driftway.Scenario.load(os.fspath(path), to_assignments(set), registry()))


def loads(text: str, set: Mapping[str, Value] | None = None, *, file: str = "scenario.toml") -> Scenario:
    """Read a scenario from a text; ``file`` is its name in messages, and movement files are looked up beside it.

    Raises:
        ScenarioError: the text or a key is not valid, with line and column.
    """
    if not isinstance(text, str):
        raise TypeError(f"text: expected the text of a scenario, found {type(text).__name__}")
    if text.endswith(".toml") and "\n" not in text:
        raise ScenarioError(f"{text}: this is the name of a file, which dw.load reads")
    return Scenario(_parse(file, text, to_assignments(set)))
