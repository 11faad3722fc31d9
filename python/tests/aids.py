"""Aids of the tests."""

from __future__ import annotations

import driftway as dw


@dw.aid("python-dupacks")
class ThreeDupacks:
    """Three duplicate acknowledgments after a disconnection, as the built-in aid `three-dupacks`."""

    COPIES = 3
    DOWN = ("link-down", "route-failed")
    UP = ("link-up", "route-restored")

    def __init__(self) -> None:
        self.state = "connected"
        self.receives = False

    def on_up(self, segment: dw.Segment) -> None:
        self.receives = self.receives or segment.sequence_length > 0

    def on_signal(self, signal: dw.Signal) -> None:
        if signal.kind in self.DOWN:
            self.state, self.is_disconnected = "disconnected", True
        elif signal.kind in self.UP and self.state == "disconnected":
            self.state, self.is_disconnected = "connected", False
            if self.receives:
                self.send_acks(self.COPIES)
            if outstanding := self.view.outstanding:
                start, end = outstanding
                size = max(self.view.mss_bytes or 536, 1)
                self.reduce_cwnd()
                self.resend(start, min(end, start + size))

    def on_closed(self) -> None:
        self.state, self.is_disconnected = "connected", False
