//! Loading of the files with measurements that a network names.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;
use std::sync::Arc;

use driftway_base::Instant;
use driftway_link::{LinkTrace, Opportunities, TraceRows};

use crate::error::Error;
use crate::regular_file::read_bytes;
use crate::trace::{Origin, RateTrace, TraceFile, parse_opportunities, parse_outages, parse_rows};
use crate::{Fault, Link, LinkOverride, LinkRate, Network, Outage, Reverse, Scenario};

/// Beginnings and ends of outages.
type OutageTimes = Arc<[(Instant, Instant)]>;

/// Maximum size of a trace in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Error of a trace.
pub(crate) enum TraceError {
    /// The file cannot be read: a message, and a hint after a line break.
    Unreadable(String),
    /// Its content is invalid.
    Invalid(Error),
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

    fn outages(&self, fault: &Outage) -> Result<Option<OutageTimes>, TraceError> {
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
