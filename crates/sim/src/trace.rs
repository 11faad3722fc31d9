//! The trace of a run: the events of each flow, recorded on request and stored as CSV.

use std::borrow::Cow;
use std::io;

use driftway_base::{Duration, Instant, Named};
use driftway_scenario::FaultKind;

use crate::columns::{ColumnInfo, Values, names};

/// A run's trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// One per flow, in the scenario's order.
    pub flows: Vec<FlowTrace>,
    /// The beginnings and ends of network faults, in order of time.
    pub network: Vec<(Instant, FaultEvent)>,
}

/// One flow's trace: its events in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowTrace {
    /// Each event with its time.
    pub events: Vec<(Instant, FlowEvent)>,
    /// The state of the last [`FlowEvent::AidState`].
    aid_state: Cow<'static, str>,
}

/// An event of a flow. Offsets count the stream's bytes from 0.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowEvent {
    /// TCP sent a data segment.
    Sent(SentSegment),
    /// The sender received a new cumulative acknowledgment, up to this offset.
    Acked(u64),
    /// The retransmission timer expired.
    Timeout,
    /// A loss recovery began without a timeout.
    FastRetransmit,
    /// The sender's host received a signal that its destination is unreachable.
    Unreachable,
    /// The aid has entered this state.
    AidState(Cow<'static, str>),
    /// The receiving application has read everything up to this offset.
    Delivered(u64),
}

/// A data segment that TCP sent, and the windows and timeout at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentSegment {
    /// Its first byte's offset in the stream.
    pub offset: u64,
    /// Payload (bytes).
    pub length: u32,
    /// True if any part of it was sent before.
    pub retransmission: bool,
    /// Congestion window (bytes).
    pub cwnd: u32,
    /// Slow-start threshold (bytes).
    pub ssthresh: u32,
    /// Retransmission timeout in force, back-off included; `None` in a trace without this column.
    pub rto: Option<Duration>,
}

/// The beginning or end of a network fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultEvent {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The hop or wire, from 1; of `radio-down`, the node.
    pub hop: u32,
    /// True if the fault begins, false if it ends.
    pub begins: bool,
}

impl Trace {
    /// The trace of the flow with this index in the scenario.
    pub fn flow(&mut self, index: usize) -> &mut FlowTrace {
        if self.flows.len() <= index {
            self.flows.resize_with(index + 1, FlowTrace::default);
        }
        &mut self.flows[index]
    }

    /// Records the beginning or end of a fault.
    pub fn fault(&mut self, now: Instant, kind: FaultKind, hop: u32, begins: bool) {
        self.network.push((now, FaultEvent { kind, hop, begins }));
    }

    /// The file name of a flow's trace.
    pub fn flow_file_name(seed: u64, flow: usize) -> String {
        format!("trace-seed-{seed}-flow-{flow}.csv")
    }

    /// The file name of the network's trace.
    pub fn network_file_name(seed: u64) -> String {
        format!("trace-seed-{seed}-network.csv")
    }

    /// Writes the network's trace as CSV.
    ///
    /// # Errors
    /// An error of `out`.
    pub fn write_network(&self, out: impl io::Write) -> Result<(), TraceError> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(NETWORK_HEADER)?;
        for (at, mark) in &self.network {
            let hop = mark.hop.to_string();
            let edge = if mark.begins { "begins" } else { "ends" };
            out.write_record([&format_seconds(*at), edge, mark.kind.name(), &hop])?;
        }
        Ok(out.flush()?)
    }

    /// Reads a trace that [`write_network`](Self::write_network) wrote.
    ///
    /// # Errors
    /// An error of `input`, or a malformed line.
    pub fn read_network(input: impl io::Read) -> Result<Vec<(Instant, FaultEvent)>, TraceError> {
        records(input, &NETWORK_HEADER)?
            .iter()
            .map(|row| {
                let begins = match cell(row, 1) {
                    "begins" => true,
                    "ends" => false,
                    _ => return Err(malformed(row, 1, &NETWORK_HEADER)),
                };
                let hop = number(row, 3, &NETWORK_HEADER)?;
                let kind = FaultKind::from_name(cell(row, 2));
                let kind = kind.ok_or_else(|| malformed(row, 2, &NETWORK_HEADER))?;
                Ok((time(row, &NETWORK_HEADER)?, FaultEvent { kind, hop, begins }))
            })
            .collect()
    }
}

impl FlowTrace {
    /// Records a data segment that TCP sends.
    pub fn sent(&mut self, now: Instant, segment: SentSegment) {
        self.events.push((now, FlowEvent::Sent(segment)));
    }
    /// Records a new cumulative acknowledgment at the sender.
    pub fn acked(&mut self, now: Instant, offset: u64) {
        self.events.push((now, FlowEvent::Acked(offset)));
    }
    /// Records a timeout of the retransmission timer.
    pub fn timeout(&mut self, now: Instant) {
        self.events.push((now, FlowEvent::Timeout));
    }
    /// Records the start of a loss recovery without a timeout.
    pub fn fast_retransmit(&mut self, now: Instant) {
        self.events.push((now, FlowEvent::FastRetransmit));
    }
    /// Records a signal of an unreachable destination at the sender's host.
    pub fn unreachable(&mut self, now: Instant) {
        self.events.push((now, FlowEvent::Unreachable));
    }
    /// Records the aid's state. An unchanged state adds no event, so that a driver can call this after
    /// every event.
    pub fn aid_state(&mut self, now: Instant, state: &'static str) {
        if self.aid_state != state {
            self.aid_state = state.into();
            self.events.push((now, FlowEvent::AidState(state.into())));
        }
    }
    /// Records that the receiving application has read everything up to `offset`.
    pub fn delivered(&mut self, now: Instant, offset: u64) {
        self.events.push((now, FlowEvent::Delivered(offset)));
    }

    /// Writes the trace as CSV, one event per row, with empty cells for values that an event does not
    /// have.
    ///
    /// # Errors
    /// An error of `out`.
    pub fn write(&self, out: impl io::Write) -> Result<(), TraceError> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(FLOW_HEADER)?;
        for (at, event) in &self.events {
            let at: &str = &format_seconds(*at);
            match event {
                FlowEvent::Sent(s) => out.write_record([
                    at,
                    if s.retransmission { "retransmitted" } else { "sent" },
                    &s.offset.to_string(),
                    &s.length.to_string(),
                    &s.cwnd.to_string(),
                    &s.ssthresh.to_string(),
                    "",
                    &s.rto.map(|rto| format_seconds(Instant::ZERO + rto)).unwrap_or_default(),
                ]),
                FlowEvent::Acked(to) => {
                    out.write_record([at, "acked", &to.to_string(), "", "", "", "", ""])
                }
                FlowEvent::Timeout => out.write_record([at, "timeout", "", "", "", "", "", ""]),
                FlowEvent::FastRetransmit => {
                    out.write_record([at, "fast-retransmit", "", "", "", "", "", ""])
                }
                FlowEvent::Unreachable => {
                    out.write_record([at, "unreachable", "", "", "", "", "", ""])
                }
                FlowEvent::AidState(state) => {
                    out.write_record([at, "aid-state", "", "", "", "", state.as_ref(), ""])
                }
                FlowEvent::Delivered(to) => {
                    out.write_record([at, "delivered", &to.to_string(), "", "", "", "", ""])
                }
            }?;
        }
        Ok(out.flush()?)
    }

    /// Reads a trace that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// An error of `input`, or a malformed line.
    pub fn read(input: impl io::Read) -> Result<Self, TraceError> {
        let header = &FLOW_HEADER;
        let event = |row: &csv::StringRecord| {
            Ok(match cell(row, 1) {
                what @ ("sent" | "retransmitted") => FlowEvent::Sent(SentSegment {
                    offset: number(row, 2, header)?,
                    length: number(row, 3, header)?,
                    retransmission: what == "retransmitted",
                    cwnd: number(row, 4, header)?,
                    ssthresh: number(row, 5, header)?,
                    rto: match cell(row, 7) {
                        "" => None,
                        _ => Some(time_in_column(row, 7, header)?.since(Instant::ZERO)),
                    },
                }),
                "acked" => FlowEvent::Acked(number(row, 2, header)?),
                "timeout" => FlowEvent::Timeout,
                "fast-retransmit" => FlowEvent::FastRetransmit,
                "unreachable" => FlowEvent::Unreachable,
                "aid-state" => FlowEvent::AidState(cell(row, 6).to_owned().into()),
                "delivered" => FlowEvent::Delivered(number(row, 2, header)?),
                _ => return Err(malformed(row, 1, header)),
            })
        };
        let rows = records(input, header)?;
        let mut trace = Self::default();
        for row in &rows {
            let event = event(row)?;
            if let FlowEvent::AidState(state) = &event {
                trace.aid_state = state.clone();
            }
            trace.events.push((time(row, header)?, event));
        }
        Ok(trace)
    }
}

/// The columns of a flow's trace.
pub static FLOW_COLUMNS: [ColumnInfo; 8] = [
    ColumnInfo::new("time_s", Values::Number, "The time (s), with nine decimals."),
    ColumnInfo::new(
        "event",
        Values::Text,
        "`sent`, `retransmitted`: TCP sent a data segment. `acked`: the sender received a new \
         cumulative acknowledgment. `timeout`: the retransmission timer expired. `fast-retransmit`: a \
         loss recovery began without a timeout. `unreachable`: the sender's host received a signal \
         that its destination is unreachable. `aid-state`: the aid has entered a state. `delivered`: \
         the receiving application has read more of the stream.",
    ),
    ColumnInfo::new(
        "offset_bytes",
        Values::Integer,
        "An offset in the flow's stream, from 0 (bytes): of the segment's first byte, or of the end of \
         what is acknowledged or delivered.",
    ),
    ColumnInfo::new("length_bytes", Values::Integer, "The segment's payload (bytes)."),
    ColumnInfo::new("cwnd_bytes", Values::Integer, "The congestion window at that time (bytes)."),
    ColumnInfo::new("ssthresh_bytes", Values::Integer, "The slow-start threshold (bytes)."),
    ColumnInfo::new("aid_state", Values::Text, "The state that the aid has entered."),
    ColumnInfo::new(
        "rto_s",
        Values::Number,
        "The retransmission timeout in force, back-off included (s).",
    ),
];
/// The number of columns of the oldest traces. Only the columns after these may be missing.
const LEGACY_COLUMN_COUNT: usize = 7;
/// The columns of a network's trace.
pub static NETWORK_COLUMNS: [ColumnInfo; 4] = [
    ColumnInfo::new("time_s", Values::Number, "The time (s), with nine decimals."),
    ColumnInfo::new("event", Values::Text, "`begins` or `ends`."),
    ColumnInfo::new("fault", Values::Text, "The kind of fault, as the scenario names it."),
    ColumnInfo::new("hop", Values::Integer, "The hop or wire, from 1; of `radio-down`, the node."),
];
const FLOW_HEADER: [&str; 8] = names(&FLOW_COLUMNS);
const NETWORK_HEADER: [&str; 4] = names(&NETWORK_COLUMNS);

/// The reason why a trace could not be written or read.
#[derive(Debug)]
pub enum TraceError {
    /// An error of the file or of its CSV format.
    Csv(csv::Error),
    /// A cell whose text is not a value of its column.
    Malformed {
        /// The line in the file, from 1.
        line: u64,
        /// The column's name.
        column: &'static str,
        /// The text of the cell.
        found: String,
    },
    /// The first line is not the header of such a trace.
    Header(String),
}

impl std::fmt::Display for TraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Csv(error) => error.fmt(f),
            Self::Malformed { line, column, found } => {
                write!(f, "line {line}: {found:?} is not a value of the column `{column}`")
            }
            Self::Header(found) => write!(f, "line 1: {found:?} is not the header of a trace"),
        }
    }
}

impl std::error::Error for TraceError {}

impl From<csv::Error> for TraceError {
    fn from(error: csv::Error) -> Self {
        Self::Csv(error)
    }
}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> Self {
        Self::Csv(error.into())
    }
}

/// Seconds with nine decimals, so that a trace is read back with the same nanoseconds.
pub(crate) fn format_seconds(at: Instant) -> String {
    let nanos = at.as_nanos();
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// Parses the output of [`format_seconds`].
pub(crate) fn parse_seconds(text: &str) -> Option<Instant> {
    let (whole, fraction) = text.split_once('.')?;
    let nanos = if fraction.len() == 9 { fraction.parse().ok()? } else { return None };
    Some(Instant::from_secs(whole.parse().ok()?) + Duration::from_nanos(nanos))
}

fn records(
    input: impl io::Read,
    header: &[&'static str],
) -> Result<Vec<csv::StringRecord>, TraceError> {
    let mut input = csv::Reader::from_reader(input);
    let found = input.headers()?;
    let old = header.get(..LEGACY_COLUMN_COUNT).is_some_and(|first| found == first);
    if found != header && !old {
        return Err(TraceError::Header(found.iter().collect::<Vec<_>>().join(",")));
    }
    Ok(input.records().collect::<Result<_, _>>()?)
}

fn cell(row: &csv::StringRecord, column: usize) -> &str {
    row.get(column).unwrap_or_default()
}

fn malformed(row: &csv::StringRecord, column: usize, header: &[&'static str]) -> TraceError {
    TraceError::Malformed {
        line: row.position().map_or(0, csv::Position::line),
        column: header[column],
        found: cell(row, column).to_owned(),
    }
}

fn number<T: std::str::FromStr>(
    row: &csv::StringRecord,
    column: usize,
    header: &[&'static str],
) -> Result<T, TraceError> {
    cell(row, column).parse().map_err(|_| malformed(row, column, header))
}

fn time(row: &csv::StringRecord, header: &[&'static str]) -> Result<Instant, TraceError> {
    time_in_column(row, 0, header)
}

fn time_in_column(
    row: &csv::StringRecord,
    column: usize,
    header: &[&'static str],
) -> Result<Instant, TraceError> {
    parse_seconds(cell(row, column)).ok_or_else(|| malformed(row, column, header))
}

#[cfg(test)]
mod test {
    use super::*;

    fn example() -> FlowTrace {
        let segment = SentSegment {
            offset: 0,
            length: 100,
            retransmission: false,
            cwnd: 100,
            ssthresh: 900,
            rto: Some(Duration::from_millis(1_500)),
        };
        let mut trace = FlowTrace::default();
        trace.aid_state(Instant::ZERO, "normal");
        trace.sent(Instant::ZERO, segment);
        trace.timeout(Instant::from_secs(3));
        trace.sent(Instant::from_secs(3), SentSegment { retransmission: true, ..segment });
        trace.delivered(Instant::from_nanos(3_000_000_001), 100);
        trace.acked(Instant::from_millis(3_500), 100);
        trace.fast_retransmit(Instant::from_secs(4));
        trace.aid_state(Instant::from_secs(5), "disconnected");
        trace
    }

    #[test]
    fn a_flow_trace_round_trips_through_csv() {
        let mut file = Vec::new();
        example().write(&mut file).unwrap();
        assert_eq!(FlowTrace::read(file.as_slice()).unwrap(), example());
        let text = String::from_utf8(file).unwrap();
        assert!(text.contains("3.000000001,delivered,100,,,,,\n"), "{text}");
    }

    #[test]
    fn a_trace_without_the_timeout_column_is_read() {
        let old = "time_s,event,offset_bytes,length_bytes,cwnd_bytes,ssthresh_bytes,aid_state\n\
                   0.500000000,sent,0,100,100,900,\n\
                   1.000000000,aid-state,,,,,loss\n";
        let trace = FlowTrace::read(old.as_bytes()).unwrap();
        let FlowEvent::Sent(segment) = &trace.events[0].1 else { panic!() };
        assert_eq!((segment.ssthresh, segment.rto), (900, None));
        let wrong = old.replace("aid_state\n", "aid_mood\n");
        assert!(matches!(FlowTrace::read(wrong.as_bytes()), Err(TraceError::Header(_))));
    }

    #[test]
    fn the_network_trace_round_trips_through_csv() {
        let mut trace = Trace::default();
        trace.fault(Instant::from_secs(300), FaultKind::Partition, 2, true);
        trace.fault(Instant::from_secs(360), FaultKind::Partition, 2, false);
        let mut file = Vec::new();
        trace.write_network(&mut file).unwrap();
        assert_eq!(Trace::read_network(file.as_slice()).unwrap(), trace.network);
        let wrong = String::from_utf8(file).unwrap().replace("partition", "partridge");
        assert!(matches!(Trace::read_network(wrong.as_bytes()), Err(TraceError::Malformed { .. })));
    }

    #[test]
    fn an_unchanged_state_leaves_one_event() {
        let mut trace = example();
        let before = trace.events.len();
        trace.aid_state(Instant::from_secs(6), "disconnected");
        assert_eq!(trace.events.len(), before);
        trace.aid_state(Instant::from_secs(7), "normal");
        assert_eq!(trace.events.len(), before + 1);
    }

    #[test]
    fn a_malformed_trace_is_rejected_with_its_line() {
        let mut file = Vec::new();
        example().write(&mut file).unwrap();
        let text = String::from_utf8(file).unwrap();
        let wrong = text.replace("3.000000000,timeout", "3.0,timeout");
        let error = FlowTrace::read(wrong.as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "line 4: \"3.0\" is not a value of the column `time_s`");
        let wrong = text.replace("3.500000000,acked", "3.500000000,nacked");
        let error = FlowTrace::read(wrong.as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "line 7: \"nacked\" is not a value of the column `event`");
        assert!(matches!(FlowTrace::read("a,b\n".as_bytes()), Err(TraceError::Header(_))));
    }
}
