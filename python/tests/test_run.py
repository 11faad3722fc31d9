"""Runs: the same as the command's, tables, interruption, threads."""

from __future__ import annotations

import csv
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import driftway as dw
import polars
import pytest
from conftest import ROOT, SCENARIOS, SMALL, command, run_document


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_results_are_those_of_the_command(path: Path) -> None:
    results = dw.load(path).run(seeds=[1, 2], progress=False)
    expected = run_document(path, "--runs", 2)
    assert results.to_dict() == expected
    assert results.runs.column("fingerprint") == [run["fingerprint"] for run in expected["runs"]]
    flows = [flow for run in expected["runs"] for flow in run["flows"]]
    assert results.flows.column("delivered_bytes") == [flow["delivered_bytes"] for flow in flows]


def test_tables_are_read_by_polars() -> None:
    results = dw.loads(SMALL).run(seeds=range(1, 4), step="200 ms", progress=False)
    runs = polars.DataFrame(results.runs)
    assert runs["seed"].to_list() == [1, 2, 3]
    assert runs.schema["fingerprint"] == polars.String and runs.schema["duration_s"] == polars.Float64
    assert results.runs.to_polars().equals(runs)
    steps = results.steps
    assert steps is not None
    assert polars.DataFrame(steps).filter(polars.col("seed") == 2)["time_s"][:2].to_list() == [0.2, 0.4]
    assert len(results.flows) == 3 and results.events is None
    assert "bit/s" in (results.runs.meanings()["throughput_bps"] or "")
    summary = polars.DataFrame(results.summary())
    assert summary.filter(polars.col("metric") == "completion_s")["n"].to_list() == [3]
    with pytest.raises(KeyError, match="there is no column \"seeds\""):
        results.runs.column("seeds")
    assert "fingerprint" in repr(results.runs) and "<th" in results.runs._repr_html_()


def test_events_are_those_of_the_command(tmp_path: Path) -> None:
    path = ROOT / "scenarios/adhoc-chain.toml"
    results = dw.load(path).run(seeds=[1, 2], events=True, progress=False)
    command("run", path, "--runs", 2, "--out", tmp_path / "o", "--events", "--trace")
    events = results.events
    assert events is not None and events.seeds == [1, 2]
    found = polars.DataFrame(events)
    for seed in events.seeds:
        with open(tmp_path / f"o/events-seed-{seed}.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        of_seed = found.filter(polars.col("seed") == seed)
        assert len(of_seed) == len(rows)
        assert of_seed["event"].to_list() == [row["event"] for row in rows]
        assert of_seed["time_s"].to_list() == [float(row["time_s"]) for row in rows]
        packets = [row["packet"] or None for row in rows]
        assert of_seed["packet"].to_list() == packets
    first = next(iter(events.rows()))
    assert first["seed"] == 1 and first["time_s"] == 0


def test_a_large_event_log_is_read_in_batches() -> None:
    events = dw.load(ROOT / "scenarios/adhoc-cbr.toml").run(seeds=[1], events=True, progress=False).events
    assert events is not None
    sizes = [len(batch) for batch in events.batches()]
    assert len(sizes) > 1 and max(sizes) <= 65_536


def test_the_cwd_and_the_number_of_jobs_change_nothing() -> None:
    scenario = dw.loads(SMALL)
    one, two = (scenario.run(seeds=range(6), jobs=jobs, progress=False) for jobs in (1, 2))
    assert one.to_dict() == two.to_dict()


def test_results_can_be_pickled() -> None:
    results = dw.loads(SMALL).run(seeds=[1], step=0.5, progress=False)
    copy = pickle.loads(pickle.dumps(results))
    assert copy.to_dict() == results.to_dict()
    assert copy.steps.to_dict() == results.steps.to_dict()
    table = pickle.loads(pickle.dumps(results.runs))
    assert table.to_dict() == results.runs.to_dict() and table.meanings() == results.runs.meanings()


def test_wrong_arguments_are_refused() -> None:
    scenario = dw.loads(SMALL)
    for arguments, error, message in [
        ({"seeds": 3}, TypeError, "expected several"),
        ({"seeds": []}, ValueError, "at least one"),
        ({"seeds": [1, 1]}, ValueError, "1 is given twice"),
        ({"seeds": [-1]}, ValueError, "seeds: expected a whole number, at least 0, found -1"),
        ({"seeds": [2**64]}, ValueError, "at most"),
        ({"seeds": "12"}, TypeError, "such as range"),
        ({"seeds": None}, TypeError, "such as range"),
        ({"seeds": [1.5]}, TypeError, "found 1.5"),
        ({"jobs": 0}, ValueError, "at least 1"),
        ({"jobs": "2"}, TypeError, "jobs: expected a whole number"),
        ({"step": "0 s"}, ValueError, "longer than 0 s"),
        ({"step": "soon"}, ValueError, "step"),
        ({"step": [1]}, TypeError, "expected a time"),
        ({"step": float("nan")}, ValueError, "step: expected a number of seconds"),
        ({"metrics": ["nothing"]}, ValueError, "there is no metric nothing"),
        ({"metrics": "drops"}, TypeError, r"such as \['drops'\]"),
    ]:
        with pytest.raises(error, match=message):
            scenario.run(progress=False, **{"seeds": [1], **arguments})


#: A run that takes minutes.
LONG = SMALL.replace("20 s", "100000 s").replace('{ transfer = "100 kB" }', '"ftp"')


def test_other_threads_run_meanwhile() -> None:
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.wait(0.01):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    before = time.monotonic()
    dw.loads(LONG.replace("100000 s", "2000 s")).run(seeds=[1], progress=False)
    took = time.monotonic() - before
    stop.set()
    thread.join()
    assert len(ticks) >= min(took / 0.1, 5) - 1


#: An aid whose method never returns.
ENDLESS = """
@dw.aid("endless")
class Endless:
    def on_down(self, segment):
        while True:
            pass
"""


@pytest.mark.parametrize(
    "call",
    ["dw.loads(LONG).run(seeds=range(4))", f"{ENDLESS}dw.loads(LONG, {{'flow.0.aid': 'endless'}}).run(seeds=[1])"],
    ids=["in Rust", "in Python"],
)
def test_ctrl_c_ends_a_run(call: str) -> None:
    program = f"import driftway as dw\nLONG = {LONG!r}\nprint('runs', flush=True)\n{call}\n"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "runs\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode in (1, -signal.SIGINT, 130) and "KeyboardInterrupt" in errors, errors


def test_a_simulation_is_stepped() -> None:
    scenario = dw.loads(SMALL)
    simulation = dw.Simulation(scenario, seed=1)
    assert (simulation.now_s, simulation.nodes, simulation.flows) == (0, 3, 1)
    delivered = []
    while simulation.run_until(simulation.now_s + 0.5):
        state = simulation.flow(0)
        delivered.append(state.delivered_bytes)
        assert state.view is None or state.view.cwnd_bytes
    assert delivered == sorted(delivered) and delivered
    assert simulation.route(0, 2) == [0, 1, 2] and simulation.position(0) is None
    assert simulation.queue_length(0) >= 0
    results = simulation.finish()
    whole = scenario.run(seeds=[1], progress=False)
    assert results.runs.column("fingerprint") == whole.runs.column("fingerprint")
    with pytest.raises(ValueError, match="has been finished"):
        simulation.step()
    other = dw.Simulation(scenario)
    assert other.step() and other.finish().runs.column("duration_s")[0] < 1
    with pytest.raises(IndexError, match="no node 9"):
        dw.Simulation(scenario).queue_length(9)
    with pytest.raises(IndexError, match="no flow 1"):
        dw.Simulation(scenario).flow(1)
    with pytest.raises(ValueError, match="no time"):
        dw.Simulation(scenario).run_until(-1)


def test_the_temporary_files_of_events_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    results = dw.loads(SMALL).run(seeds=[1, 2], events=True, progress=False)
    events = results.events
    assert len(os.listdir(tmp_path)) == 2
    del results, events
    assert os.listdir(tmp_path) == []
