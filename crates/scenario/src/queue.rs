//! The table `queue`: queue discipline, dropping and marking.

use driftway_base::Duration;
use serde::{Deserialize, Serialize};

use crate::quantity::Time;

/// Queue of a link or interface, `queue = { packets = 50, … }`. Limits count waiting packets, not
/// the one being transmitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of a queue")]
pub struct Queue {
    /// Maximum number of waiting packets. 1 to 1000000. Default 50.
    pub packets: u32,
    /// Queue discipline: `"drop-tail"`, `"red"` or `"codel"`. Default `"drop-tail"`.
    pub discipline: Discipline,
    /// Priority of packets: `"none"`, `"routing-first"` or `"classes"`. Ad hoc networks only.
    /// Default `"none"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The limit `packets` counts the arriving packet as well as those that wait, so that at most
    /// `packets` − 1 wait. With `compat = "ns-2"` true, except under DSR. Ad hoc networks only.
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_arriving: Option<bool>,
    /// Inserts a TCP segment before the queued segments of the same connection that are later in
    /// the stream, so that rerouted segments are not overtaken (westin-2003 §5.2). Ad hoc networks
    /// only. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sorted: Option<bool>,
    /// Drops a TCP data segment, with the reason `repeated`, if a copy of it is already queued
    /// (westin-2003 §5.2). Ad hoc networks only. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discards_repeated: Option<bool>,
    /// Number of waiting packets from which on an arriving ECN-capable packet is marked. At most
    /// `packets`. Drop-tail only. Default: no marking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_threshold: Option<u32>,
    /// Sends an ICMP source quench to the source of each packet that this queue drops (RFC 792;
    /// deprecated by RFC 6633). Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub source_quench: bool,
    /// Minimum threshold of RED in packets: no packet is dropped while the average queue length is
    /// below it (Floyd & Jacobson 1993). RED only. Default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_threshold: Option<f64>,
    /// Maximum threshold of RED in packets: every packet is dropped while the average queue length
    /// is at or above it. RED only. Default: three times `min_threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_threshold: Option<f64>,
    /// Drop probability of RED as the average queue length approaches the maximum threshold. Above
    /// 0, at most 1. RED only. Default 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_probability: Option<f64>,
    /// Weight of the newest sample in RED's average queue length. While the queue is empty, the
    /// average decays by one sample for each 500-byte packet that could have been sent: at the
    /// link's rate, or in an ad hoc network by this node alone (an 802.11 exchange with half the
    /// minimum contention window, or a TDMA round). Above 0, at most 1. RED only. Default 0.002.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Waiting time that CoDel accepts of a standing queue. Above 0. CoDel only. Default 5 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Time>,
    /// Time for which the waiting time must exceed `target` before CoDel drops a packet, and the
    /// time to the next drop, which shrinks with the square root of their number (RFC 8289). About
    /// the longest usual round-trip time; above `target`. CoDel only. Default 100 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// Marks ECN-capable packets instead of dropping them early. RED and CoDel only. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
}

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
}

/// Priority of packets in an interface queue.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Priority {
    /// `"none"`: first in, first out.
    #[default]
    None,
    /// `"routing-first"`: packets of the routing protocol are inserted at the head; when the queue
    /// is full, the packet at its tail is dropped.
    RoutingFirst,
    /// `"classes"`: four queues with the same limit in strict priority: routing protocol, audio and
    /// video (which no application here sends), TCP acknowledgments without data, and all others.
    Classes,
}

/// Parameters of RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Minimum threshold of the average queue length in packets.
    pub min_threshold: f64,
    /// Maximum threshold of the average queue length in packets.
    pub max_threshold: f64,
    /// Drop probability as the average approaches `max_threshold`.
    pub max_probability: f64,
    /// Weight of the newest sample in the average.
    pub weight: f64,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codel {
    /// Acceptable waiting time of a standing queue.
    pub target: Duration,
    /// Time for which the waiting time must exceed the target before a packet is dropped.
    pub interval: Duration,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            packets: 50,
            discipline: Discipline::DropTail,
            priority: None,
            count_arriving: None,
            sorted: None,
            discards_repeated: None,
            ecn_threshold: None,
            source_quench: false,
            min_threshold: None,
            max_threshold: None,
            max_probability: None,
            weight: None,
            target: None,
            interval: None,
            ecn: None,
        }
    }
}

impl Queue {
    /// Maximum number of waiting packets.
    pub fn limit(&self) -> usize {
        let limit = self.packets as usize;
        if self.count_arriving == Some(true) { limit.saturating_sub(1) } else { limit }
    }

    /// Parameters of RED with their defaults; `None` for another discipline.
    pub fn red(&self) -> Option<Red> {
        // Floyd & Jacobson 1993 §V: a maximum threshold of at least twice the minimum. Three times,
        // a weight of 0.002 and a minimum of five packets are the defaults of ns-2.
        let min_threshold = self.min_threshold.unwrap_or(5.0);
        (self.discipline == Discipline::Red).then(|| Red {
            min_threshold,
            max_threshold: self.max_threshold.unwrap_or(3.0 * min_threshold),
            max_probability: self.max_probability.unwrap_or(0.1),
            weight: self.weight.unwrap_or(0.002),
            ecn: self.ecn.unwrap_or(false),
        })
    }

    /// Parameters of CoDel with their defaults; `None` for another discipline.
    pub fn codel(&self) -> Option<Codel> {
        // RFC 8289 §4.3 and §4.4: recommended for links of the Internet.
        let or = |time: Option<Time>, millis| time.map_or(Duration::from_millis(millis), |t| t.0);
        (self.discipline == Discipline::Codel).then(|| Codel {
            target: or(self.target, 5),
            interval: or(self.interval, 100),
            ecn: self.ecn.unwrap_or(false),
        })
    }

    /// Fills in the defaults of the discipline.
    pub(crate) fn resolve(&mut self) {
        if let Some(red) = self.red() {
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
    }
}
