"""Plots, notebooks, and what the documents show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import driftway as dw
import nbformat
import pytest
from conftest import ROOT, SMALL
from nbclient import NotebookClient

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": ROOT}}).execute()


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["aid", "compare", "figure"]


def test_the_first_plot_takes_five_lines(tmp_path: Path) -> None:
    text = (ROOT / "docs/python.md").read_text()
    programs = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    first = programs[0]
    assert len(first.splitlines()) == 5 and "savefig" in first
    program = first.replace('"cwnd.pdf"', repr(str(tmp_path / "cwnd.pdf")))
    subprocess.run([sys.executable, "-P", "-c", program], cwd=ROOT, check=True)
    assert (tmp_path / "cwnd.pdf").stat().st_size > 1000
    aids = [program for program in programs if "@dw.aid" in program]
    assert len(aids) == 2
    for aid in aids:
        subprocess.run([sys.executable, "-P", "-c", "import driftway as dw\n" + aid], cwd=ROOT, check=True)


def test_plots_have_labels_and_a_line_for_each_group() -> None:
    results = dw.loads(SMALL).run(seeds=[1, 2], step="1 s", progress=False)
    assert results.steps is not None
    axes = dw.plot.line(results.steps, x="time_s", y="cwnd_bytes", by="seed")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "cwnd (B)")
    assert len(axes.get_lines()) == 2
    assert dw.plot.line(results.steps, x="time_s", y="rto_s", ax=axes) is axes
    swept = dw.sweep(dw.loads(SMALL), {"network.link.delay": ["5 ms", "9 ms"]}, runs=2, progress=False)
    axes = dw.plot.means(swept, "throughput_bps")
    assert axes.get_ylabel() == "throughput (bit/s)"
    with pytest.raises(ValueError, match="there is no metric 'speed'; there are"):
        dw.plot.means(swept, "speed")
    assert dw.plot.style()["pdf.fonttype"] == 42


def test_every_public_name_is_documented() -> None:
    for name in dw.__all__:
        thing = getattr(dw, name)
        if not isinstance(thing, str):
            assert thing.__doc__, name
