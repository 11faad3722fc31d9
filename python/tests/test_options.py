"""Options of aids in Python."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import driftway as dw
import pytest
from conftest import SMALL

got: list[dict[str, Any]] = []


@dw.aid("optional")
class Optional:
    """An aid with an option of each kind."""

    def __init__(
        self,
        wait_s: float = 0.5,
        copies: int = 3,
        share: float = 0.5,
        radius_m: float = 250.0,
        eager: bool = False,
        mode: Literal["slow", "fast"] = "slow",
    ) -> None:
        got.append({"wait_s": wait_s, "copies": copies, "share": share, "radius_m": radius_m, "eager": eager, "mode": mode})


DEFAULTS = {"wait_s": 0.5, "copies": 3, "share": 0.5, "radius_m": 250.0, "eager": False, "mode": "slow"}


def run(aid: Any) -> dict[str, Any]:
    got.clear()
    dw.loads(SMALL, {"flow.0.aid": aid, "duration": "1 s"}).run(seeds=[1], progress=False)
    assert len(got) == 1
    return got[0]


def test_options_of_a_scenario_are_keyword_arguments() -> None:
    assert run("optional") == DEFAULTS
    given = {"wait_s": "20 ms", "copies": 7, "share": -1.5, "radius_m": "1 km", "eager": True, "mode": "fast"}
    found = run({"name": "optional", **given})
    assert found == {**given, "wait_s": 0.02, "radius_m": 1000.0}
    assert [type(value) for value in found.values()] == [type(value) for value in DEFAULTS.values()]
    scenario = dw.loads(SMALL, {"flow.0.aid": {"name": "optional", "copies": 7}})
    assert scenario.get("flow.0.aid.copies") == 7 and scenario.get("flow.0.aid.wait_s") == "500 ms"
    assert dw.loads(scenario.to_toml()).digest == scenario.digest != dw.loads(SMALL, {"flow.0.aid": "optional"}).digest


def test_sweeps_vary_options() -> None:
    got.clear()
    dw.sweep(
        dw.loads(SMALL, {"flow.0.aid": "optional", "duration": "1 s"}),
        {"flow.0.aid.copies": [1, 2, 5]}, runs=1, progress=False,
    )  # fmt: skip
    assert [of["copies"] for of in got] == [1, 2, 5]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"copie": 7}, "unknown key `copie`\nhelp: did you mean `copies`"),
        ({"copies": -1}, "whole number"),
        ({"copies": 2**32}, "out of range"),
        ({"copies": "many"}, "flow.0.aid"),
        ({"wait_s": 2}, "flow.0.aid"),
        ({"radius_m": "3 s"}, "flow.0.aid"),
        ({"eager": 1}, "flow.0.aid"),
        ({"mode": "fastest"}, "did you mean `fast`"),
    ],
)
def test_wrong_options_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(dw.ScenarioError, match=message):
        dw.loads(SMALL, {"flow.0.aid": {"name": "optional", **given}})


def test_a_dataclass_declares_its_fields() -> None:
    made: list[int] = []

    @dw.aid("fields")
    @dataclasses.dataclass
    class Fields:
        limit_bytes: int = 3000

        def on_down(self, segment: dw.Segment) -> None:
            if not made:
                self.limit_cwnd(self.limit_bytes)  # type: ignore[attr-defined]
            made.append(self.limit_bytes)

    dw.loads(SMALL, {"flow.0.aid": {"name": "fields", "limit_bytes": 2000}}).run(seeds=[1], progress=False)
    assert made[0] == 2000


def test_parameters_that_a_scenario_cannot_give_are_refused() -> None:
    def without_default(self: Any, wait_s: float) -> None: ...
    def no_value(self: Any, wait_s: Any = None) -> None: ...
    def a_list(self: Any, waits: Any = (1, 2)) -> None: ...
    def endless(self: Any, share: float = float("inf")) -> None: ...
    def early(self: Any, wait_s: float = -1.0) -> None: ...
    def negative(self: Any, copies: int = -1) -> None: ...
    def without_words(self: Any, mode: str = "fast") -> None: ...
    def by_place(self: Any, copies: int = 1, /) -> None: ...

    for init, message in [
        (without_default, "needs a default"),
        (no_value, "expected a number"),
        (a_list, "expected a number"),
        (endless, "expected a number"),
        (early, "less than 0"),
        (negative, "write -1.0"),
        (without_words, r"Literal\['fast', …\]"),
        (by_place, "positional-only"),
    ]:
        with pytest.raises(TypeError, match=message):
            dw.aid("refused")(type("Refused", (), {"__init__": init}))
    assert "refused" not in dw._aids._declared

    def named(self: Any, name: int = 1) -> None: ...

    dw.aid("refused")(type("Refused", (), {"__init__": named}))
    try:
        with pytest.raises(dw.ScenarioError, match="cannot have the option `name`"):
            dw.loads(SMALL)
    finally:
        del dw._aids._declared["refused"]


def test_congestion_controls_have_options_as_aids_have() -> None:
    made: list[float] = []

    @dw.growth("keeping")
    class Keeping:
        """Keeps a part of the window after a loss."""

        def __init__(self, kept: float = 0.5, patience_s: float = 1.0) -> None:
            made.append(patience_s)
            self.kept = kept

        def on_loss(self, flight_size_bytes: int, mss_bytes: int) -> int:
            return int(flight_size_bytes * self.kept)

    def scenario(growth: Any) -> dw.Scenario:
        long = {"flow.0.application": {"transfer": "500 kB"}, "duration": "200 s"}
        return dw.loads(SMALL, {**long, "flow.0.tcp": {"recovery": "sack"}, "flow.0.tcp.growth": growth})

    def completion(growth: Any) -> Any:
        return scenario(growth).run(seeds=[1, 2], progress=False).flows.column("completion_s")

    assert completion("keeping") == completion("reno") > completion({"name": "keeping", "kept": 0.9})
    made.clear()
    given = scenario({"name": "keeping", "patience_s": "20 ms"})
    assert given.get("flow.0.tcp.growth.kept") == 0.5 and given.get("flow.0.tcp.growth.patience_s") == "20 ms"
    given.run(seeds=[1], progress=False)
    assert set(made) == {0.02}
    results = dw.sweep(scenario("keeping"), {"flow.0.tcp.growth.kept": [0.5, 0.9]}, runs=1, progress=False)
    assert len(set(results.runs.column("fingerprint"))) == 2
    for wrong, message in [({"keep": 0.9}, "did you mean `kept`"), ({"kept": "much"}, "flow.0.tcp.growth")]:
        with pytest.raises(dw.ScenarioError, match=message):
            scenario({"name": "keeping", **wrong})
    with pytest.raises(TypeError, match="needs a default"):
        dw.growth("refused")(type("Refused", (), {"__init__": lambda self, kept: None}))
