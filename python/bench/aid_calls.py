"""Processor time that an aid in Python adds to a segment, for transfers of several sizes. `make bench-python` runs it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import driftway as dw

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios/lossy-path.toml"
SEEDS = range(1, 5)


@dw.aid("sees-acks")
class SeesAcks:
    """Looks at each arriving segment."""

    def on_up(self, segment: dw.Segment) -> None:
        """Do nothing."""


@dw.aid("sees-all")
class SeesAll(SeesAcks):
    """Looks at each segment in both directions."""

    def on_down(self, segment: dw.Segment) -> None:
        """Do nothing."""


def measure(size: str, aid: str) -> tuple[float, int]:
    """Return the processor time of runs (s), and the data segments that they sent."""
    keys: dict[str, Any] = {"flow.0.application": {"transfer": size}, "duration": "100000 s", "flow.0.aid": aid}
    scenario = dw.load(SCENARIO, keys)
    best, segments = float("inf"), 0
    for _ in range(5):
        start = time.process_time()
        results = scenario.run(seeds=SEEDS, jobs=1, progress=False)
        best = min(best, time.process_time() - start)
        segments = sum(results.flows.column("segments_sent"))
    return best, segments


def main() -> None:
    """Measure, and print."""
    for size in ("1 MB", "10 MB", "50 MB"):
        none, segments = measure(size, "none")
        print(f"{size}: {segments} segments, {none / segments * 1e6:.2f} µs each without an aid", end="")
        for aid in ("sees-acks", "sees-all"):
            took, same = measure(size, aid)
            assert same == segments
            print(f"; {aid}: {(took - none) / segments * 1e6:+.2f} µs", end="")
        print()


if __name__ == "__main__":
    main()
