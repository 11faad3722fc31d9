"""Tasks a second that a Dask scheduler gives to 20 workers, and how many cores a campaign can use by that.

The tasks go the way of runs, with a scenario and a record of usual size, but do nothing: what is measured is the scheduler,
the network between processes, and the client. `make bench-python` runs it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import distributed
import psutil
from driftway import _dask

#: A scenario with all its defaults, and a record, in bytes.
TASK, RECORD = 6_000, 8_000


class Task:
    """An empty run."""

    def __init__(self, number: int) -> None:
        self.key = f"empty-{number}"
        self.text = "x" * TASK


def empty(task: Task) -> bytes:
    """Perform nothing."""
    return b"x" * RECORD


class Study:
    """Empty runs, and those that have come back."""

    def __init__(self, first: int, count: int) -> None:
        self.all = [Task(first + number) for number in range(count)]
        self.stored = 0

    def tasks(self, cache: object, fresh: bool) -> list[Task]:
        return self.all

    def store(self, task: Task, record: bytes, cache: object) -> None:
        assert len(record) == RECORD
        self.stored += 1


def seconds(process: psutil.Process) -> float:
    """Return the processor time of a process (s)."""
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = str(Path(scratch) / "scheduler.json")
        common = ["--scheduler-file", place, "--no-dashboard"]
        words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", *common]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": scratch}
        scheduler = subprocess.Popen(words, **quiet)
        words = [sys.executable, "-m", "distributed.cli.dask_worker", "--nworkers", str(given.workers), "--nthreads", "1"]
        workers = subprocess.Popen([*words, *common], **quiet)
        try:
            client = distributed.Client(scheduler_file=place, timeout=60)
            client.wait_for_workers(given.workers, timeout=300)
            measure(client, psutil.Process(scheduler.pid), given.tasks)
            client.close()
        finally:
            for process in (workers, scheduler):
                process.terminate()
                process.wait()


def measure(client: Any, scheduler: psutil.Process, count: int) -> None:
    """Perform empty tasks, and print what each cost."""
    _dask._run = empty  # type: ignore[assignment]
    # Connections and imports are not what is measured.
    _dask.perform(client, Study(0, 500), fresh=True, cache=None, progress=False)  # type: ignore[arg-type]
    study, own = Study(500, count), psutil.Process()
    start, of_scheduler, of_client = time.perf_counter(), seconds(scheduler), seconds(own)
    _dask.perform(client, study, fresh=True, cache=None, progress=False)  # type: ignore[arg-type]
    took = time.perf_counter() - start
    of_scheduler, of_client = seconds(scheduler) - of_scheduler, seconds(own) - of_client
    assert study.stored == count
    rate = count / took
    workers = len(client.nthreads())
    most = count / max(of_scheduler, of_client)
    print(f"{count} empty tasks on {workers} workers: {took:.1f} s, {rate:.0f} tasks a second")
    print(f"processor time of a task: scheduler {of_scheduler / count * 1e3:.2f} ms, client {of_client / count * 1e3:.2f} ms;")
    print(f"with processors of their own at most {most:.0f} tasks a second")
    for run in (0.1, 1.0, 10.0):
        print(f"runs of {run:4g} s: {rate * run:6.0f} to {most * run:6.0f} cores; 100,000 runs in {100_000 / rate:.0f} s or more")


if __name__ == "__main__":
    main()
