"""A run that is stepped and inspected."""

from __future__ import annotations

import dataclasses

from driftway import _driftway
from driftway._driftway import View
from driftway._results import Results
from driftway._scenario import Scenario
from driftway._values import to_seconds, to_whole


@dataclasses.dataclass(frozen=True)
class FlowState:
    """The present state of a flow. What describes TCP is ``None`` for UDP, and before the flow starts."""

    #: Payload delivered in order (bytes).
    delivered_bytes: int
    #: The outcome so far, as in the table ``flows``.
    outcome: str
    #: Data segments sent, retransmissions included.
    segments_sent: int | None
    #: Retransmissions among them.
    retransmissions: int | None
    #: Retransmission timeouts.
    timeouts: int | None
    #: The retransmission timeout in force, back-off included (s).
    rto_s: float | None
    #: The state of the sender's aid; ``None`` without one.
    aid_state: str | None
    #: The variables of the sender's TCP.
    view: View | None


class Simulation:
    """A run that is advanced to a time or by one event, and inspected in between, which does not change its result.

    >>> simulation = Simulation(scenario, seed=1)          # doctest: +SKIP
    >>> while simulation.run_until(simulation.now_s + 1):   # doctest: +SKIP
    ...     print(simulation.now_s, simulation.flow(0).delivered_bytes)
    """

    def __init__(self, scenario: Scenario, seed: int = 1) -> None:
        if not isinstance(scenario, Scenario):
            raise TypeError(f"scenario: expected what dw.load returns, found {type(scenario).__name__}")
        self._scenario = scenario.copy()
        self._seed = to_whole("seed", seed)
        self._native = _driftway.Simulation(scenario._native, self._seed)

    def step(self) -> bool:
        """Handle the next event; return false when the run is over."""
        return self._native.step()

    def run_until(self, time_s: float) -> bool:
        """Handle all events up to and including ``time_s`` (s); return false when the run is over."""
        return self._native.run_until(to_seconds("time_s", time_s))

    @property
    def now_s(self) -> float:
        """The simulated time (s)."""
        return self._native.now_s

    @property
    def nodes(self) -> int:
        """The number of nodes, which are numbered from 0."""
        return self._native.nodes

    @property
    def flows(self) -> int:
        """The number of flows, which are numbered from 0."""
        return self._native.flows

    def flow(self, flow: int) -> FlowState:
        """Return the present state of a flow."""
        return FlowState(**self._native.flow(_number("flow", flow)))

    def queue_length(self, node: int) -> int:
        """Return the number of packets in the interface queues of a node."""
        return self._native.queue_length(_number("node", node))

    def position(self, node: int) -> tuple[float, float] | None:
        """Return the position of a node (m); ``None`` without a radio."""
        return self._native.position(_number("node", node))

    def route(self, source: int, destination: int) -> list[int] | None:
        """Return the nodes of the present route, both ends included; ``None`` if there is none."""
        return self._native.route(_number("source", source), _number("destination", destination))

    def finish(self) -> Results:
        """Stop now, and return the results so far. The simulation is over then."""
        return Results(self._scenario, self._native.finish(), {})

    def __repr__(self) -> str:
        return f"<Simulation of {self._scenario.name!r}, seed {self._seed}>"


def _number(what: str, number: int) -> int:
    return to_whole(what, number, most=2**32 - 1)
