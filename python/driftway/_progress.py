"""The progress of runs on a terminal."""

from __future__ import annotations

import sys
from types import TracebackType


class Progress:
    """A line on standard error while runs are performed, if that is a terminal."""

    def __init__(self, total: int, show: bool) -> None:
        self._total = total
        self._show = show and sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, finished: int) -> None:
        if self._show:
            print(f"\r{finished} of {self._total} runs", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._show:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
