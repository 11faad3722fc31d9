"""Scenarios: reading, setting, errors, pickling."""

from __future__ import annotations

import pickle
from pathlib import Path

import driftway as dw
import pytest
from conftest import ROOT, SCENARIOS, SMALL


def test_a_scenario_is_read_from_a_file_and_from_a_text() -> None:
    path = ROOT / "scenarios/lossy-path.toml"
    of_file, of_text = dw.load(path), dw.loads(path.read_text())
    assert of_file.digest == of_text.digest
    assert of_file.name == of_text.name != ""
    assert dw.loads(of_file.to_toml()).digest == of_file.digest
    assert "# " in of_file.to_toml(documented=True)


def test_values_are_read_by_dotted_keys() -> None:
    scenario = dw.loads(SMALL)
    assert scenario.get("network.link.rate") == "1 Mbit/s"
    assert scenario.get("network.hops") == 2
    assert scenario.get("flow.0.aid") == "none"
    assert scenario.get("network.link")["packet_error_rate"] == 0.02
    assert scenario.duration_s == 20
    with pytest.raises(KeyError, match="did you mean rate"):
        scenario.get("network.link.rat")
    with pytest.raises(KeyError, match="flow has no '7'"):
        scenario.get("flow.7.aid")


def test_keys_are_set_as_by_the_command() -> None:
    scenario = dw.loads(SMALL, set={"network.link.rate": "2 Mbit/s", "network.hops": 3, "flow.0.to": 3})
    assert (scenario.get("network.link.rate"), scenario.get("network.hops")) == ("2 Mbit/s", 3)
    copy, digest = scenario.copy(), scenario.digest
    copy.set("flow.0.aid", {"name": "atcp", "backoff": False})
    assert copy.get("flow.0.aid")["name"] == "atcp"
    assert scenario.digest == digest != copy.digest
    copy.set({"duration": "5 s", "flow.0.tcp.window": 4})
    assert copy.duration_s == 5


def test_a_key_that_cannot_be_set_leaves_the_scenario_as_it_was() -> None:
    scenario = dw.loads(SMALL)
    digest = scenario.digest
    with pytest.raises(dw.ScenarioError, match="--set network.link.rat: unknown key.*\n.*did you mean `rate`"):
        scenario.set("network.link.rat", "1 Mbit/s")
    assert scenario.digest == digest
    with pytest.raises(TypeError, match="network.hops: expected a text"):
        scenario.set("network.hops", object())
    with pytest.raises(TypeError, match="a value is missing"):
        scenario.set("network.hops")
    with pytest.raises(TypeError, match="set: expected a dict"):
        dw.loads(SMALL, set=["network.hops=2"])
    with pytest.raises(TypeError, match="set: a key is a text"):
        dw.loads(SMALL, set={1: 2})


def test_an_error_has_its_line_and_column() -> None:
    with pytest.raises(dw.ScenarioError) as error:
        dw.loads(SMALL.replace("hops = 2", "hosp = 2"), file="mine.toml")
    assert isinstance(error.value, ValueError)
    assert (error.value.line, error.value.column) == (6, 1)
    assert str(error.value).startswith("mine.toml:6:1: unknown key `hosp`")
    copy = pickle.loads(pickle.dumps(error.value))
    assert (str(copy), copy.line) == (str(error.value), 6)
    with pytest.raises(dw.ScenarioError) as error:
        dw.load("no-such-file.toml")
    assert error.value.line is None and "no-such-file.toml" in str(error.value)
    for wrong in ["", "a = [", "\0"]:
        with pytest.raises(dw.ScenarioError):
            dw.loads(wrong)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_can_be_pickled(path: Path) -> None:
    scenario = dw.load(path, {"name": "another"})
    copy = pickle.loads(pickle.dumps(scenario))
    assert (copy.digest, copy.name) == (scenario.digest, "another")


def test_scenarios_of_papers_have_names() -> None:
    scenario = dw.load("paper:liu-singh-2001/figure-8.toml", {"flow.0.aid": "none"})
    assert scenario.get("flow.0.aid") == "none"
    assert pickle.loads(pickle.dumps(scenario)).digest == scenario.digest
    with pytest.raises(dw.ScenarioError):
        dw.load("paper:nobody/a.toml")
