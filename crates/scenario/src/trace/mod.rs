//! Measured links: files with delivery opportunities, with rows of rates, delays and errors, and with
//! outages.

mod csv_file;
mod located;
mod opportunities;
mod outages;
mod rows;

use driftway_link::{LinkTrace, Opportunities, TraceRows};

use crate::keys::keys;

pub use opportunities::parse as parse_opportunities;
pub use outages::{Origin, parse as parse_outages};
pub use rows::parse as parse_rows;

keys! {
    /// Delivery opportunities of a direction, `rate = { trace = "x.down", repeat = true }`: a file in
    /// the format of mahimahi, in which each line is a time in whole milliseconds at which up to 1500
    /// bytes of IP packets may leave the queue. A time that stands twice lets twice as much leave.
    /// What an opportunity leaves over goes to the next packet, whose rest waits for the next
    /// opportunity; what no packet waits for is lost.
    pub struct RateTrace expecting "a table with the keys `trace` and `repeat`" {
        /// Name of the file, relative to the scenario's directory; at most 64 MiB.
        trace: String,
        /// The trace begins again at its last time. False: nothing leaves after it.
        repeat: bool = default,
        /// Content of the file, once the scenario is loaded.
        #[serde(skip)]
        content: Option<Opportunities>,
    }
}

keys! {
    /// Rate, delay and errors over time, `trace = { file = "x.csv", repeat = true }`: a CSV file with a
    /// header that has `time_s` (seconds, the first 0, ascending) and any of `rate_bps`, `delay_s`
    /// and `packet_error_rate`. A value holds until the next row. What a column says takes the place
    /// of the link's own key.
    pub struct TraceFile expecting "a table with the keys `file` and `repeat`" {
        /// Name of the file, relative to the scenario's directory; at most 64 MiB.
        file: String,
        /// The trace begins again at the time of its last row, whose values then hold only in a
        /// file of one row. False: the last row holds until the end.
        repeat: bool = default,
        /// Content of the file, once the scenario is loaded.
        #[serde(skip)]
        content: Option<LinkTrace>,
        /// Columns that keys written elsewhere replace.
        #[serde(skip)]
        replaced: ReplacedColumns,
    }
}

/// Columns of a trace in whose place a key applies: one of a hop's override, or of a link's `reverse`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplacedColumns {
    /// `rate_bps`.
    pub rate: bool,
    /// `delay_s`.
    pub delay: bool,
    /// `packet_error_rate`.
    pub errors: bool,
}

impl TraceFile {
    /// The columns that apply; `None`: none of them.
    pub fn trace(&self) -> Option<LinkTrace> {
        let ReplacedColumns { rate, delay, errors } = self.replaced;
        self.content.as_ref()?.without(rate, delay, errors)
    }

    fn has(&self, replaced: bool, column: impl Fn(&TraceRows) -> usize) -> bool {
        !replaced && self.content.as_ref().is_some_and(|trace| column(trace.rows()) > 0)
    }

    /// Returns whether the trace has the rate.
    pub fn has_rates(&self) -> bool {
        self.has(self.replaced.rate, |rows| rows.rates.len())
    }

    /// Returns whether the trace has the delay.
    pub fn has_delays(&self) -> bool {
        self.has(self.replaced.delay, |rows| rows.delays.len())
    }

    /// Replaces further columns.
    pub(crate) fn replace(&mut self, rate: bool, delay: bool, errors: bool) {
        self.replaced.rate |= rate;
        self.replaced.delay |= delay;
        self.replaced.errors |= errors;
    }
}
