//! Metrics of one run of either simulator, under common names.

use std::collections::BTreeMap;
use std::path::Path;

use driftway_sim::results::RunResult;

use crate::error::Error;

/// A metric of both simulators.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name in results.
    pub name: &'static str,
    /// Label.
    pub label: &'static str,
    /// Heading of a narrow column.
    pub heading: &'static str,
    /// Meaning, in Markdown.
    pub meaning: &'static str,
}

/// Lists metrics: name, label and heading, and the meaning.
macro_rules! metrics {
    ($($name:literal, $label:literal, $heading:literal: $meaning:literal;)+) => {
        [$(Metric { name: $name, label: $label, heading: $heading, meaning: $meaning }),+]
    };
}

/// The compared metrics.
pub const METRICS: [Metric; 13] = metrics! {
    "goodput_bps", "goodput", "goodput":
        "Payload delivered in order, over all flows, divided by their time (bit/s).";
    "data_hops", "hops of data", "data":
        "TCP segments with payload, SYN or FIN, and datagrams, that routing sent or forwarded.";
    "ack_hops", "hops of ACKs", "ACKs":
        "Other TCP segments that routing sent or forwarded.";
    "segments_sent", "segments sent", "sent":
        "Data segments sent, retransmissions included, over all flows.";
    "retransmissions", "retransmissions", "retrans.":
        "Retransmissions among the data segments sent.";
    "timeouts", "timeouts", "RTO":
        "Retransmission timeouts, over all flows.";
    "routing_packets", "routing packets", "routing":
        "Control packets of routing, sent and forwarded.";
    "queue_drops", "queue drops", "queue":
        "Packets dropped because a queue was full.";
    "rts", "RTS", "RTS":
        "RTS frames sent.";
    "retries", "RTS retries", "retries":
        "RTS frames beyond one for each hop of a segment: `rts` − `data_hops` − `ack_hops`, at least 0.";
    "mac_data", "data frames", "data frames":
        "Data frames sent, broadcasts included.";
    "collisions", "collisions", "collisions":
        "Frames that a node could have decoded but for another frame.";
    "link_failures", "link failures", "link failures":
        "Packets dropped by the MAC layer because no CTS or no ACK was received.";
};

/// User CPU time, which is reported but not compared.
pub const CPU_TIME: &str = "user_s";

/// The drop reason of a full queue, as in results.
const QUEUE_OVERFLOW: &str = "queue-overflow";

/// The metrics of one run, by name; metrics that were not traced are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunMetrics(BTreeMap<String, f64>);

impl RunMetrics {
    /// Returns a metric.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    fn put(&mut self, name: &str, value: f64) {
        self.0.insert(name.to_owned(), value);
    }

    /// Derives a metric from the others: an RTS beyond the one that each packet and hop needs was
    /// not answered, or its data was not. The same for both simulators, whatever they count.
    fn derive(&mut self) {
        let of = |name: &str| self.get(name);
        if let (Some(rts), Some(data), Some(acks)) = (of("rts"), of("data_hops"), of("ack_hops"))
            && rts > 0.0
        {
            self.put("retries", (rts - data - acks).max(0.0));
        }
    }

    /// Parses lines of a name and a number, as `case.tcl` prints them among others.
    pub fn of_lines(text: &str) -> Self {
        let mut record = Self::default();
        for line in text.lines() {
            if let Some((name, value)) = line.split_once(' ')
                && let Ok(value) = value.trim().parse::<f64>()
            {
                record.put(name, value);
            }
        }
        record.derive();
        record
    }

    /// Metrics of a run of driftway over all its flows, which had `lasts` seconds.
    pub fn of_run(run: &RunResult, lasts: f64) -> Self {
        let mut record = Self::default();
        let sum = |read: fn(&driftway_sim::results::FlowResult) -> Option<f64>| -> f64 {
            run.flows.iter().filter_map(read).sum()
        };
        record.put("goodput_bps", sum(|f| Some(f.delivered_bytes as f64)) * 8.0 / lasts);
        if run.flows.iter().any(|flow| flow.tcp.is_some()) {
            record.put("segments_sent", sum(|f| Some(f.segments_sent as f64)));
            record.put("retransmissions", sum(|f| f.retransmissions.map(|n| n as f64)));
            record.put("timeouts", sum(|f| f.timeouts.map(|n| n as f64)));
        }
        if let Some(routing) = &run.routing {
            record.put("data_hops", routing.data_routed as f64);
            record.put("ack_hops", routing.acks_routed as f64);
            record.put("routing_packets", routing.packets_sent as f64);
            let dropped = run.drops.get(QUEUE_OVERFLOW).copied().unwrap_or(0);
            record.put("queue_drops", dropped as f64);
        }
        if let Some(mac) = &run.mac {
            record.put("rts", mac.rts as f64);
            // As in ns-2's trace: broadcast frames are data frames too.
            record.put("mac_data", (mac.data + mac.broadcast) as f64);
            record.put("collisions", mac.collisions as f64);
            record.put("link_failures", (mac.failed_no_cts + mac.failed_no_ack) as f64);
        }
        record.derive();
        record
    }

    /// Adds the CPU time of the run.
    pub fn with_user(mut self, user_s: f64) -> Self {
        self.put(CPU_TIME, user_s);
        self
    }
}

/// Stored runs, by case and point.
#[derive(Debug, Default)]
pub struct StoredRuns(BTreeMap<(String, String), Vec<(u64, RunMetrics)>>);

impl StoredRuns {
    /// Reads `path`: one row per run, with the columns `case`, `point`, `seed` and metrics.
    ///
    /// # Errors
    ///
    /// It cannot be read, or a number is invalid.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let wrong =
            |what: &dyn std::fmt::Display| Error::refused(format!("{}: {what}", path.display()));
        let mut reader = csv::Reader::from_path(path).map_err(|error| wrong(&error))?;
        let header = reader.headers().map_err(|error| wrong(&error))?.clone();
        let mut stored = Self::default();
        for row in reader.records() {
            let row = row.map_err(|error| wrong(&error))?;
            let line = row.position().map_or(0, csv::Position::line);
            let (mut case, mut point, mut seed) = (String::new(), String::new(), 0);
            let mut record = RunMetrics::default();
            for (name, value) in header.iter().zip(&row) {
                let bad = |_| wrong(&format!("line {line}: `{value}` is not a number ({name})"));
                match name {
                    "case" => value.clone_into(&mut case),
                    "point" => value.clone_into(&mut point),
                    "seed" => seed = value.parse().map_err(|_| bad(()))?,
                    _ if value.is_empty() => {}
                    _ => record.put(name, value.parse().map_err(|_| bad(()))?),
                }
            }
            record.derive();
            stored.0.entry((case, point)).or_default().push((seed, record));
        }
        Ok(stored)
    }

    /// The runs of a point: seed and metrics.
    pub fn runs(&self, case: &str, point: &str) -> &[(u64, RunMetrics)] {
        self.0.get(&(case.to_owned(), point.to_owned())).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn other_lines_are_ignored() {
        let text = "num_nodes is set 9\nrts 900\ndata_hops 300\nack_hops 290\nSORTING LISTS\n";
        let record = RunMetrics::of_lines(text);
        assert_eq!(record.get("rts"), Some(900.0));
        assert_eq!(record.get("retries"), Some(310.0));
        assert_eq!(record.get("num_nodes"), None);
    }

    #[test]
    fn all_stored_rows_are_read() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/validation");
        let stored = StoredRuns::load(&dir.join("ns2.csv")).unwrap();
        let runs = stored.runs("chain-static-w8", "8");
        assert!(runs.len() >= 3);
        let (seed, first) = &runs[0];
        assert_eq!((*seed, first.get("goodput_bps")), (1, Some(213_568.8)));
        assert_eq!(first.get("rts"), Some(88_802.0));
        // A metric that was not traced is absent, not zero.
        let (_, mobile) = &stored.runs("mobile-dsr", "v5-1")[0];
        assert_eq!((mobile.get("rts"), mobile.get("retries")), (None, None));
        assert!(stored.runs("mobile-dsr", "nowhere").is_empty());
    }

    #[test]
    fn invalid_rows_are_rejected_with_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "case,point,seed,rts\na,1,1,5\na,1,x,5\n").unwrap();
        let message = StoredRuns::load(file.path()).unwrap_err().to_string();
        assert!(message.contains("line 3: `x` is not a number (seed)"), "{message}");
    }
}
