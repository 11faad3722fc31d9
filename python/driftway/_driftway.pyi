"""Types of the extension module, which the package wraps."""

from collections.abc import Callable, Iterator
from typing import Any, final

def version() -> str: ...
def paper_names() -> list[str]: ...
def run_task(task: Task) -> bytes: ...
def estimate(values: list[float]) -> dict[str, Any] | None: ...
def replay_page(
    title: str, runs: list[tuple[Results, str, int]], from_s: float, to_s: float | None
) -> tuple[str, list[str]]: ...

@final
class Table:
    """A table of columns, which polars, pandas and DuckDB read without copying (Arrow's PyCapsule interface)."""

    @staticmethod
    def from_columns(columns: dict[str, list[Any]]) -> Table: ...
    def with_column(self, name: str, values: list[Any], meaning: str) -> Table: ...
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    def meanings(self) -> dict[str, str | None]:
        """The meaning of each column, with its unit."""
    def column(self, name: str) -> list[Any]:
        """The values of a column; ``None`` where there is none."""
    def head(self, rows: int) -> Table:
        """The first rows."""
    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists, by their names."""
    def to_polars(self) -> Any:
        """The table as a ``polars.DataFrame``."""
    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``; needs pyarrow."""
    def _repr_html_(self) -> str: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Events:
    """Event logs of runs, a row for each event. The rows are in files; one batch at a time is in memory."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    @property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
    def meanings(self) -> dict[str, str | None]:
        """The meaning of each column, with its unit."""
    def batches(self) -> Iterator[Table]:
        """The rows as tables of at most 65,536."""
    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dicts."""
    def to_polars(self) -> Any:
        """All rows as a ``polars.DataFrame``, in memory."""
    def to_pandas(self) -> Any:
        """All rows as a ``pandas.DataFrame``, in memory; needs pyarrow."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class View:
    """The variables of a connection at one moment; ``None`` where a value is not known."""

    @property
    def is_synchronized(self) -> bool:
        """Whether the connection is established, or in a later state."""
    @property
    def mss_bytes(self) -> int | None:
        """The largest payload of a segment (bytes)."""
    @property
    def snd_una(self) -> int | None:
        """SND.UNA: the oldest unacknowledged sequence number."""
    @property
    def snd_nxt(self) -> int | None:
        """SND.NXT: the next sequence number to send."""
    @property
    def snd_max(self) -> int | None:
        """SND.MAX: one past the highest sequence number ever sent."""
    @property
    def rcv_nxt(self) -> int | None:
        """RCV.NXT: the next sequence number expected from the peer."""
    @property
    def cwnd_bytes(self) -> int | None:
        """The congestion window (bytes)."""
    @property
    def ssthresh_bytes(self) -> int | None:
        """The slow-start threshold (bytes)."""
    @property
    def peer_window_bytes(self) -> int | None:
        """The peer's receive window as TCP sees it (bytes)."""
    @property
    def advertised_window_bytes(self) -> int | None:
        """The receive window that is advertised (bytes)."""
    @property
    def rto_s(self) -> float | None:
        """The retransmission timeout without back-off (s)."""
    @property
    def srtt_s(self) -> float | None:
        """The smoothed round-trip time (s)."""
    @property
    def retransmission_deadline_s(self) -> float | None:
        """The time at which the retransmission timer expires (s); ``None`` while it is stopped."""
    @property
    def recovery(self) -> str | None:
        """The state of loss recovery: ``"open"``, ``"recovery"`` or ``"loss"``."""
    @property
    def is_persisting(self) -> bool | None:
        """Whether the sender sends only window probes."""
    @property
    def is_ecn_negotiated(self) -> bool | None:
        """Whether ECN was negotiated."""
    @property
    def outstanding(self) -> tuple[int, int] | None:
        """The sequence numbers that are sent and not acknowledged: the first, and one past the last."""

@final
class Segment:
    """A segment between TCP and IP."""

    @property
    def seq(self) -> int:
        """The sequence number of the first byte."""
    @property
    def end(self) -> int:
        """One past the last sequence number."""
    @property
    def ack(self) -> int | None:
        """The acknowledgment number; ``None`` without one."""
    @property
    def payload_bytes(self) -> int:
        """The payload (bytes)."""
    @property
    def sequence_length(self) -> int:
        """The number of sequence numbers: those of the payload, of SYN and of FIN."""
    @property
    def window(self) -> int:
        """The window field of the header, without scaling."""
    @property
    def flags(self) -> list[str]:
        """The control bits that are set, such as ``["PSH", "ACK"]``."""
    def replace(self, *, ack: int | None = None, window: int | None = None) -> Segment:
        """This segment with other values in its header."""

@final
class Signal:
    """A network event that TCP itself does not observe."""

    @property
    def kind(self) -> str:
        """``"unreachable"``, ``"source-quench"``, ``"ecn-echo"``, ``"route-failed"``, ``"route-restored"``,
        ``"packet-lost"``, ``"route-discovery"``, ``"link-up"``, ``"link-down"`` or ``"link-fading"``."""
    @property
    def scope(self) -> str | None:
        """What is unreachable, ``"net"`` or ``"host"``."""
    @property
    def seq(self) -> int | None:
        """The first sequence number of the packet that is quoted."""
    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The sequence ranges of lost packets, each as first and one past the last."""
    @property
    def is_salvaged(self) -> bool | None:
        """Whether lost packets go on over another route."""
    @property
    def expected_lifetime_s(self) -> float | None:
        """The estimated time until a link fails (s)."""

class Aid:
    """The base class of aids, which ``driftway.aid`` adds to a class: what an aid sees, and its acts.

    Acts are performed in their order after the method has returned.
    """

    #: The name of the state, for event logs and traces.
    state: str
    #: Whether the aid considers the connection disconnected; results count this time.
    is_disconnected: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def now_s(self) -> float:
        """The simulated time of the event (s)."""
    @property
    def now_ns(self) -> int:
        """The simulated time of the event (ns)."""
    @property
    def view(self) -> View:
        """The connection at the event."""
    @property
    def flow(self) -> int:
        """The flow, by its index in the scenario, from 0."""
    @property
    def end(self) -> str:
        """The end of the connection: ``"sender"``, ``"receiver"``, ``"wireless-leg"`` or ``"wired-leg"``."""
    def set_timer(self, delay_s: float) -> None:
        """Call ``on_timeout`` after this time (s), in place of an earlier one."""
    def cancel_timer(self) -> None:
        """Stop the timer."""
    def hold(
        self,
        *,
        probe_first_s: float | None = None,
        probe_max_s: float | None = None,
        probe_segment: bool = False,
        rewind_snd_nxt: bool = False,
        timers: str = "stop",
        cwnd_bytes: int | str | None = None,
        release: str = "any-ack",
    ) -> None:
        """Make TCP send nothing but probes.

        Args:
            probe_first_s: time to the first probe (s); ``None``: no probes.
            probe_max_s: longest time between two probes (s), up to which it doubles.
            probe_segment: a probe is a segment, not a byte.
            rewind_snd_nxt: transmission restarts at SND.UNA.
            timers: ``"stop"``, ``"freeze"`` or ``"keep-retransmission"``.
            cwnd_bytes: the congestion window at the end of the hold (bytes), or ``"initial"``.
            release: what ends it, ``"any-ack"`` or ``"resume"``.
        """
    def resume(
        self, *, cwnd_bytes: int | str | None = None, ssthresh_bytes: int | str | None = None, rto_s: float | None = None
    ) -> None:
        """End a hold, and set variables of TCP (bytes, or ``"initial"``; s)."""
    def resend(self, start: int, end: int, *, ahead_of_queue: bool = False) -> None:
        """Retransmit the sequence numbers from ``start`` to before ``end``, as far as they are outstanding."""
    def undo(self) -> None:
        """Restore the window and the threshold to their values before the last reduction."""
    def reduce_cwnd(self) -> None:
        """Perform the response to congestion now."""
    def set_timeout_response(
        self,
        *,
        keep_rto: bool = False,
        retransmit: str = "loss-recovery",
        cwnd_bytes: int | str | None = None,
        ssthresh_bytes: int | str | None = None,
    ) -> None:
        """Set what the next retransmission timeout does; ``retransmit``: ``"loss-recovery"``, ``"oldest"``,
        ``"newest"`` or ``"nothing"``."""
    def limit_cwnd(self, cwnd_bytes: int | None) -> None:
        """Limit the amount of outstanding data (bytes); ``None``: no limit."""
    def send_acks(self, copies: int = 1, *, ack: int | None = None, window_bytes: int | None = None) -> None:
        """Send acknowledgments to the peer: of RCV.NXT, with the largest window, unless others are given."""
    def probe_route(self, how: str) -> None:
        """Probe the route to the peer: ``"repeated"``, ``"single"`` or ``"off"``."""

@final
class Acked:
    """An acknowledgment that may change the window of a congestion control."""

    @property
    def bytes(self) -> int:
        """The bytes by which the window may grow."""
    @property
    def mss_bytes(self) -> int:
        """The segment size (bytes)."""
    @property
    def srtt_s(self) -> float | None:
        """The smoothed round-trip time (s); ``None`` before it is measured."""
    @property
    def rtt_s(self) -> float | None:
        """The round-trip time of the newest segment that it delivers (s); ``None`` if it is not known."""
    @property
    def is_cwnd_limited(self) -> bool:
        """Whether sending was limited by the window, and not by the application or the peer."""
    @property
    def in_flight_bytes(self) -> int:
        """The bytes in the network after it."""
    @property
    def lost_bytes(self) -> int:
        """The bytes that it has shown to be lost."""

class Growth:
    """The base class of congestion controls, which ``driftway.growth`` adds to a class."""

    #: The congestion window (bytes), which ``on_ack`` may set.
    cwnd_bytes: int
    #: The slow-start threshold (bytes).
    ssthresh_bytes: int

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def now_s(self) -> float:
        """The simulated time of the event (s)."""
    def slow_start(self, acked: Acked) -> int | None:
        """Grow the window as in slow start, and return the bytes that are left for congestion avoidance.

        ``None`` in slow start.
        """

@final
class Registry:
    def __init__(
        self,
        aids: list[tuple[str, str, type, list[tuple[str, str, Any, list[str]]]]],
        growths: list[tuple[str, str, type, list[tuple[str, str, Any, list[str]]]]],
    ) -> None: ...

@final
class Scenario:
    @staticmethod
    def load(path: str, set: list[tuple[str, str]], registry: Registry) -> Scenario: ...
    @staticmethod
    def parse(name: str, text: str, set: list[tuple[str, str]], registry: Registry) -> Scenario: ...
    @property
    def text(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def assignments(self) -> list[tuple[str, str]]: ...
    @property
    def name(self) -> str: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def digest(self) -> str: ...
    @property
    def has_python_items(self) -> bool: ...
    def to_toml(self, documented: bool) -> str: ...
    def run(
        self,
        seeds: list[int],
        jobs: int | None,
        step: str | None,
        events: bool,
        metrics: list[tuple[str, Callable[..., Any]]],
        on_progress: Callable[[int], None] | None,
    ) -> Results: ...

@final
class Results:
    def runs(self) -> Table: ...
    def flows(self) -> Table: ...
    def steps(self) -> Table | None: ...
    def events(self) -> Events | None: ...
    def metrics(self) -> list[tuple[str, list[float | None]]]: ...
    def to_json(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(scenario: Scenario, content: bytes) -> Results: ...
    def __len__(self) -> int: ...

@final
class Simulation:
    def __init__(self, scenario: Scenario, seed: int) -> None: ...
    def step(self) -> bool: ...
    def run_until(self, time_s: float) -> bool: ...
    @property
    def now_s(self) -> float: ...
    @property
    def nodes(self) -> int: ...
    @property
    def flows(self) -> int: ...
    def queue_length(self, node: int) -> int: ...
    def position(self, node: int) -> tuple[float, float] | None: ...
    def route(self, source: int, destination: int) -> list[int] | None: ...
    def flow(self, flow: int) -> dict[str, Any]: ...
    def finish(self) -> Results: ...

@final
class Task:
    @property
    def key(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def seed(self) -> int: ...

@final
class Study:
    @staticmethod
    def load(
        file: Any, set: list[tuple[str, str]], figures: list[str], runs: int | None, quick: bool, registry: Registry
    ) -> Study: ...
    @staticmethod
    def paper(name: str, figures: list[str], runs: int | None, quick: bool, registry: Registry) -> Study: ...
    @staticmethod
    def vary(
        file: Any,
        vary: list[tuple[list[str], list[list[str]]]],
        set: list[tuple[str, str]],
        metrics: list[str],
        runs: int | None,
        step: str | None,
        quick: bool,
        registry: Registry,
    ) -> Study: ...
    @property
    def run_count(self) -> int: ...
    @property
    def has_python_items(self) -> bool: ...
    def tasks(self, cache: Any, fresh: bool) -> list[Task]: ...
    def store(self, task: Task, record: bytes, cache: Any) -> None: ...
    def run(
        self,
        jobs: int | None,
        fresh: bool,
        cache: Any,
        metrics: list[tuple[str, Callable[..., Any]]],
        on_progress: Callable[[int], None] | None,
    ) -> StudyResults: ...

@final
class StudyResults:
    def metrics(self) -> list[tuple[str, list[tuple[str, int, float | None]]]]: ...
    def table(self, name: str) -> Table | None: ...
    def to_json(self) -> str: ...
