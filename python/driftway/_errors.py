"""Exceptions of driftway."""

from __future__ import annotations


class ScenarioError(ValueError):
    """A scenario, a study or a request that is not valid.

    The message says what is wrong, where, and what would be right.

    Attributes:
        line: the line of the file, from 1; ``None`` if the error is in no line of it.
        column: the column in characters, from 1; ``None`` with ``line``.
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message, line, column)
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return str(self.args[0])


class RunError(RuntimeError):
    """A run that failed: an aid or a metric raised an exception, a worker has another version, or driftway has a bug.

    An exception of an aid is the ``__cause__``, with its traceback.

    Attributes:
        seed: the seed of the run; ``None`` if no single run failed.
        time_s: the simulated time (s) of the exception; ``None`` without one.
    """

    def __init__(self, message: str, seed: int | None = None, time_s: float | None = None) -> None:
        super().__init__(message, seed, time_s)
        self.seed = seed
        self.time_s = time_s

    def __str__(self) -> str:
        return str(self.args[0])
