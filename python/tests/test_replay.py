"""Replays: the page of the command, in Python and in notebooks."""

from __future__ import annotations

import html
import re
from pathlib import Path

import driftway as dw
import pytest
from conftest import SMALL, command


def test_a_replay_is_the_page_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    results = dw.load(path).run(seeds=[1, 2], events=True, progress=False)
    saved = results.replay(2).save(tmp_path / "saved.html")
    command("replay", path, "--seed", 2, "--out", tmp_path / "command.html")
    assert saved == tmp_path / "saved.html"
    assert saved.read_bytes() == (tmp_path / "command.html").read_bytes()
    assert results.replay().html == results.replay(1).html != results.replay(2).html
    command("replay", path, "--seed", 2, "--from", "0.5 s", "--to", "1 s", "--out", tmp_path / "part.html")
    assert results.replay(2, from_s=0.5, to_s=1).html == (tmp_path / "part.html").read_text()


def test_a_notebook_shows_it_in_a_frame() -> None:
    replay = dw.loads(SMALL).run(seeds=[1], events=True, progress=False).replay()
    shown = replay._repr_html_()
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"]*" title="Replay of a run"></iframe>', shown, flags=re.DOTALL)
    assert found and html.unescape(found[1]) == replay.html
    assert replay.thinned == [] and repr(replay).startswith("<Replay of 0.")


def test_two_runs_are_shown_side_by_side() -> None:
    plain = dw.loads(SMALL).run(seeds=[1], events=True, progress=False)
    aided = dw.loads(SMALL, {"flow.0.aid": "atcp"}).run(seeds=[1], events=True, progress=False)

    def labels(replay: dw.Replay) -> list[str]:
        return re.findall(r'"label":"([^"]*)"', replay.html)

    assert labels(plain.replay(other=aided)) == ["as in the file", "flow.0.aid = atcp"]
    assert labels(plain.replay(other=aided, labels=("a", "b"))) == ["a", "b"]
    assert labels(plain.replay(other=plain)) == ["first", "second"]
    assert labels(plain.replay()) == [""]


def test_what_cannot_be_replayed_is_refused() -> None:
    scenario = dw.loads(SMALL)
    with pytest.raises(ValueError, match="events=True"):
        scenario.run(seeds=[1], progress=False).replay()
    results = scenario.run(seeds=[1, 3], events=True, progress=False)
    with pytest.raises(ValueError, match="seed: no run has 2; there are 1, 3"):
        results.replay(2)
    for arguments, message in [
        ({"from_s": 2, "to_s": 1}, "later than from_s"),
        ({"from_s": 900}, "is not before the end of the run"),
        ({"from_s": -1}, "from_s"),
        ({"labels": ("a", "b")}, "labels"),
        ({"labels": "ab", "other": results}, "labels"),
    ]:
        with pytest.raises(ValueError, match=message):
            results.replay(**arguments)  # type: ignore[arg-type]
