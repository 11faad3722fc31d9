//! `driftway bench`: the simulator's speed, compared with ns-2.35 and from 50 to 5,000 nodes.
//!
//! Every run is a process of its own, one at a time, so that the system reports its CPU time and
//! memory, and no run warms another's caches.

pub mod document;
mod measured_run;
mod ns2;
mod scaling;

use std::io::Write;

use crate::args::BenchArgs;
use crate::bench::document::BenchDocument;
use crate::failure::Failure;

/// Measures, and prints tables, or with `--json` one document.
///
/// # Errors
/// Invalid cases, a failed run, or, with `--ns2`, a missing ns-2.35.
pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    if args.json {
        let mut rows = ns2::rows(args)?;
        rows.extend(scaling::rows(args)?);
        let document = BenchDocument::new(args.runs.get(), rows);
        serde_json::to_writer_pretty(&mut out, &document).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    write!(out, "{}", ns2::ns2_tables(args)?)?;
    out.flush()?;
    write!(out, "\n{}", scaling::scaling_tables(args)?)?;
    Ok(())
}
