"""TCP for networks that move: a simulator, and TCP with its aids, from Python.

>>> import driftway as dw
>>> results = dw.load("scenarios/lossy-path.toml").run(seeds=range(10))  # doctest: +SKIP
>>> print(results.summary())  # doctest: +SKIP

Times are in seconds, sizes in bytes, rates in bit/s and distances in metres; the names of columns and attributes end
with their unit.
"""

from __future__ import annotations

from driftway import plot
from driftway._aids import aid, growth, metric
from driftway._driftway import Acked, Aid, Events, Growth, Segment, Signal, Table, View
from driftway._errors import RunError, ScenarioError
from driftway._paper import Paper, paper, papers
from driftway._replay import Replay
from driftway._results import Results, StudyResults
from driftway._scenario import Scenario, load, loads
from driftway._simulation import FlowState, Simulation
from driftway._sweep import sweep
from driftway._version import __version__, version

__all__ = [
    "Acked",
    "Aid",
    "Events",
    "FlowState",
    "Growth",
    "Paper",
    "Replay",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Segment",
    "Signal",
    "Simulation",
    "StudyResults",
    "Table",
    "View",
    "__version__",
    "aid",
    "growth",
    "load",
    "loads",
    "metric",
    "paper",
    "papers",
    "plot",
    "sweep",
    "version",
]
