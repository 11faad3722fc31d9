//! Samples of a network and of the flows over it at regular times: the capacity, queue and traffic of each link, and
//! the progress, window and round-trip time of each flow.
//!
//! A driver asks for the time of the next samples ([`Samples::due`]) and adds them. Their number is bounded: when there
//! are too many, every second time is left out, and the interval doubles.

mod flow_sample;
mod link_sampler;
mod rows;

use driftway_base::{Duration, Instant};
use driftway_net::Network;

pub use flow_sample::FlowSample;
pub use link_sampler::{LinkSample, LinkSampler};
pub use rows::{FlowSampleRow, LinkSampleRow, read_rows, write_rows};

/// The first interval.
const INTERVAL: Duration = Duration::from_millis(100);
/// The largest number of rows of both files together.
const MAX_ROWS: usize = 20_000;

/// The samples of one time.
#[derive(Clone, Debug, PartialEq)]
struct Tick {
    at: Instant,
    links: Vec<LinkSample>,
    flows: Vec<FlowSample>,
}

/// The samples of a run.
#[derive(Clone, Debug)]
pub struct Samples {
    interval: Duration,
    due: Instant,
    sampler: LinkSampler,
    ticks: Vec<Tick>,
}

impl Default for Samples {
    fn default() -> Self {
        let sampler = LinkSampler::default();
        Self { interval: INTERVAL, due: Instant::ZERO, sampler, ticks: Vec::new() }
    }
}

impl Samples {
    /// The file name of the samples of links.
    pub fn links_file_name(seed: u64) -> String {
        format!("samples-seed-{seed}-links.csv")
    }

    /// The file name of the samples of flows.
    pub fn flows_file_name(seed: u64) -> String {
        format!("samples-seed-{seed}-flows.csv")
    }

    /// The time of the next samples.
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Takes samples of the links of a network, which has done everything before this time, and adds those of flows.
    /// The next are due an interval later.
    pub fn take(&mut self, at: Instant, net: &Network, flows: Vec<FlowSample>) {
        let links = self.sampler.sample(at, net);
        self.add(at, links, flows);
    }

    /// Adds samples of another's [`LinkSampler`].
    pub fn add(&mut self, at: Instant, links: Vec<LinkSample>, flows: Vec<FlowSample>) {
        self.add_tick(Tick { at, links, flows });
    }

    fn add_tick(&mut self, tick: Tick) {
        self.due = tick.at + self.interval;
        self.ticks.push(tick);
        let rows = |tick: &Tick| tick.links.len() + tick.flows.len();
        if self.ticks.iter().map(rows).sum::<usize>() > MAX_ROWS {
            self.halve();
        }
    }

    /// Leaves out every second time but the first; a capacity is the mean since the time before.
    fn halve(&mut self) {
        let mut ticks = std::mem::take(&mut self.ticks).into_iter();
        self.ticks.extend(ticks.next());
        while let Some(left_out) = ticks.next() {
            let Some(mut kept) = ticks.next() else {
                self.ticks.push(left_out);
                break;
            };
            for (kept, left_out) in kept.links.iter_mut().zip(&left_out.links) {
                kept.capacity_bps = f64::midpoint(kept.capacity_bps, left_out.capacity_bps);
            }
            self.ticks.push(kept);
        }
        self.interval = self.interval.times(2);
    }

    /// The rows of the file of links.
    pub fn link_rows(&self) -> impl Iterator<Item = LinkSampleRow> + '_ {
        self.ticks
            .iter()
            .flat_map(|tick| tick.links.iter().map(|sample| LinkSampleRow::new(tick.at, sample)))
    }

    /// The rows of the file of flows.
    pub fn flow_rows(&self) -> impl Iterator<Item = FlowSampleRow> + '_ {
        self.ticks
            .iter()
            .flat_map(|tick| tick.flows.iter().map(|sample| FlowSampleRow::new(tick.at, sample)))
    }
}

#[cfg(test)]
mod test {
    use crate::results::Direction;

    use super::*;

    fn tick(millis: u64) -> Tick {
        let link = LinkSample {
            hop: 1,
            direction: Direction::Forward,
            capacity_bps: millis as f64,
            queue_packets: millis,
            sent_bytes: millis,
        };
        Tick { at: Instant::from_millis(millis), links: vec![link], flows: Vec::new() }
    }

    #[test]
    fn their_number_is_bounded() {
        let mut samples = Samples::default();
        for _ in 0..5 * MAX_ROWS {
            let due = samples.due();
            samples.add_tick(tick(due.as_millis()));
            assert!(samples.ticks.len() <= MAX_ROWS);
        }
        let rows: Vec<_> = samples.link_rows().collect();
        assert!(rows.len() > MAX_ROWS / 2);
        assert!(rows.windows(2).all(|pair| pair[0].time_s < pair[1].time_s));
        // The first time stays, and the last.
        assert_eq!(rows[0].time_s, 0.0);
        let [before, last] = [2, 1].map(|back| &rows[rows.len() - back]);
        assert_eq!(samples.due(), Instant::from_millis(last.sent_bytes) + samples.interval);
        assert!(last.time_s - before.time_s <= samples.interval.as_secs_f64() + 1e-9);
        // The mean of what it stands for: the capacity is the time in this test.
        assert!(rows[1].capacity_bps < rows[1].queue_packets as f64);
    }
}
