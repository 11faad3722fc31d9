//! Measured links: files with delivery opportunities, with rows of rates, delays and errors, and with
//! outages.

mod csv_file;
mod opportunities;
mod outages;
mod rows;

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;
use std::sync::Arc;

use driftway_base::Instant;
use driftway_link::{LinkTrace, Opportunities, TraceRows};

use crate::error::Error;
use crate::fault::Outage;
use crate::keys::keys;
use crate::link::{LinkRate, Reverse};
use crate::regular_file::read_bytes;
use crate::{Fault, Link, LinkOverride, Network, Scenario};

pub use opportunities::parse as parse_opportunities;
pub use outages::{Origin, parse as parse_outages};
pub use rows::parse as parse_rows;

/// Maximum size of a trace in bytes.
const MAX_BYTES: u64 = 64 << 20;

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

/// Error of a trace.
pub(crate) enum TraceError {
    /// The file cannot be read: a message, and a hint after a line break.
    Unreadable(String),
    /// Its content is invalid.
    Invalid(Error),
}

/// An error in line `line` of the file `name`.
fn wrong(name: &str, line: usize, message: &str, help: &str) -> Error {
    Error::in_file(format!("{name}:{line}"), message, help)
}

/// Reads the traces of a network, whose names are relative to the directory of the scenario file
/// `scenario`. An error comes with the key that names the file.
pub(crate) fn load(network: &mut Network, scenario: &str) -> Result<(), (String, TraceError)> {
    let mut files = Files { scenario, opportunities: BTreeMap::new(), rows: BTreeMap::new() };
    let link = |files: &mut Files<'_>, key: &str, parts: LinkParts<'_>| files.load_link(key, parts);
    match network {
        Network::Path(path) => {
            link(&mut files, "network.link", LinkParts::of(&mut path.link))?;
            for (i, change) in path.overrides.iter_mut().enumerate() {
                let parts = LinkParts::of_override(&mut change.link);
                link(&mut files, &format!("network.override.{i}"), parts)?;
            }
            for (i, route) in path.parallel.iter_mut().enumerate() {
                let parts = LinkParts::of_override(&mut route.link);
                link(&mut files, &format!("network.parallel.{i}"), parts)?;
            }
            files.load_faults(&mut path.faults)
        }
        Network::Adhoc(adhoc) => files.load_faults(&mut adhoc.faults),
        Network::Mixed(mixed) => {
            for (i, wire) in mixed.wires.iter_mut().enumerate() {
                let parts = LinkParts::of(&mut wire.link);
                link(&mut files, &format!("network.wire.{i}"), parts)?;
            }
            files.load_faults(&mut mixed.faults)
        }
    }
}

/// The parts of a link that can name files.
struct LinkParts<'a> {
    rate: Option<&'a mut LinkRate>,
    trace: Option<&'a mut TraceFile>,
    reverse: Option<&'a mut Reverse>,
}

impl<'a> LinkParts<'a> {
    fn of(link: &'a mut Link) -> Self {
        let Link { rate, trace, reverse, .. } = link;
        Self { rate: rate.as_mut(), trace: trace.as_mut(), reverse: reverse.as_mut() }
    }

    fn of_override(change: &'a mut LinkOverride) -> Self {
        let LinkOverride { rate, trace, reverse, .. } = change;
        Self { rate: rate.as_mut(), trace: trace.as_mut(), reverse: reverse.as_mut() }
    }
}

/// Files that have been read: each is read once.
struct Files<'a> {
    scenario: &'a str,
    opportunities: BTreeMap<String, Arc<[u32]>>,
    rows: BTreeMap<String, TraceRows>,
}

impl Files<'_> {
    fn load_link(&mut self, key: &str, parts: LinkParts<'_>) -> Result<(), (String, TraceError)> {
        if let Some(LinkRate::Trace(rate)) = parts.rate {
            let at = |error| (format!("{key}.rate.trace"), error);
            rate.content = Some(self.opportunities(&rate.trace, rate.repeat).map_err(at)?);
        }
        if let Some(trace) = parts.trace {
            let at = |error| (format!("{key}.trace.file"), error);
            trace.content = Some(self.rows(&trace.file, trace.repeat).map_err(at)?);
        }
        let Some(Reverse { rate, trace, .. }) = parts.reverse else { return Ok(()) };
        let parts = LinkParts { rate: rate.as_mut(), trace: trace.as_mut(), reverse: None };
        self.load_link(&format!("{key}.reverse"), parts)
    }

    fn load_faults(&mut self, faults: &mut [Fault]) -> Result<(), (String, TraceError)> {
        for (i, fault) in faults.iter_mut().enumerate() {
            let Fault::Outage(outage) = fault else { continue };
            let at = |error| (format!("network.fault.{i}.file"), error);
            outage.outages = self.outages(outage).map_err(at)?;
        }
        Ok(())
    }

    fn opportunities(&mut self, file: &str, repeat: bool) -> Result<Opportunities, TraceError> {
        let times = match self.opportunities.get(file) {
            Some(times) => Arc::clone(times),
            None => {
                let (name, bytes) = self.read(file)?;
                let times = parse_opportunities(&name, &bytes).map_err(TraceError::Invalid)?;
                let times: Arc<[u32]> = times.into();
                self.opportunities.insert(file.to_owned(), Arc::clone(&times));
                times
            }
        };
        let unusable = || TraceError::Unreadable(format!("{file}: this trace has no duration"));
        Opportunities::new(times, repeat).ok_or_else(unusable)
    }

    fn rows(&mut self, file: &str, repeat: bool) -> Result<LinkTrace, TraceError> {
        let rows = match self.rows.get(file) {
            Some(rows) => rows.clone(),
            None => {
                let (name, bytes) = self.read(file)?;
                let rows = parse_rows(&name, &bytes).map_err(TraceError::Invalid)?;
                self.rows.insert(file.to_owned(), rows.clone());
                rows
            }
        };
        // All else that a trace requires, `parse_rows` has checked.
        LinkTrace::new(rows, repeat).ok_or_else(|| {
            TraceError::Unreadable(format!(
                "{file}: only the last row has a rate, and a repeated trace begins again at its time\n\
                 add a row at the end of the period, or remove `repeat`"
            ))
        })
    }

    fn outages(&self, fault: &Outage) -> Result<Option<Arc<[(Instant, Instant)]>>, TraceError> {
        let Some(file) = &fault.file else { return Ok(None) };
        let origin = fault.origin.as_deref().map(Origin::parse).transpose();
        let origin = origin.map_err(TraceError::Unreadable)?;
        let (name, bytes) = self.read(file)?;
        let outages = parse_outages(&name, &bytes, origin).map_err(TraceError::Invalid)?;
        Ok(Some(outages.into()))
    }

    /// The name of a file for messages, and its content.
    fn read(&self, file: &str) -> Result<(String, Vec<u8>), TraceError> {
        let folder = Path::new(self.scenario).parent().unwrap_or(Path::new(""));
        let path = folder.join(file);
        let name = path.display().to_string();
        let bytes = read_bytes(&path, MAX_BYTES).map_err(|unreadable| {
            TraceError::Unreadable(format!(
                "{name}: {unreadable}\nthe name of a trace is relative to the scenario's directory"
            ))
        })?;
        Ok((name, bytes))
    }
}

impl Scenario {
    /// Writes the content of the files with measurements that the scenario names: scenarios that have
    /// the same text may differ in it.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_measurements(&self, out: &mut dyn Write) -> fmt::Result {
        let mut link = |rate: Option<&LinkRate>, trace: Option<&TraceFile>| {
            if let Some(LinkRate::Trace(RateTrace { content, .. })) = rate {
                write!(out, "{content:?}")?;
            }
            trace.map_or(Ok(()), |trace| write!(out, "{:?}", trace.content))
        };
        let mut both =
            |rate: Option<&LinkRate>, trace: Option<&TraceFile>, back: Option<&Reverse>| {
                link(rate, trace)?;
                let back = back.map(|back| (back.rate.as_ref(), back.trace.as_ref()));
                back.map_or(Ok(()), |(rate, trace)| link(rate, trace))
            };
        match &self.network {
            Network::Path(path) => {
                let Link { rate, trace, reverse, .. } = &path.link;
                both(rate.as_ref(), trace.as_ref(), reverse.as_ref())?;
                let changes = path.overrides.iter().map(|change| &change.link);
                for change in changes.chain(path.parallel.iter().map(|route| &route.link)) {
                    let LinkOverride { rate, trace, reverse, .. } = change;
                    both(rate.as_ref(), trace.as_ref(), reverse.as_ref())?;
                }
            }
            Network::Adhoc(_) => {}
            Network::Mixed(mixed) => {
                for wire in &mixed.wires {
                    let Link { rate, trace, reverse, .. } = &wire.link;
                    both(rate.as_ref(), trace.as_ref(), reverse.as_ref())?;
                }
            }
        }
        for fault in self.network.faults() {
            if let Fault::Outage(Outage { outages: Some(outages), .. }) = fault {
                write!(out, "{outages:?}")?;
            }
        }
        Ok(())
    }
}
