"""Types: of the package, and of programs that use it."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from driftway import _driftway

#: A program that a type checker accepts, but for the lines that say which error they have.
PROGRAM = """
import driftway as dw

scenario: dw.Scenario = dw.loads("", set={"duration": "5 s", "flow.0.tcp.window": 4})
results: dw.Results = scenario.run(seeds=range(3), step=0.5, events=True)
names: list[str] = results.runs.columns
page: str = results.replay(other=results, from_s=1).html
swept: dw.StudyResults = dw.sweep("x.toml", {("flow.0.aid", "duration"): [("none", "5 s")]})

@dw.aid("typed")
class Typed(dw.Aid):
    def __init__(self, wait_s: float = 1.0) -> None:
        self.wait_s = wait_s

    def on_up(self, segment: dw.Segment) -> None:
        self.hold(probe_first_s=self.wait_s)
        self.set_timer(segment.payload_bytes / 1000)

@dw.metric("drops")
def drops(events: dw.Events) -> float:
    return float(sum(row["event"] == "dropped" for row in events.rows()))

scenario.run(seeds="abc")  # error: arg-type
results.steps.columns  # error: union-attr
dw.load(5)  # error: arg-type
Typed().hold(probe=2)  # error: call-arg
"""


#: Kept between the tests of a session.
CACHE = Path(tempfile.gettempdir()) / f"driftway-mypy-{os.getpid()}"


@pytest.fixture(scope="module", autouse=True)
def cache() -> Iterator[None]:
    yield
    shutil.rmtree(CACHE, ignore_errors=True)


def mypy(*arguments: str, cwd: Path) -> str:
    config = ROOT / "python/pyproject.toml"
    words = [sys.executable, "-m", "mypy", "--config-file", str(config), "--no-error-summary", "--cache-dir", str(CACHE), *arguments]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_the_package_passes_mypy(tmp_path: Path) -> None:
    assert mypy("-p", "driftway", cwd=tmp_path) == ""


def test_a_program_is_checked_against_the_types(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    found = [line.split(":", 2) for line in mypy("program.py", cwd=tmp_path).splitlines() if "error:" in line]
    lines = [line.partition("# error: ")[2] for line in PROGRAM.splitlines()]
    expected = {number: error for number, error in enumerate(lines, 1) if error}
    assert {int(line): message.rpartition("[")[2].rstrip("]") for _, line, message in found} == expected


def test_the_stubs_have_every_name_of_the_extension_module() -> None:
    stub = ast.parse(Path(_driftway.__file__).with_name("_driftway.pyi").read_text())
    known = {of.name: of for of in stub.body if isinstance(of, (ast.ClassDef, ast.FunctionDef))}
    public = {name for name in dir(_driftway) if not name.startswith("_")}
    assert public == set(known)
    for name, of in known.items():
        if not isinstance(of, ast.ClassDef):
            continue
        declared = {
            part.name if isinstance(part, ast.FunctionDef) else part.target.id
            for part in of.body
            if isinstance(part, ast.FunctionDef) or (isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name))
        }
        there = {part for part in vars(getattr(_driftway, name)) if not part.startswith("_")}
        assert there == {part for part in declared if not part.startswith("_")}, name
