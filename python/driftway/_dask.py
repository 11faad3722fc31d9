"""Runs on the workers of a Dask cluster.

A task is a run: its scenario, with a digest, and its seed. Its record comes back, and goes to the cache as soon as it is
there. A worker that is lost costs the runs that it had begun: Dask gives them to others.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from driftway import _driftway
from driftway._errors import RunError
from driftway._progress import Progress

if TYPE_CHECKING:
    from distributed import Client

#: Tasks that the scheduler has at a time for each thread of a worker, so that none of them waits for a task, and a
#: campaign of many runs does not fill the memory of the scheduler.
AHEAD = 8


class WorkerError(RunError):
    """Workers that have no driftway, or another version."""


def _run(task: _driftway.Task) -> bytes:
    """Perform a run at a worker."""
    return _driftway.run_task(task)


def check_workers(client: Client) -> None:
    """Refuse workers that have no driftway, or another version.

    Raises:
        WorkerError: with a list of these workers.
    """
    own = _driftway.version()
    wrong = [
        f"{worker}: {found}"
        for worker, found in sorted(client.run(_version_of_worker).items())
        if found != own
    ]
    if wrong:
        raise WorkerError(f"these workers do not have driftway {own}:\n  " + "\n  ".join(wrong))


def _version_of_worker() -> str:
    try:
        from driftway import version
    except ImportError as error:
        return f"no driftway ({error})"
    return version()


def perform(
    client: Client, study: _driftway.Study, *, fresh: bool, cache: str | os.PathLike[str] | None, progress: bool
) -> None:
    """Perform the runs of a study that are not in the cache, and put their records there.

    Raises:
        RunError: a run failed, or a worker has another version.
    """
    from distributed import as_completed

    tasks = study.tasks(cache, fresh)
    if not tasks:
        return
    check_workers(client)
    # Runs that a scheduler has kept of another client are as good: equal keys are equal runs.
    waiting = iter(tasks)
    pending: dict[Any, _driftway.Task] = {}

    def submit() -> Any | None:
        task = next(waiting, None)
        if task is None:
            return None
        future = client.submit(_run, task, key=task.key, retries=3, pure=True)
        pending[future] = task
        return future

    threads = sum(client.nthreads().values()) or 1
    first = [future for _ in range(threads * AHEAD) if (future := submit()) is not None]
    finished = 0
    completed = as_completed(first)
    try:
        with Progress(len(tasks), progress) as show:
            for future in completed:
                study.store(pending.pop(future), future.result(), cache)
                future.release()
                finished += 1
                show(finished)
                following = submit()
                if following is not None:
                    completed.add(following)
    finally:
        # After an exception or Ctrl-C; what has been stored is kept.
        if pending:
            client.cancel(list(pending), force=True)
