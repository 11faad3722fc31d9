"""Aids and metrics in Python."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

import aids
import driftway as dw
import polars
import pytest
from conftest import ROOT, SMALL, command
from polars.testing import assert_frame_equal

DISCONNECTIONS = ROOT / "scenarios/disconnections.toml"


def events_of(set: dict[str, Any]) -> tuple[polars.DataFrame, dict[str, Any]]:
    results = dw.load(DISCONNECTIONS, set).run(seeds=[1], events=True, progress=False)
    assert results.events is not None
    return results.events.to_polars(), results.runs.to_dict()


@pytest.mark.parametrize("place", ["flow.2.receiver_aid", "flow.0.aid"])
def test_three_dupacks_in_python_are_those_of_rust_event_by_event(place: str) -> None:
    base = {"duration": "90 s", "network.link.rate": "1 Mbit/s", place: "three-dupacks"}
    expected, runs = events_of(base)
    found, same = events_of({**base, place: "python-dupacks"})
    assert_frame_equal(found, expected)
    assert same["fingerprint"] == runs["fingerprint"]
    states = found.filter((polars.col("layer") == "aid") & polars.col("reason").is_in(["connected", "disconnected"]))
    assert place != "flow.0.aid" or len(states) > 2, "the aid must have something to do"
    none, _ = events_of({**base, place: "none"})
    assert not none.equals(expected)


def test_only_methods_that_exist_are_called() -> None:
    calls: list[str] = []

    @dw.aid("counting")
    class Counting:
        def on_up(self, segment: dw.Segment) -> None:
            calls.append(f"{segment.flags}")

        def on_timeout(self) -> None:
            calls.append("timeout")

    plain = dw.loads(SMALL).run(seeds=[1], progress=False)
    counted = dw.loads(SMALL, {"flow.0.aid": "counting"}).run(seeds=[1], progress=False)
    assert calls and "timeout" not in calls
    assert counted.runs.column("fingerprint") == plain.runs.column("fingerprint")
    assert counted.flows.column("aid") == ["counting"]


def test_timers_acts_and_verdicts() -> None:
    seen: list[tuple[str, Any]] = []

    @dw.aid("busy")
    class Busy:
        def __init__(self) -> None:
            self.started = False

        def on_down(self, segment: dw.Segment) -> str | None:
            if not self.started:
                self.started = True
                self.limit_cwnd(3000)
                self.hold(probe_first_s=0.1, probe_max_s=0.2, timers="freeze", release="resume")
                self.set_timer(0.75)
                self.state = "holding"
            return None

        def on_timeout(self) -> None:
            seen.append(("timeout", self.now_s))
            self.state = "open"
            self.resume(cwnd_bytes="initial", rto_s=1.5)
            self.set_timeout_response(retransmit="oldest", keep_rto=True)

        def on_done(self, act: str, done: bool) -> None:
            seen.append((act, done))

    scenario = dw.loads(SMALL, {"flow.0.aid": "busy"})
    results = scenario.run(seeds=[1], events=True, progress=False)
    assert [of for of in seen if of[0] != "timeout"] == [
        ("limit_cwnd", True), ("hold", True), ("resume", True), ("set_timeout_response", True)
    ]  # fmt: skip
    assert results.events is not None
    rows = [row for row in results.events.rows() if row["layer"] == "aid"]
    assert [row["reason"] for row in rows] == ["initial", "holding", "open"]
    assert rows[2]["time_s"] == pytest.approx(rows[1]["time_s"] + 0.75)
    plain = dw.loads(SMALL).run(seeds=[1], progress=False)
    assert plain.runs.column("fingerprint") != results.runs.column("fingerprint")

    @dw.aid("deaf")
    class Deaf:
        def on_up(self, segment: dw.Segment) -> str:
            return "drop" if segment.payload_bytes == 0 else "pass"

    flow = dw.loads(SMALL, {"flow.0.aid": "deaf"}).run(seeds=[1], progress=False).flows
    assert flow.column("outcome") != ["complete"]

    @dw.aid("narrow")
    class Narrow:
        def on_up(self, segment: dw.Segment) -> dw.Segment:
            return segment.replace(window=segment.window // 8)

    slow = dw.loads(SMALL, {"flow.0.aid": "narrow"}).run(seeds=[1], progress=False)
    assert slow.runs.column("fingerprint") != plain.runs.column("fingerprint")


@pytest.mark.parametrize("jobs", [None, 2])
def test_an_exception_ends_the_run_with_its_traceback_and_the_time(jobs: int | None) -> None:
    @dw.aid("faulty")
    class Faulty:
        def on_up(self, segment: dw.Segment) -> None:
            if self.now_s > 0.5:  # type: ignore[attr-defined]
                raise ZeroDivisionError("my mistake")

    scenario = dw.loads(SMALL, {"flow.0.aid": "faulty"})
    with pytest.raises(dw.RunError, match="the aid `faulty` of flow 0 .sender. has raised ZeroDivisionError") as error:
        scenario.run(seeds=[3, 4], jobs=jobs, progress=False)
    assert error.value.seed in (3, 4) and error.value.time_s is not None
    assert 0.5 < error.value.time_s < 2 and f"{error.value.time_s:.9f} s" in str(error.value)
    cause = error.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert "on_up" in "".join(traceback.format_exception(cause))

    simulation = dw.Simulation(scenario, seed=3)
    with pytest.raises(dw.RunError, match="my mistake"):
        simulation.run_until(10)

    with pytest.raises(dw.RunError, match="my mistake"):
        dw.sweep(dw.loads(SMALL), {"flow.0.aid": ["none", "faulty"]}, runs=1, jobs=jobs, progress=False)

    @dw.aid("unborn")
    class Unborn:
        def __init__(self) -> None:
            raise OSError("no file")

    with pytest.raises(dw.RunError, match="no file"):
        dw.loads(SMALL, {"flow.0.aid": "unborn"}).run(seeds=[1], progress=False)

    @dw.aid("talking")
    class Talking:
        def on_up(self, segment: dw.Segment) -> str:
            return "later"

    with pytest.raises(dw.RunError, match="on_down and on_up return"):
        dw.loads(SMALL, {"flow.0.aid": "talking"}).run(seeds=[1], progress=False)

    @dw.aid("wordy")
    class Wordy:
        def on_up(self, segment: dw.Segment) -> None:
            self.hold(timers="sometimes")  # type: ignore[attr-defined]

    with pytest.raises(dw.RunError, match='timers: "sometimes" is none of "stop", "freeze"'):
        dw.loads(SMALL, {"flow.0.aid": "wordy"}).run(seeds=[1], progress=False)


def test_names_are_those_of_scenarios() -> None:
    class Empty:
        pass

    with pytest.raises(TypeError, match="nobody calls this"):

        @dw.aid("misspelt")
        class Misspelt:
            def on_singal(self) -> None:
                pass

    for name in ("atcp", "two words"):
        dw.aid(name)(Empty)
        try:
            with pytest.raises(dw.ScenarioError, match="the aid `"):
                dw.loads(SMALL)
        finally:
            del dw._aids._declared[name]
    with pytest.raises(dw.ScenarioError, match="no-such-aid"):
        dw.loads(SMALL, {"flow.0.aid": "no-such-aid"})
    with pytest.raises(TypeError, match="a name is missing"):
        dw.aid(Empty)


def test_a_cell_that_is_run_again_replaces_the_class() -> None:
    def declare(drops: bool) -> None:
        @dw.aid("again")
        class Again:
            def on_up(self, segment: dw.Segment) -> str | None:
                return "drop" if drops and segment.payload_bytes == 0 else None

    declare(False)
    assert dw.loads(SMALL, {"flow.0.aid": "again"}).run(seeds=[1], progress=False).flows.column("outcome") == ["complete"]
    declare(True)
    assert dw.loads(SMALL, {"flow.0.aid": "again"}).run(seeds=[1], progress=False).flows.column("outcome") != ["complete"]


def test_a_scenario_with_an_aid_in_python_can_be_pickled_where_it_is_declared() -> None:
    scenario = dw.load(DISCONNECTIONS, {"flow.0.aid": "python-dupacks"})
    assert pickle.loads(pickle.dumps(scenario)).digest == scenario.digest
    declared = dw._aids._declared.pop("python-dupacks")
    try:
        with pytest.raises(dw.ScenarioError, match="python-dupacks"):
            pickle.loads(pickle.dumps(scenario))
    finally:
        dw._aids._declared["python-dupacks"] = declared


def test_an_aid_in_python_takes_part_in_sweeps_and_is_not_cached() -> None:
    made: list[int] = []

    @dw.aid("noting")
    class Noting:
        def __init__(self) -> None:
            made.append(1)

    def swept() -> list[str]:
        results = dw.sweep(
            dw.loads(SMALL),
            {"flow.0.aid": ["none", "noting"], "network.link.delay": ["5 ms", "20 ms"]},
            runs=2,
            progress=False,
        )
        return results.runs.column("fingerprint")

    first = swept()
    count = len(made)
    assert first == swept() and count > 0 and len(made) == 2 * count
    assert first[:4] == first[4:]


def test_a_congestion_control_in_python_is_reno_where_it_has_no_methods() -> None:
    lossy = {"flow.0.application": {"transfer": "500 kB"}, "flow.0.tcp": {"recovery": "sack"}, "duration": "200 s"}
    times: list[float] = []

    @dw.growth("plain")
    class Plain:
        pass

    @dw.growth("gentle")
    class Gentle:
        """Keeps nine tenths of the window after a loss."""

        def on_ack(self, acked: dw.Acked) -> None:
            times.append(self.now_s)  # type: ignore[attr-defined]
            if self.slow_start(acked) is not None:  # type: ignore[attr-defined]
                self.cwnd_bytes += max(acked.mss_bytes**2 // self.cwnd_bytes, 1)  # type: ignore[attr-defined, has-type]

        def on_loss(self, flight_size_bytes: int, mss_bytes: int) -> int:
            return flight_size_bytes * 9 // 10

    def run(growth: str) -> dw.Table:
        return dw.loads(SMALL, {**lossy, "flow.0.tcp.growth": growth}).run(seeds=[1, 2], progress=False).flows

    plain, gentle = run("plain"), run("gentle")
    assert plain.column("delivered_bytes") == [500_000] * 2
    assert gentle.column("completion_s") < plain.column("completion_s") and times
    reno = dw.loads(SMALL, {**lossy, "flow.0.tcp.growth": "reno"}).run(seeds=[1, 2], progress=False).flows
    assert plain.column("completion_s") == reno.column("completion_s")

    @dw.growth("lost")
    class Lost:
        def on_loss(self, flight_size_bytes: int, mss_bytes: int) -> int:
            raise LookupError("no window")

    with pytest.raises(dw.RunError, match="the congestion control `lost` has raised LookupError"):
        run("lost")


def test_metrics_are_columns_of_runs() -> None:
    @dw.metric("longest_gap_s")
    def longest_gap(events: dw.Events) -> float | None:
        """The longest time without a delivery (s)."""
        times = [row["time_s"] for row in events.rows() if row["layer"] == "tcp" and row["event"] == "delivered"]
        return max((b - a for a, b in zip(times, times[1:], strict=False)), default=None)

    results = dw.loads(SMALL).run(seeds=[1, 2], metrics=[longest_gap], progress=False)
    values = results.runs.column("longest_gap_s")
    assert len(values) == 2 and all(0 < value < 20 for value in values)
    assert results.runs.meanings()["longest_gap_s"] == "The longest time without a delivery (s)."
    assert results.events is None
    assert pickle.loads(pickle.dumps(results)).runs.column("longest_gap_s") == values
    summary = results.summary()
    row = summary.column("metric").index("longest_gap_s")
    assert summary.column("mean")[row] == sum(values) / 2 and summary.column("n")[row] == 2

    @dw.metric("broken")
    def broken(events: dw.Events) -> float:
        raise LookupError("nothing there")

    with pytest.raises(dw.RunError, match="the metric `broken` has raised LookupError"):
        dw.loads(SMALL).run(seeds=[1], metrics=["broken"], progress=False)
    with pytest.raises(ValueError, match="letters, digits"):
        dw.metric("two words")


def test_the_command_does_not_know_aids_in_python() -> None:
    assert aids.ThreeDupacks.COPIES == 3
    message = command("check", DISCONNECTIONS, "--set", "flow.0.aid=python-dupacks", status=2)
    assert "python-dupacks" in message
