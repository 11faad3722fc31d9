//! The replay of one run or two: a page of HTML that needs no server, with the events of the log on one time
//! line. The script of the page is in `viewer/`.
//!
//! The events are columns of small numbers (`encode`), compressed and in base64, in the page itself.
//! What is too large is thinned: frames and packets to which nothing happened, never a drop or a row of
//! TCP (`thin`).

#[cfg(test)]
mod decode;
mod describe;
mod encode;
mod fit;
mod page;
mod predictor;
mod rows;
#[cfg(test)]
mod test;
mod thin;
mod varint;
mod window;

use std::io::{self, Read};

use driftway_scenario::Scenario;
use driftway_sim::results::RunResult;

use describe::RunDescription;
use fit::fit;
use rows::Rows;

pub use window::TimeWindow;

/// The largest page (bytes), unless what is never left out is larger.
pub const MAX_PAGE: usize = 3_000_000;

/// One run to replay: its description and its events.
pub struct Replay {
    description: RunDescription,
    rows: Rows,
}

/// A page, and how much of the runs it shows.
pub struct ReplayPage {
    /// The page.
    pub html: String,
    /// The number of events in it.
    pub events: usize,
    /// A sentence for each run that was thinned, which says what is left out.
    pub thinned: Vec<String>,
}

impl Replay {
    /// Reads the event log of a run of `scenario`; `label` is its name on the page.
    ///
    /// # Errors
    /// A log that cannot be read or is invalid, with the line.
    pub fn read(
        label: impl Into<String>,
        (scenario, run): (&Scenario, &RunResult),
        log: impl Read,
        window: TimeWindow,
    ) -> Result<Self, csv::Error> {
        let rows = Rows::read(log, window)?;
        let mut description = RunDescription::new(label.into(), scenario, run);
        description.from_s = window.from.as_secs_f64();
        description.to_s = window
            .to
            .map_or(run.duration_s, |to| to.as_secs_f64().min(run.duration_s))
            .max(description.from_s);
        Ok(Self { description, rows })
    }

    /// The number of events.
    pub fn events(&self) -> usize {
        self.rows.rows.len()
    }
}

/// The page of one run, or of several beside each other, of at most `max_bytes` where thinning achieves that.
///
/// # Errors
/// Compression fails, or a description has no JSON.
pub fn page(title: &str, runs: Vec<Replay>, max_bytes: usize) -> io::Result<ReplayPage> {
    let share = max_bytes.saturating_sub(page::frame_bytes()) / runs.len().max(1);
    let mut encoded = Vec::new();
    let mut thinned = Vec::new();
    for Replay { mut description, rows } in runs {
        let fitted = fit(&rows, share)?;
        description.thinning = fitted.thinning.sentence();
        if let Some(sentence) = &description.thinning {
            thinned.push(format!("{}: {sentence}", description.label));
        }
        encoded.push((description, fitted.encoded));
    }
    let events = encoded.iter().map(|(_, columns)| columns.rows).sum();
    Ok(ReplayPage { html: page::render(title, &encoded)?, events, thinned })
}
