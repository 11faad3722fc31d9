//! The table `queue`: queue discipline, dropping and marking.

use std::borrow::Cow;
use std::ops::Bound;

use driftway_base::{Duration, Rate};
use driftway_link::{CodelConfig, FqCodelConfig, PieConfig, Priority, QueueConfig, RedConfig};
use serde::{Deserialize, Serialize};

use crate::deviation::{Deviation, DeviationScope};
use crate::file_value::Keyword;
use crate::keys::keys;
use crate::quantity::{Size, Time};

keys! {
    /// Queue of a link or interface, `queue = { packets = 50, … }`. Limits count waiting packets, not
    /// the one being transmitted.
    pub struct Queue with defaults expecting "a table with the keys of a queue" {
        /// Maximum number of waiting packets.
        packets: u32 [range("the limit of packets", 1..=1_000_000)] = 50,
        /// Maximum size of all waiting packets together, such as `"64 kB"`; the limit `packets`
        /// applies as well. At least 1500 B. Of links only.
        bytes: Option<Size> [real(
            "fewer bytes than a packet has", MIN_BYTES as f64.., "at least 1500 B"
        )] => "unlimited",
        /// Maximum size of all waiting packets together, as the time that it takes to send them at
        /// the rate of the link, of a trace in the mean; at least 1500 B. The limits `packets` and
        /// `bytes` apply as well. Of links only.
        time: Option<Time> [positive()] => "unlimited",
        /// Queue discipline: `"drop-tail"`, `"red"`, `"codel"`, `"fq-codel"` or `"pie"`.
        discipline: Discipline = Discipline::DropTail,
        /// Priority of packets: `"none"`, `"routing-first"` or `"classes"`. Ad hoc networks only.
        priority: Option<Keyword<Priority>> => (Keyword(Priority::None)),
        /// The limit `packets` counts the arriving packet as well as those that wait, so that at
        /// most `packets` − 1 wait. With `compat = "ns-2"` true, except under DSR. Ad hoc networks
        /// only.
        count_arriving: Option<bool> => (false),
        /// Inserts a TCP segment before the queued segments of the same connection that are later
        /// in the stream, so that rerouted segments are not overtaken (westin-2003 §5.2). Ad hoc
        /// networks only.
        sorted: Option<bool> => (false),
        /// Drops a TCP data segment, with the reason `repeated`, if a copy of it is already queued
        /// (westin-2003 §5.2). Ad hoc networks only.
        discards_repeated: Option<bool> => (false),
        /// Number of waiting packets from which on an arriving ECN-capable packet is marked. At
        /// most `packets`. Drop-tail only.
        ecn_threshold: Option<u32> => "no marking",
        /// Sends an ICMP source quench to the source of each packet that this queue drops (RFC 792;
        /// deprecated by RFC 6633).
        source_quench: bool => default,
        /// Minimum threshold of RED in packets: no packet is dropped while the average queue length
        /// is below it (Floyd & Jacobson 1993). RED only.
        min_threshold: Option<f64> [real(
            "a threshold of {} packets", (Bound::Excluded(0.0), Bound::Unbounded), "thresholds are above 0"
        )] => (5.0),
        /// Maximum threshold of RED in packets: every packet is dropped while the average queue
        /// length is at or above it. RED only.
        max_threshold: Option<f64> => "three times `min_threshold`",
        /// Drop probability of RED as the average queue length approaches the maximum threshold.
        /// RED only.
        max_probability: Option<f64> [share("`max_probability` of {}")] => (0.1),
        /// Weight of the newest sample in RED's average queue length. While the queue is empty, the
        /// average decays by one sample for each 500-byte packet that could have been sent: at the
        /// link's rate, or in an ad hoc network by this node alone (an 802.11 exchange with half
        /// the minimum contention window, or a TDMA round). RED only.
        weight: Option<f64> [share("`weight` of {}")] => (0.002),
        /// Waiting time that CoDel accepts of a standing queue, or that PIE aims at. Above 0. CoDel,
        /// FQ-CoDel and PIE only.
        target: Option<Time> => "`\"5 ms\"` of CoDel, `\"15 ms\"` of PIE",
        /// Time for which the waiting time must exceed `target` before CoDel drops a packet, and
        /// the time to the next drop, which shrinks with the square root of their number (RFC
        /// 8289): about the longest usual round-trip time; above `target`. Of PIE the time between
        /// two updates of its drop probability (RFC 8033), above 0. CoDel, FQ-CoDel and PIE only.
        interval: Option<Time> => "`\"100 ms\"` of CoDel, `\"15 ms\"` of PIE",
        /// Marks ECN-capable packets instead of dropping them early; PIE does so while its drop
        /// probability is below 0.1. RED, CoDel, FQ-CoDel and PIE only.
        ecn: Option<bool> => (false),
    }
}

/// Smallest limit in bytes: a packet of usual size fits.
pub(crate) const MIN_BYTES: u64 = 1500;

/// Queue discipline.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// `"drop-tail"`: a packet that arrives at a full queue is dropped.
    #[default]
    DropTail,
    /// `"red"`: random early detection (RFC 2309; Floyd & Jacobson 1993).
    Red,
    /// `"codel"`: controlled delay (RFC 8289): packets are dropped as they leave a queue in which
    /// they have waited too long.
    Codel,
    /// `"fq-codel"`: controlled delay in a queue of each flow (RFC 8290): 1024 queues, to which flows
    /// are assigned by a hash, send 1514 bytes each in turn, those that have just begun first. At the
    /// limit half of the longest queue is dropped, at most 64 packets. Of links only.
    FqCodel,
    /// `"pie"`: proportional integral controller enhanced (RFC 8033): packets are dropped with a
    /// probability that follows the waiting time and its growth.
    Pie,
}

impl Queue {
    /// Maximum number of waiting packets.
    pub fn limit(&self) -> usize {
        let limit = self.packets as usize;
        if self.count_arriving() { limit.saturating_sub(1) } else { limit }
    }

    /// Parameters of RED with their defaults; `None` for another discipline. `frame_time` is the
    /// transmission time of a typical packet, for the decay of the average during idle time.
    pub(crate) fn red(&self, frame_time: Duration) -> Option<RedConfig> {
        // Floyd & Jacobson 1993 §V: a maximum threshold of at least twice the minimum. Three times,
        // a weight of 0.002 and a minimum of five packets are the defaults of ns-2.
        let min_threshold = self.min_threshold();
        (self.discipline == Discipline::Red).then(|| RedConfig {
            min_threshold,
            max_threshold: self.max_threshold.unwrap_or(3.0 * min_threshold),
            max_probability: self.max_probability(),
            weight: self.weight(),
            frame_time,
            ecn: self.ecn(),
        })
    }

    /// Parameters of CoDel with their defaults, of FQ-CoDel in each queue; `None` for another
    /// discipline.
    pub(crate) fn codel(&self) -> Option<CodelConfig> {
        // RFC 8289 §4.3 and §4.4: recommended for links of the Internet.
        let or = |time: Option<Time>, millis| time.map_or(Duration::from_millis(millis), |t| t.0);
        matches!(self.discipline, Discipline::Codel | Discipline::FqCodel).then(|| CodelConfig {
            target: or(self.target, 5),
            interval: or(self.interval, 100),
            ecn: self.ecn(),
        })
    }

    /// Parameters of PIE with their defaults; `None` for another discipline.
    pub(crate) fn pie(&self) -> Option<PieConfig> {
        // RFC 8033 §4.2 and §5: 15 ms each.
        let or = |time: Option<Time>| time.map_or(Duration::from_millis(15), |t| t.0);
        (self.discipline == Discipline::Pie).then(|| PieConfig {
            target: or(self.target),
            interval: or(self.interval),
            ecn: self.ecn(),
        })
    }

    /// Configuration of the queue of a link with this rate in the mean.
    pub(crate) fn link_config(&self, rate: Rate, mark_loss: f64) -> QueueConfig {
        let in_time = self.time.map(|Time(time)| {
            let bits = u128::from(rate.as_bps()) * u128::from(time.as_nanos()) / 1_000_000_000;
            u64::try_from(bits / 8).unwrap_or(u64::MAX).max(MIN_BYTES)
        });
        QueueConfig {
            limit: self.packets as usize,
            max_bytes: self.bytes.map(|Size(bytes)| bytes).into_iter().chain(in_time).min(),
            discipline: self.config(rate.transmission_time(RedConfig::TYPICAL_FRAME_BYTES)),
            mark_loss,
        }
    }

    /// Configuration of the discipline. `frame_time` is the transmission time of a typical packet, for
    /// RED's decay during idle time.
    pub fn config(&self, frame_time: Duration) -> driftway_link::Discipline {
        let red = self.red(frame_time).map(driftway_link::Discipline::Red);
        let codel = || {
            self.codel().map(|codel| match self.discipline {
                // RFC 8290 §5.2.
                Discipline::FqCodel => driftway_link::Discipline::FqCodel(FqCodelConfig {
                    codel,
                    quantum: 1514,
                    flows: 1024,
                }),
                _ => driftway_link::Discipline::Codel(codel),
            })
        };
        let early = red.or_else(codel).or_else(|| self.pie().map(driftway_link::Discipline::Pie));
        let ecn_threshold = self.ecn_threshold.map(|packets| packets as usize);
        early.unwrap_or(driftway_link::Discipline::DropTail { ecn_threshold })
    }

    /// Fills in the defaults of the discipline.
    pub(crate) fn resolve(&mut self) {
        if let Some(red) = self.red(Duration::ZERO) {
            self.min_threshold = Some(red.min_threshold);
            self.max_threshold = Some(red.max_threshold);
            self.max_probability = Some(red.max_probability);
            self.weight = Some(red.weight);
            self.ecn = Some(red.ecn);
        }
        if let Some(codel) = self.codel() {
            self.target = Some(Time(codel.target));
            self.interval = Some(Time(codel.interval));
            self.ecn = Some(codel.ecn);
        }
        if let Some(pie) = self.pie() {
            self.target = Some(Time(pie.target));
            self.interval = Some(Time(pie.interval));
            self.ecn = Some(pie.ecn);
        }
    }
}

/// Deviations of ns-2.35.
pub(crate) const NS2: &[Deviation] = &[
    Deviation {
        key: Cow::Borrowed("queue.priority"),
        scope: DeviationScope::NotDsr,
        standard: Cow::Borrowed(r#""none""#),
        ns2: Cow::Borrowed(r#""routing-first""#),
        standard_says: "RFC 3561 does not specify queues.",
        ns2_does: "Scripts use `Queue/DropTail/PriQueue`: one queue with routing packets at its \
                   head; on overflow the packet at the tail is dropped (queue/priqueue.cc).",
    },
    Deviation {
        key: Cow::Borrowed("queue.priority"),
        scope: DeviationScope::Dsr,
        standard: Cow::Borrowed(r#""none""#),
        ns2: Cow::Borrowed(r#""classes""#),
        standard_says: "RFC 4728 §4.1 mentions a network interface queue without an order.",
        ns2_does: "DSR runs with `CMUPriQueue` only: four queues of `packets` each with strict \
                   priority: routing, real-time, TCP acknowledgments, others \
                   (queue/dsr-priqueue.cc). Acknowledgments overtake data at every hop.",
    },
    Deviation {
        key: Cow::Borrowed("queue.count_arriving"),
        scope: DeviationScope::NotDsr,
        standard: Cow::Borrowed("false"),
        ns2: Cow::Borrowed("true"),
        standard_says: "A queue of 50 packets holds 50.",
        ns2_does: "Its drop-tail queue also counts the arriving packet, and is full with 49 \
                   (queue/drop-tail.cc, queue/priqueue.cc); that of DSR is not.",
    },
];
