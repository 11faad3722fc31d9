"""Tables in the libraries that read them."""

from __future__ import annotations

import driftway as dw
import duckdb
import pandas
import polars
import pyarrow
import pytest
from conftest import SMALL


@pytest.fixture(scope="module")
def results() -> dw.Results:
    return dw.loads(SMALL).run(seeds=[1, 2, 3], step="2 s", events=True, progress=False)


@pytest.mark.parametrize("name", ["runs", "flows", "steps", "events"])
def test_pandas_duckdb_and_pyarrow_read_what_polars_reads(results: dw.Results, name: str) -> None:
    table = getattr(results, name)
    expected = polars.DataFrame(table)
    assert expected.columns == table.columns and len(expected) > 0
    arrow = pyarrow.table(table)
    assert polars.from_arrow(arrow).equals(expected)
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert polars.from_pandas(frame).equals(expected)
    rows = table
    assert duckdb.sql("select * from rows").fetchall() == expected.rows()
    assert rows is table


def test_duckdb_computes_on_tables(results: dw.Results) -> None:
    flows, events = results.flows, results.events
    assert flows is not None and events is not None
    [(mean,)] = duckdb.sql("select avg(throughput_bps) from flows").fetchall()
    assert mean == pytest.approx(sum(flows.column("throughput_bps")) / 3)
    found = duckdb.sql("select seed, count(*) from events where event = 'dropped' group by seed order by seed").fetchall()
    rows = [row["seed"] for row in events.rows() if row["event"] == "dropped"]
    assert found == [(seed, rows.count(seed)) for seed in sorted(set(rows))] and rows


def test_numeric_columns_share_their_memory(results: dw.Results) -> None:
    one, two = (pyarrow.table(results.flows).column("throughput_bps").chunk(0).buffers()[1].address for _ in range(2))
    assert one == two, "both look at the memory of the table"
