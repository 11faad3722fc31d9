"""Sweeps and studies: the command's bytes, here and on a Dask cluster."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import driftway as dw
import pytest
from conftest import ROOT, SMALL, command

VARY = {"network.link.delay": ["5 ms", "20 ms"], ("flow.0.aid", "flow.0.tcp.window"): [("none", 4), ("atcp", 8)]}
WORDS = ("--vary", "network.link.delay=5 ms,20 ms", "--vary", "flow.0.aid,flow.0.tcp.window=none:4,atcp:8")


def rows_of(path: Path) -> list[list[str]]:
    with open(path, newline="") as file:
        return list(csv.reader(file))


def check_tables(results: dw.StudyResults, directory: Path) -> None:
    """Compare tables with the files of the command."""
    for table, name in [(results.runs, "runs"), (results.flows, "flows"), (results.steps, "steps")]:
        if table is None:
            assert not (directory / f"{name}.csv").exists()
            continue
        header, *rows = rows_of(directory / f"{name}.csv")
        assert table.columns == header
        for at, column in enumerate(header):
            cells = [row[at] for row in rows]
            values = table.column(column)
            assert [None if value is None else type(value)(cell) for cell, value in zip(cells, values, strict=True)] == values
    document = json.loads((directory / "results.json").read_text())
    del document["timing"]
    assert results.to_dict() == document


def test_a_sweep_is_that_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    results = dw.sweep(path, VARY, runs=3, step="2 s", progress=False)
    command("sweep", path, *WORDS, "--runs", 3, "--step", "2 s", "--out", tmp_path / "o", "--fresh")
    check_tables(results, tmp_path / "o")
    of_scenario = dw.sweep(dw.load(path), VARY, runs=3, step="2 s", progress=False)
    assert of_scenario.to_dict() == results.to_dict()
    summary = results.summary()
    assert set(summary.column("arm")) and summary.column("n")[0] == 3


def test_a_study_is_that_of_the_command(tmp_path: Path) -> None:
    set_ = {"duration": "20 s"}
    results = dw.sweep(ROOT / "studies/pauses.toml", set=set_, quick=True, figures=["one-tcp"], progress=False)
    words = ("--quick", "--figure", "one-tcp", "--set", "duration=20 s", "--out", tmp_path / "o", "--fresh")
    command("sweep", ROOT / "studies/pauses.toml", *words)
    check_tables(results, tmp_path / "o")


def test_wrong_sweeps_are_refused(tmp_path: Path) -> None:
    scenario = dw.loads(SMALL)
    for arguments, error, message in [
        ((scenario,), ValueError, "a scenario needs keys that vary"),
        ((scenario, {"network.link.dela": ["5 ms", "6 ms"]}), dw.ScenarioError, "network.link.dela"),
        ((scenario, {"network.link.delay": "5 ms"}), TypeError, "expected a list of values"),
        ((scenario, {"network.link.delay": 5}), TypeError, "expected a list of values, found 5"),
        ((scenario, [("network.link.delay", ["5 ms"])]), TypeError, "vary: expected a dict"),
        ((ROOT / "scenarios/lossy-path.toml",), ValueError, "a scenario needs keys that vary"),
        ((scenario, {"network.link.delay": []}), ValueError, "at least one value"),
        ((scenario, {("duration", "network.hops"): [("5 s",)]}), ValueError, "is not 2 values"),
        ((tmp_path / "none.toml",), dw.ScenarioError, "none.toml"),
    ]:
        with pytest.raises(error, match=message):
            dw.sweep(*arguments, progress=False)
    with pytest.raises(TypeError, match=r"client: expected a distributed\.Client"):
        dw.sweep(scenario, {"duration": ["5 s", "6 s"]}, "tcp://127.0.0.1:8786")
    with pytest.raises(ValueError, match="runs"):
        dw.sweep(scenario, {"duration": ["5 s", "6 s"]}, runs=0)
    with pytest.raises(dw.ScenarioError, match="no such metric"):
        dw.sweep(scenario, {"duration": ["5 s", "6 s"]}, metrics=["speed"], progress=False)


def test_metrics_in_python_are_columns_and_rows_of_the_summary() -> None:
    counted: list[int] = []

    @dw.metric("hops_sent")
    def hops_sent(events: dw.Events) -> float:
        """Packets sent over links."""
        counted.extend(events.seeds)
        return sum(row["layer"] == "link" and row["event"] == "sent" for row in events.rows())

    @dw.metric("second_seed_only")
    def second_seed_only(events: dw.Events) -> float | None:
        return 7.0 if events.seeds == [2] else None

    vary = {"network.link.delay": ["5 ms", "20 ms"], "flow.0.aid": ["none", "atcp"]}
    plain = dw.sweep(dw.loads(SMALL), vary, runs=2, progress=False)
    own = {"metrics": [hops_sent, "second_seed_only", "throughput_bps"], "runs": 2, "progress": False}
    results = dw.sweep(dw.loads(SMALL), vary, **own)
    assert results.runs.column("fingerprint") == plain.runs.column("fingerprint")
    assert len(counted) == 8, "each run once, and none from the cache"
    assert results.runs.meanings()["hops_sent"] == "Packets sent over links."
    for row in range(len(results.runs)):
        of = {name: results.runs.column(name)[row] for name in ("seed", "arm", "x", "hops_sent", "second_seed_only")}
        scenario = dw.loads(SMALL, {"network.link.delay": f"{of['x']:.3f} s", "flow.0.aid": of["arm"].replace("no aid", "none").lower()})
        alone = scenario.run(seeds=[of["seed"]], metrics=[hops_sent], progress=False)
        assert alone.runs.column("hops_sent") == [of["hops_sent"]]
        assert of["second_seed_only"] == (7.0 if of["seed"] == 2 else None)
    summary = results.summary()
    rows = [dict(zip(summary.columns, row, strict=True)) for row in zip(*summary.to_dict().values(), strict=True)]
    found = [row for row in rows if row["metric"] == "hops_sent"]
    assert len(found) == 4 and {row["n"] for row in found} == {2}
    values = [
        value
        for value, arm, x in zip(*(results.runs.column(name) for name in ("hops_sent", "arm", "x")), strict=True)
        if (arm, x) == (found[0]["arm"], found[0]["x"])
    ]
    assert found[0]["mean"] == sum(values) / 2
    assert {row["n"] for row in rows if row["metric"] == "second_seed_only"} == {1}
    assert any(row["metric"] == "throughput_bps" for row in rows)
    axes = dw.plot.means(results, "hops_sent")
    assert axes.get_ylabel() == "hops sent" and len(axes.containers) == 2
    # A study in a file, too.
    part = {"set": {"duration": "20 s"}, "quick": True, "figures": ["one-tcp"], "progress": False}
    study = dw.sweep(ROOT / "studies/pauses.toml", metrics=[hops_sent], runs=1, **part)
    assert all(value is not None for value in study.runs.column("hops_sent"))
    with pytest.raises(ValueError, match="leave out `client`"):
        dw.sweep(dw.loads(SMALL), vary, client=object(), **own)
    with pytest.raises(TypeError, match=r"expected a list, such as \['hops_sent'\]"):
        dw.sweep(dw.loads(SMALL), vary, metrics="hops_sent")

    @dw.metric("failing")
    def failing(events: dw.Events) -> float:
        raise LookupError("nothing there")

    with pytest.raises(dw.RunError, match="the metric `failing` has raised LookupError"):
        dw.sweep(dw.loads(SMALL), vary, runs=1, metrics=[failing], progress=False)


def test_a_paper_gives_figures_and_statements() -> None:
    assert "liu-singh-2001" in dw.papers()
    paper = dw.paper("liu-singh-2001", quick=True, figures=["8"], progress=False)
    assert set(paper.figures().column("source")) >= {"driftway"}
    statements = paper.statements()
    assert len(statements) == len(statements.column("verdict")) > 0
    with pytest.raises(dw.ScenarioError):
        dw.paper("nobody-1999")


# Dask.


@pytest.fixture
def cluster() -> Any:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as of:
        yield of


def test_a_lost_worker_changes_no_byte(cluster: Any, tmp_path: Path) -> None:
    study, set_ = ROOT / "studies/pauses.toml", {"duration": "60 s"}
    part = {"set": set_, "quick": True, "figures": ["one-tcp"], "runs": 4, "progress": False}
    expected = dw.sweep(study, cache=tmp_path / "a", **part)
    nannies = list(cluster.workers.values())
    killed = []

    def kill() -> None:
        # In the middle: a run has come back, and others are being performed.
        while not any((tmp_path / "b").rglob("*.json")):
            time.sleep(0.01)
        pid = nannies[0].process.pid
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    client = cluster.get_client()
    found = dw.sweep(study, client=client, cache=tmp_path / "b", **part)
    thread.join(timeout=60)
    assert killed
    assert found.to_dict() == expected.to_dict()
    for name in ("runs", "flows"):
        assert getattr(found, name).to_dict() == getattr(expected, name).to_dict()
    # Continued: all runs are there now.
    again = dw.sweep(study, client=client, cache=tmp_path / "b", **part)
    assert again.to_dict() == expected.to_dict()


def test_the_command_performs_its_runs_on_dask(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    words = ("sweep", tmp_path / "small.toml", *WORDS, "--runs", 2, "--step", "2 s")
    command(*words, "--fresh", "--out", tmp_path / "alone")
    environment = {**os.environ, "DRIFTWAY_PYTHON": shutil.which("python3") or "python3"}
    environment["DRIFTWAY_CACHE"] = str(tmp_path / "cache")
    address = cluster.scheduler_address
    command(*words, "--dask", address, "--out", tmp_path / "dask", env=environment)
    assert any((tmp_path / "cache").rglob("*.json"))
    for name in ("runs", "flows", "steps"):
        for form in ("csv", "parquet"):
            file = f"{name}.{form}"
            assert (tmp_path / "alone" / file).read_bytes() == (tmp_path / "dask" / file).read_bytes()
    environment["DRIFTWAY_CACHE"] = "off"
    command(*words, "--dask", address, "--out", tmp_path / "off", env=environment)
    assert (tmp_path / "off/runs.csv").read_bytes() == (tmp_path / "alone/runs.csv").read_bytes()
    # A scheduler that is not there, and Python without the package.
    message = command(*words, "--dask", "tcp://127.0.0.1:1", status=2, env=environment)
    assert "there is no scheduler" in message
    environment["PYTHONPATH"] = str(tmp_path / "hidden")
    hidden = tmp_path / "hidden/driftway"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("")
    message = command(*words, "--dask", address, status=2, env=environment)
    assert "--dask" in message and "pip install" in message


def test_a_worker_of_another_version_is_refused(cluster: Any) -> None:
    client = cluster.get_client()

    def other() -> None:
        import driftway

        driftway.version = lambda: "0.0.1-elsewhere"

    client.run(other, workers=[cluster.workers[0].worker_address])
    with pytest.raises(dw.RunError, match="0.0.1-elsewhere"):
        dw.sweep(dw.loads(SMALL), {"network.link.delay": ["5 ms", "20 ms"]}, runs=1, client=client, progress=False)
    task = dw._driftway.Task(("0.0.1-elsewhere", "digest", 1, None, SMALL, []))
    with pytest.raises(dw.RunError, match="a worker has driftway"):
        dw._driftway.run_task(task)


def test_aids_in_python_stay_in_their_process(cluster: Any) -> None:
    @dw.aid("local")
    class Local:
        pass

    with pytest.raises(dw.ScenarioError, match="in this process only"):
        dw.sweep(dw.loads(SMALL), {"flow.0.aid": ["none", "local"]}, runs=1, client=cluster.get_client(), progress=False)
