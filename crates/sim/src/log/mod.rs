//! The event log of a run, one table of all events: written during the run, and read back for plots.
//!
//! The format is CSV, because pandas, R, DuckDB, spreadsheets and `awk` read it directly, and because
//! the libraries that write Parquet are larger than driftway. Each event is a row, in order of time;
//! the columns are the fields of [`Entry`].

mod entry;
mod events;
mod optional_seconds;
mod seconds;

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use driftway_base::{Duration, Instant};

use crate::flow_context::FlowContext;

pub use entry::{Entry, Event, IpPacketId, Layer, packet_kind};
pub use events::{COMMON_COLUMNS, EVENTS, EventInfo, PACKET_COLUMNS, Reasons, columns};

/// An event log that is being written.
pub struct EventLog {
    out: csv::Writer<Box<dyn Write + Send>>,
    /// The first error of the output; nothing is written after it.
    write_error: Option<csv::Error>,
    /// Frames are recorded when they end, but with their start time. Other entries wait for them, so
    /// that rows are in order of time.
    expects_frames: bool,
    /// Frames of several airs overlap, and end in another order than they begin.
    frames_overlap: bool,
    pending: VecDeque<Entry>,
    /// Packets belong to no flow of a scenario.
    is_without_flows: bool,
    /// The last recorded state of each flow's aid.
    aid_states: Vec<&'static str>,
    /// The interval at which positions are recorded; `None`: never.
    position_interval: Option<Duration>,
    /// The time at which positions are to be recorded next.
    next_positions: Instant,
}

/// Duration that no frame exceeds.
pub(crate) const LONGEST_FRAME: Duration = Duration::from_secs(1);

impl EventLog {
    /// A log that writes to `out`.
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: csv::Writer::from_writer(out),
            write_error: None,
            expects_frames: false,
            frames_overlap: false,
            pending: VecDeque::new(),
            is_without_flows: false,
            aid_states: Vec::new(),
            position_interval: Some(Duration::from_secs(1)),
            next_positions: Instant::ZERO,
        }
    }

    /// Sets the interval at which positions are recorded, from the start of the run on: 1 s if it is not
    /// set. `None`, or no time: they are not recorded.
    #[must_use]
    pub fn with_positions(self, interval: Option<Duration>) -> Self {
        Self { position_interval: interval.filter(|interval| !interval.is_zero()), ..self }
    }

    /// Leaves out the flows of packets, and offsets in their streams: packets are those of programs.
    #[must_use]
    pub fn without_flows(self) -> Self {
        Self { is_without_flows: true, ..self }
    }

    /// Prepares the log for entries of frames of this number of airs, which are passed to
    /// [`record_frame`](Self::record_frame) when each has ended.
    pub fn expect_frames(&mut self, airs: usize) {
        self.expects_frames = airs > 0;
        self.frames_overlap = airs > 1;
    }

    /// Records an event. Its time must not be before that of the last one.
    pub fn record(&mut self, entry: Entry) {
        if self.expects_frames {
            self.pending.push_back(entry);
        } else {
            self.write(&entry);
        }
    }

    /// Records a transmitted frame. Its start must not be before that of the last one of its air.
    pub fn record_frame(&mut self, entry: Entry) {
        let at = entry.time_s;
        if self.frames_overlap {
            let place = self.pending.partition_point(|other| other.time_s <= at);
            self.pending.insert(place, entry);
            self.write_pending(|other| other + LONGEST_FRAME <= at);
        } else {
            self.write_pending(|other| other <= at);
            self.write(&entry);
        }
    }

    fn write_pending(&mut self, is_due: impl Fn(Instant) -> bool) {
        while self.pending.front().is_some_and(|other| is_due(other.time_s)) {
            if let Some(other) = self.pending.pop_front() {
                self.write(&other);
            }
        }
    }

    /// Writes all waiting entries: no frame is being transmitted that could come before them.
    pub fn flush_pending(&mut self) {
        while let Some(entry) = self.pending.pop_front() {
            self.write(&entry);
        }
    }

    /// Records the state of a flow's aid, unless it is unchanged.
    pub(crate) fn record_aid_state(&mut self, at: FlowContext, state: &'static str) {
        let index = at.flow.index();
        if self.aid_states.len() <= index {
            self.aid_states.resize(index + 1, "");
        }
        if std::mem::replace(&mut self.aid_states[index], state) != state {
            self.record(Entry::of_flow(at, Layer::Aid, Event::State).with_reason(state));
        }
    }

    /// Returns the time at which positions are to be recorded next; in the far future if they are not.
    pub fn next_positions(&self) -> Instant {
        self.position_interval.map_or(Instant::FAR_FUTURE, |_| self.next_positions)
    }

    /// Returns the time at which positions are due by `now`, once for each.
    pub fn take_positions_due(&mut self, now: Instant) -> Option<Instant> {
        let (interval, due) = (self.position_interval?, self.next_positions);
        (due <= now).then(|| {
            self.next_positions = due + interval;
            due
        })
    }

    /// Ends the log.
    ///
    /// # Errors
    /// The first error of the output, now or before.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush_pending();
        match self.write_error {
            Some(error) => Err(error.into()),
            None => self.out.flush(),
        }
    }

    fn write(&mut self, entry: &Entry) {
        if self.write_error.is_some() {
            return;
        }
        self.write_error = if self.is_without_flows {
            self.out.serialize(Entry { flow: None, offset_bytes: None, ..entry.clone() }).err()
        } else {
            self.out.serialize(entry).err()
        };
    }

    /// The file name of a run's log.
    pub fn file_name(seed: u64) -> String {
        format!("events-seed-{seed}.csv")
    }

    /// Reads a log row by row. An error gives the line.
    pub fn read(input: impl Read) -> impl Iterator<Item = Result<Entry, csv::Error>> {
        csv::Reader::from_reader(input).into_deserialize()
    }
}

#[cfg(test)]
mod test;
