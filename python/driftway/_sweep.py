"""Sweeps and studies, on this machine or on a cluster."""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from driftway import _driftway
from driftway._aids import Metric, registry
from driftway._progress import Progress
from driftway._results import StudyResults
from driftway._scenario import Scenario, _jobs
from driftway._values import Value, to_assignments, to_text, to_time, to_whole


def sweep(
    what: Scenario | str | os.PathLike[str],
    vary: Mapping[str | tuple[str, ...], Sequence[Any]] | None = None,
    client: Any = None,
    *,
    set: Mapping[str, Value] | None = None,
    metrics: Iterable[Callable[..., Any] | str] = (),
    runs: int | None = None,
    step: str | float | None = None,
    quick: bool = False,
    figures: Iterable[str] = (),
    jobs: int | None = None,
    fresh: bool = False,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> StudyResults:
    """Run a study, or a scenario over varying keys, as ``driftway sweep`` does, with the same results to the byte.

    Completed runs are kept in the cache of the command, so that the same call continues after an interruption. Runs with an
    aid or a metric in Python run in this process and are not kept.

    Args:
        what: a study file; or, with ``vary``, a scenario or its file.
        vary: of each key the values: ``{"network.link.delay": ["5 ms", "50 ms"]}``. A tuple of keys varies together, over
            tuples of values.
        client: a ``distributed.Client``: its workers perform the runs.
        set: keys to set in every run.
        metrics: names of metrics in the summary; by default a selection. Functions declared by ``metric``, or their names,
            are further columns of ``runs``, and rows of the summary.
        runs: runs for each point; by default 10, or the study's.
        step: the time between two rows of the table ``steps``: a text such as ``"1 s"``, or seconds; with ``vary``.
        quick: run a part: the study's quick part, or two runs at the ends of each axis.
        figures: the figures of a study to run; by default all.
        jobs: runs in parallel in this process; by default one per processor.
        fresh: repeat runs that are cached.
        cache: a directory for the cache, such as one that all machines of a cluster share; by default the command's.
        progress: show the progress on a terminal.

    Raises:
        ScenarioError: the study, a scenario or a key is not valid.
        RunError: a run failed, or a worker has another version of driftway.
    """
    runs = None if runs is None else to_whole("runs", runs, 1)
    if vary is not None and not isinstance(vary, Mapping):
        raise TypeError(f"vary: expected a dict of keys and lists of values, found {type(vary).__name__}")
    known, own = _split(metrics)
    if own and client is not None:
        raise ValueError(f"metrics: {own[0].name} is in Python, and runs in this process only: leave out `client`")
    if client is not None and not hasattr(client, "submit"):
        raise TypeError(f"client: expected a distributed.Client, as Client('tcp://10.0.0.1:8786') is, found {client!r}")
    with tempfile.TemporaryDirectory(prefix="driftway-") as scratch:
        if vary:
            file, assignments = _file_of(what, Path(scratch))
            study = _driftway.Study.vary(
                file,
                [_variation(keys, values) for keys, values in vary.items()],
                assignments + to_assignments(set),
                known,
                runs,
                to_time("step", step),
                quick,
                registry(),
            )
        elif isinstance(what, Scenario) or _is_scenario(what):
            raise ValueError("vary: a scenario needs keys that vary, as in {'network.link.delay': ['5 ms', '50 ms']}")
        else:
            if step is not None or known:
                raise ValueError("step, metrics: a study file has its own; these go with vary")
            study = _driftway.Study.load(
                os.fspath(what), to_assignments(set), list(figures), runs, quick, registry()
            )
        if client is None:
            with Progress(study.run_count, progress) as show:
                functions = [(of.name, of.function) for of in own]
                native = study.run(_jobs(jobs), fresh, cache, functions, show)
            return StudyResults(native, {of.name: of.meaning for of in own})
        from driftway._dask import perform

        with _kept(cache, scratch) as directory:
            perform(client, study, fresh=fresh, cache=directory, progress=progress)
            return StudyResults(study.run(_jobs(jobs), False, directory, [], None))


def _split(metrics: Iterable[Callable[..., Any] | str]) -> tuple[list[str], list[Metric]]:
    """Return the names of built-in metrics, and the metrics in Python."""
    if isinstance(metrics, str):
        raise TypeError(f"metrics: expected a list, such as [{metrics!r}]")
    known: list[str] = []
    own: list[Metric] = []
    for of in metrics:
        if isinstance(of, str) and of not in Metric.declared:
            known.append(of)
        else:
            own.append(Metric.find(of))
    return known, own


def _is_scenario(file: str | os.PathLike[str]) -> bool:
    """Return whether a file is a scenario, and no study. What is not valid is reported where it is read."""
    try:
        keys = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return "network" in keys and "figure" not in keys


class _kept:
    """The cache of runs from workers: a temporary one, if the user has switched the cache off."""

    def __init__(self, cache: str | os.PathLike[str] | None, scratch: str) -> None:
        off = cache is None and os.environ.get("DRIFTWAY_CACHE") == "off"
        self._directory = os.path.join(scratch, "cache") if off else cache

    def __enter__(self) -> str | os.PathLike[str] | None:
        return self._directory

    def __exit__(self, *_: object) -> None:
        return None


def _file_of(what: Scenario | str | os.PathLike[str], scratch: Path) -> tuple[str, list[tuple[str, str]]]:
    """Return the file of a scenario, and what was set."""
    if not isinstance(what, Scenario):
        return os.fspath(what), []
    native = what._native
    path = Path(native.file)
    if path.is_file() and path.read_text(encoding="utf-8") == native.text:
        return native.file, native.assignments
    # A scenario from a text has no file, and gets one.
    path = scratch / (path.name if path.suffix == ".toml" else "scenario.toml")
    path.write_text(native.text, encoding="utf-8")
    return str(path), native.assignments


def _variation(keys: str | tuple[str, ...], values: Sequence[Any]) -> tuple[list[str], list[list[str]]]:
    """Return keys that vary together, and at each place their values."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"vary: {keys!r}: expected a list of values, found {values!r}")
    values = list(values)
    if not values:
        raise ValueError(f"vary: {keys!r}: at least one value is needed")
    if isinstance(keys, str):
        return [keys], [[to_text(keys, value)] for value in values]
    places = []
    for place in values:
        if isinstance(place, str) or len(place) != len(keys):
            raise ValueError(f"vary: {keys!r}: {place!r} is not {len(keys)} values, one for each key")
        places.append([to_text(key, value) for key, value in zip(keys, place, strict=True)])
    return list(keys), places
