//! What happened in a run, event by event, as one table: written as the run goes, read back for
//! plots.
//!
//! CSV, because pandas, R, DuckDB, spreadsheets and `awk` read it without asking, and because the
//! libraries that write Parquet are larger than driftway. One row an event, in order of time; the
//! columns are the fields of [`Entry`].

mod entry;

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use driftway_base::{Duration, Instant};

pub use entry::{Entry, Event, Layer, IpPacketId, packet_kind};

/// An event log under way.
pub struct EventLog {
    out: csv::Writer<Box<dyn Write + Send>>,
    /// The first thing that the output refused; nothing is written after it.
    write_error: Option<csv::Error>,
    /// Frames are told late: what happens meanwhile waits for them, so that rows are in order.
    expects_frames: bool,
    pending: VecDeque<Entry>,
    /// The last state of each flow's aid.
    aid_states: Vec<&'static str>,
    /// When it is to be told next where nodes are.
    next_positions: Instant,
}

/// How often a log says where nodes are: at the first event after each second.
const POSITION_INTERVAL: Duration = Duration::from_secs(1);

impl EventLog {
    /// A log that writes to `out`.
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: csv::Writer::from_writer(out),
            write_error: None,
            expects_frames: false,
            pending: VecDeque::new(),
            aid_states: Vec::new(),
            next_positions: Instant::ZERO,
        }
    }

    /// Frames will be told with [`frame`](Self::frame), each once it is over.
    pub fn expect_frames(&mut self) {
        self.expects_frames = true;
    }

    /// Something happened, not before what was told last.
    pub fn record(&mut self, entry: Entry) {
        if self.expects_frames {
            self.pending.push_back(entry);
        } else {
            self.write(&entry);
        }
    }

    /// A frame was put on the air, not before the one that was told last.
    pub fn record_frame(&mut self, entry: &Entry) {
        while self.pending.front().is_some_and(|other| other.time_s <= entry.time_s) {
            if let Some(other) = self.pending.pop_front() {
                self.write(&other);
            }
        }
        self.write(entry);
    }

    /// No frame is on the air: nothing has to wait for one.
    pub fn flush_pending(&mut self) {
        while let Some(entry) = self.pending.pop_front() {
            self.write(&entry);
        }
    }

    /// The aid of a flow is in this state from now on. One that it is in already leaves no row.
    pub fn record_aid_state(&mut self, now: Instant, node: u32, flow: usize, state: &'static str) {
        if self.aid_states.len() <= flow {
            self.aid_states.resize(flow + 1, "");
        }
        if std::mem::replace(&mut self.aid_states[flow], state) != state {
            let entry = Entry::new(now, node, Layer::Aid, Event::State).with_reason(state);
            self.record(Entry { flow: Some(flow as u32), ..entry });
        }
    }

    /// Is it time to tell where nodes are? Asked again at the same instant: no.
    pub fn take_positions_due(&mut self, now: Instant) -> bool {
        let due = now >= self.next_positions;
        if due {
            self.next_positions = now + POSITION_INTERVAL;
        }
        due
    }

    /// Ends the log.
    ///
    /// # Errors
    /// What the output refused, now or before.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush_pending();
        match self.write_error {
            Some(error) => Err(error.into()),
            None => self.out.flush(),
        }
    }

    fn write(&mut self, entry: &Entry) {
        if self.write_error.is_none() {
            self.write_error = self.out.serialize(entry).err();
        }
    }

    /// The file name of a run's log.
    pub fn file_name(seed: u64) -> String {
        format!("events-seed-{seed}.csv")
    }

    /// Reads what a log wrote, row by row. An error says in which line.
    pub fn read(input: impl Read) -> impl Iterator<Item = Result<Entry, csv::Error>> {
        csv::Reader::from_reader(input).into_deserialize()
    }
}

#[cfg(test)]
mod test;
