"""Replays: pages with a map and a time line of the events of runs."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from driftway import _driftway
from driftway._values import to_seconds, to_whole

if TYPE_CHECKING:
    from driftway._results import Results

#: The height of a page in a notebook (CSS pixels).
HEIGHT = 900


class Replay:
    """A page with a map and a time line of the events of a run, or of two, which needs no server and no network.

    A notebook shows it; ``save`` writes it to a file. It is that of ``driftway replay``.
    """

    def __init__(self, html: str, thinned: list[str]) -> None:
        self._html = html
        self._thinned = thinned

    @property
    def html(self) -> str:
        """The page."""
        return self._html

    @property
    def thinned(self) -> list[str]:
        """For each run of which rows are left out, a sentence that says which."""
        return list(self._thinned)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, and return its path."""
        path = Path(path)
        path.write_text(self._html, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        # A page of its own: its style and its keys are not those of the notebook.
        return (
            f'<iframe srcdoc="{escape(self._html)}" style="width:100%;height:{HEIGHT}px;border:0" '
            'title="Replay of a run"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Replay of {len(self._html) / 1e6:.2f} MB; save(path) writes it>"


def make_replay(
    results: Results,
    seed: int | None,
    other: Results | None,
    from_s: float,
    to_s: float | None,
    labels: tuple[str, str] | None,
) -> Replay:
    """Make the page of ``Results.replay``."""
    if other is not None and not isinstance(other, type(results)):
        raise TypeError(f"other: expected results of runs, found {type(other).__name__}")
    seed = results.runs.column("seed")[0] if seed is None else to_whole("seed", seed)
    from_s, to_s = to_seconds("from_s", from_s), None if to_s is None else to_seconds("to_s", to_s)
    shown = [results] if other is None else [results, other]
    if labels is None:
        labels = ("", "") if other is None else _labels(results, other)
    elif other is None or isinstance(labels, str) or len(labels) != 2:
        raise ValueError("labels: expected two names, and other results to show")
    names = list(dict.fromkeys(of.scenario.name for of in shown))
    title = " and ".join(names)
    runs = [(of._native, label, seed) for of, label in zip(shown, labels)]
    return Replay(*_driftway.replay_page(title[:1].upper() + title[1:], runs, from_s, to_s))


def _labels(one: Results, other: Results) -> tuple[str, str]:
    """Return names by which two runs differ: those of the scenarios, or the keys that were set."""
    if one.scenario.name != other.scenario.name:
        return one.scenario.name, other.scenario.name
    ours, theirs = (dict(of.scenario._native.assignments) for of in (one, other))
    keys = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
    found = [", ".join(f"{key} = {of[key]}" for key in keys if key in of) or "as in the file" for of in (ours, theirs)]
    return (found[0], found[1]) if found[0] != found[1] else ("first", "second")
