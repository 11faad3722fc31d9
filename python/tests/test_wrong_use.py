"""What goes wrong for those who are new to it: each message says what would be right."""

from __future__ import annotations

import pickle
from typing import Any

import driftway as dw
import pytest
from conftest import ROOT, SMALL

FILE = ROOT / "scenarios/lossy-path.toml"


def test_scenarios_say_what_they_expect() -> None:
    any_: Any = dw
    scenario: Any = dw.loads(SMALL)
    with pytest.raises(TypeError, match="the text of a scenario, found bytes"):
        any_.loads(SMALL.encode())
    with pytest.raises(dw.ScenarioError, match="the name of a file, which dw.load reads"):
        dw.loads(str(FILE))
    with pytest.raises(TypeError, match="a text such as 'network.link.rate', found 5"):
        scenario.get(5)


def test_replays_say_what_they_expect() -> None:
    results: Any = dw.loads(SMALL).run(seeds=[1], events=True, progress=False)
    for arguments, error, message in [
        ({"seed": 9}, ValueError, "no run has 9; there are 1"),
        ({"seed": "1"}, TypeError, "seed: expected a whole number"),
        ({"other": SMALL}, TypeError, "other: expected results of runs, found str"),
        ({"from_s": "5 s"}, TypeError, "from_s: expected a number of seconds, found '5 s'"),
        ({"to_s": float("inf")}, ValueError, "to_s: expected a number of seconds"),
    ]:
        with pytest.raises(error, match=message):
            results.replay(**arguments)


def test_simulations_say_what_they_expect() -> None:
    any_: Any = dw
    with pytest.raises(TypeError, match="scenario: expected what dw.load returns, found str"):
        any_.Simulation(str(FILE))
    with pytest.raises(TypeError, match="seed: expected a whole number"):
        any_.Simulation(dw.loads(SMALL), "x")
    simulation: Any = dw.Simulation(dw.loads(SMALL), 3)
    assert repr(simulation) == "<Simulation of 'small', seed 3>"
    for call, error, message in [
        (lambda: simulation.run_until("5 s"), TypeError, "time_s: expected a number of seconds"),
        (lambda: simulation.flow(-1), ValueError, "flow: expected a whole number, at least 0, found -1"),
        (lambda: simulation.position(1.5), TypeError, "node: expected a whole number"),
        (lambda: simulation.route(0, 9), IndexError, "no node 9"),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_plots_say_what_they_expect() -> None:
    results: Any = dw.loads(SMALL).run(seeds=[1], progress=False)
    with pytest.raises(TypeError, match="runs with step"):
        dw.plot.line(results.steps, x="time_s", y="cwnd_bytes")
    with pytest.raises(TypeError, match=r"expected those of dw\.sweep"):
        dw.plot.means(results, "throughput_bps")


def test_results_of_sweeps_can_be_pickled() -> None:
    vary = {"network.link.delay": ["5 ms", "9 ms"]}
    results = dw.sweep(dw.loads(SMALL), vary, runs=2, step="1 s", progress=False)
    assert repr(results) == "<StudyResults of 4 runs>"
    # A copy can be copied again.
    copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(results))))
    for name in ("runs", "flows", "steps"):
        assert getattr(copy, name).to_dict() == getattr(results, name).to_dict()
    assert copy.to_dict() == results.to_dict() and copy.summary().to_dict() == results.summary().to_dict()
    paper = dw.paper("liu-singh-2001", figures=["8"], quick=True, runs=1, progress=False)
    copied = pickle.loads(pickle.dumps(paper))
    assert (copied.name, copied.title) == (paper.name, paper.title)
    assert copied.statements().to_dict() == paper.statements().to_dict()


def test_a_control_without_options_is_its_name() -> None:
    @dw.growth("named")
    class Named:
        pass

    scenario = dw.loads(SMALL, {"flow.0.tcp": {"recovery": "sack", "growth": "named"}})
    assert scenario.get("flow.0.tcp.growth") == "named"
