//! The rows of the files of samples.

use std::io;

use driftway_base::Instant;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::flow_sample::FlowSample;
use super::link_sampler::LinkSample;
use crate::results::Direction;

/// One direction of a link at one time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSampleRow {
    /// The time (s).
    pub time_s: f64,
    /// The hop or wire, from 1.
    pub hop: u32,
    /// The direction: `forward`, towards higher nodes, or `backward`.
    pub direction: Direction,
    /// Capacity (bit/s): the rate at this time, or the mean of the delivery opportunities since the row before; 0
    /// while the link is cut.
    pub capacity_bps: f64,
    /// Packets in the queue of the sending end, without the one in transmission.
    pub queue_packets: u64,
    /// Bytes sent so far, from the IP header on.
    pub sent_bytes: u64,
}

/// A flow at one time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSampleRow {
    /// The time (s).
    pub time_s: f64,
    /// The flow's index in `runs[].flows`.
    pub flow: u32,
    /// Payload delivered in order so far (bytes).
    pub delivered_bytes: u64,
    /// Congestion window (bytes); `null` for UDP, and before the connection.
    pub cwnd_bytes: Option<u64>,
    /// Smoothed round-trip time of the sender (s), in the granularity of its clock; `null` for UDP, and without a
    /// sample.
    pub rtt_s: Option<f64>,
    /// Retransmissions so far; `null` for UDP.
    pub retransmissions: Option<u64>,
}

impl LinkSampleRow {
    pub(super) fn new(at: Instant, sample: &LinkSample) -> Self {
        Self {
            time_s: at.as_secs_f64(),
            hop: sample.hop,
            direction: sample.direction,
            capacity_bps: sample.capacity_bps,
            queue_packets: sample.queue_packets,
            sent_bytes: sample.sent_bytes,
        }
    }
}

impl FlowSampleRow {
    pub(super) fn new(at: Instant, sample: &FlowSample) -> Self {
        let FlowSample { flow, delivered_bytes, cwnd_bytes, rtt_s, retransmissions } = *sample;
        Self { time_s: at.as_secs_f64(), flow, delivered_bytes, cwnd_bytes, rtt_s, retransmissions }
    }
}

/// Writes rows as CSV.
///
/// # Errors
/// An error of `out`.
pub fn write_rows<R: Serialize>(
    rows: impl Iterator<Item = R>,
    out: impl io::Write,
) -> Result<(), csv::Error> {
    let mut out = csv::Writer::from_writer(out);
    for row in rows {
        out.serialize(row)?;
    }
    Ok(out.flush()?)
}

/// Reads rows that [`write_rows`] wrote.
///
/// # Errors
/// An error of `input`, or a line that is no such row.
pub fn read_rows<R: DeserializeOwned>(input: impl io::Read) -> Result<Vec<R>, csv::Error> {
    csv::Reader::from_reader(input).into_deserialize().collect()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let flow = FlowSampleRow {
            time_s: 0.1,
            flow: 3,
            delivered_bytes: 9,
            cwnd_bytes: None,
            rtt_s: Some(0.25),
            retransmissions: None,
        };
        let mut text = Vec::new();
        write_rows([flow, FlowSampleRow { rtt_s: None, ..flow }].into_iter(), &mut text).unwrap();
        assert!(
            text.starts_with(b"time_s,flow,delivered_bytes,cwnd_bytes,rtt_s,retransmissions\n")
        );
        let read: Vec<FlowSampleRow> = read_rows(&text[..]).unwrap();
        assert_eq!(read, [flow, FlowSampleRow { rtt_s: None, ..flow }]);
        let error = read_rows::<FlowSampleRow>(&b"time_s,flow\nx,1\n"[..]).unwrap_err().to_string();
        assert!(error.contains("line: 2"), "{error}");
    }
}
