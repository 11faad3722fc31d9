"""What the tests share: the repository, its command, and a cache of their own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))

#: A scenario that takes no time.
SMALL = """
name = "small"
duration = "20 s"
[network]
kind = "path"
hops = 2
link = { rate = "1 Mbit/s", delay = "10 ms", packet_error_rate = 0.02 }
[[flow]]
from = 0
to = 2
application = { transfer = "100 kB" }
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds the runs of another one, or of the user."""
    monkeypatch.setenv("DRIFTWAY_CACHE", str(tmp_path_factory.mktemp("cache")))


def command(*arguments: object, status: int = 0, **options: Any) -> str:
    """Call the command, which `make python` builds, and return what it prints."""
    path = os.environ.get("DRIFTWAY", str(ROOT / "target/release/driftway"))
    words = [path, *(str(argument) for argument in arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def run_document(*arguments: object) -> dict[str, Any]:
    """Return the document of `driftway run --json`, without the computing time."""
    document: dict[str, Any] = json.loads(command("run", *arguments, "--json"))
    del document["timing"]
    return document
