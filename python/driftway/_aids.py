"""Aids, congestion controls and metrics of one's own."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from driftway import _driftway
from driftway._driftway import Aid, Growth
from driftway._options import Option, options_of

#: The methods that the simulator calls.
EVENTS = ("on_down", "on_up", "on_signal", "on_timeout", "on_done", "on_closed")

#: Those of a congestion control.
GROWTH_EVENTS = ("on_ack", "on_loss", "on_timeout", "on_undo")

_declared: dict[str, tuple[str, type, list[Option]]] = {}
_growths: dict[str, tuple[str, type, list[Option]]] = {}

Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])


def aid(name: str) -> Callable[[Class], Class]:
    """Declare a class as an aid, which scenarios name like a built-in one (``flow.0.aid = "mine"``).

    The class has any of these methods; those that it does not have are not called:

    - ``on_down(segment)``: TCP sends a segment;
    - ``on_up(segment)``: a segment arrives for TCP;
    - ``on_signal(signal)``: the network or the host reports an event;
    - ``on_timeout()``: the timer of ``set_timer`` has expired;
    - ``on_done(act, done)``: the name of an act, and whether it was performed;
    - ``on_closed()``: the connection is closed; its timer and acts are void.

    ``on_down`` and ``on_up`` return ``None`` to pass the segment, ``"drop"``, ``"hold"`` (it is offered again with the next
    segment or timeout), or another segment in its place. The base class ``Aid`` has the acts as methods, and what the aid
    sees: ``now_s``, ``view``, ``flow``, ``end``. Each connection and end has an object of its own. As the built-in aids it
    sees the events of established connections only.

    The parameters of ``__init__`` are its options, which a scenario gives by their names (``aid = { name = "mine", copies =
    2 }``) and checks by their defaults: true or false; a whole number; a number; a time such as ``"2 s"`` if the name ends
    in ``_s`` (the class gets seconds), a distance if it ends in ``_m``; one of several words with ``Literal["a", "b"]``.

    Declaring a name again replaces the class, for scenarios that are loaded later. Runs with aids in Python are not cached.

    >>> @aid("quiet")
    ... class Quiet:
    ...     "Waits while the destination is unreachable."
    ...     def __init__(self, probe_s=2.0):
    ...         self.probe_s = probe_s
    ...     def on_signal(self, signal):
    ...         if signal.kind == "unreachable":
    ...             self.hold(probe_first_s=self.probe_s, rewind_snd_nxt=True)
    """

    def add(summary: str, cls: type) -> None:
        _declared[name] = (summary, cls, options_of(cls))

    return _declare("aid", name, Aid, EVENTS, add)


def growth(name: str) -> Callable[[Class], Class]:
    """Declare a class as a congestion control, which scenarios name as ``flow.0.tcp.growth``.

    The class has any of these methods; in place of the others is Reno:

    - ``on_ack(acked)``: an acknowledgment outside of loss recovery; it sets ``self.cwnd_bytes``;
    - ``on_loss(flight_size_bytes, mss_bytes)``: returns the new slow-start threshold (bytes);
    - ``on_timeout()``: the last loss was a retransmission timeout;
    - ``on_undo()``: the last reduction is undone.

    The base class ``Growth`` has the window, and ``slow_start``. Each connection has an object of its own. Such a control
    combines with the loss recoveries newreno, sack and rack-tlp. The parameters of ``__init__`` are its options, as those of
    an ``aid``: ``growth = { name = "gentle", kept = 0.9 }``.

    >>> @growth("gentle")
    ... class Gentle:
    ...     "Keeps a part of the window after a loss."
    ...     def __init__(self, kept=0.75):
    ...         self.kept = kept
    ...     def on_loss(self, flight_size_bytes, mss_bytes):
    ...         return int(flight_size_bytes * self.kept)
    """

    def add(summary: str, cls: type) -> None:
        _growths[name] = (summary, cls, options_of(cls))

    return _declare("growth", name, Growth, GROWTH_EVENTS, add)


def _declare(
    what: str, name: str, base: type, events: tuple[str, ...], add: Callable[[str, type], None]
) -> Callable[[Class], Class]:
    if not isinstance(name, str):
        raise TypeError(f'{what}: a name is missing: @dw.{what}("mine")')

    def declare(cls: Class) -> Class:
        if not inspect.isclass(cls):
            raise TypeError(f"@dw.{what}({name!r}): expected a class, found {type(cls).__name__}")
        strange = [of for of in vars(cls) if of.startswith("on_") and of not in events]
        if strange:
            raise TypeError(f"{cls.__name__}.{strange[0]}: nobody calls this; the events are {', '.join(events)}")
        summary = (cls.__doc__ or f"{cls.__name__}, in Python.").strip().splitlines()[0]
        if not issubclass(cls, base):
            names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
            cls = type(cls.__name__, (cls, base), names)  # type: ignore[assignment]
        # A name that is not valid, or that is built in, is found when a scenario is loaded.
        add(summary, cls)
        return cls

    return declare


def registry() -> _driftway.Registry:
    """Return what is declared."""
    entries = ([(name, *of) for name, of in declared.items()] for declared in (_declared, _growths))
    return _driftway.Registry(*entries)


@dataclasses.dataclass(frozen=True)
class Metric:
    """A declared metric."""

    name: str
    meaning: str
    function: Callable[..., Any]

    declared: ClassVar[dict[str, Metric]] = {}

    @classmethod
    def find(cls, what: Callable[..., Any] | str) -> Metric:
        """Return the metric of a function or a name."""
        for known in cls.declared.values():
            if what == known.name or what is known.function:
                return known
        shown = what if isinstance(what, str) else getattr(what, "__name__", repr(what))
        names = ", ".join(cls.declared) or "none"
        raise ValueError(f"metrics: there is no metric {shown}; declare it by @dw.metric(NAME); declared are: {names}")


def metric(name: str) -> Callable[[Function], Function]:
    """Declare a function of the events of a run as a metric: a number, or ``None`` where it has no value.

    ``Scenario.run(metrics=[…])`` calls it with the ``Events`` of each run, and puts the value in a column of this name. The
    name ends with the unit.

    >>> @metric("longest_gap_s")
    ... def longest_gap(events):
    ...     "The longest time without a delivery (s)."
    ...     times = [row["time_s"] for row in events.rows() if row["event"] == "delivered"]
    ...     return max((b - a for a, b in zip(times, times[1:])), default=None)
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a metric has a name of letters, digits and underscores, and not {name!r}")

    def declare(function: Function) -> Function:
        meaning = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
        Metric.declared[name] = Metric(name, meaning, function)
        return function

    return declare
