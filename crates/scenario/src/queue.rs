//! `queue = { … }`: what waits before a link, what is marked and what is dropped.

use serde::{Deserialize, Serialize};

/// `queue = { packets = 50, … }`. Limits count waiting packets, not the one in service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of a queue")]
pub struct Queue {
    /// The most packets that wait. Default 50.
    pub packets: u32,
    /// How packets are dropped or marked. Default `"drop-tail"`.
    pub discipline: Discipline,
    /// Ad hoc networks only: who goes first. Default `"none"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Ad hoc networks only: `false` if the packet that arrives is counted, too, so that the queue
    /// is full with one packet less than `packets` (ns-2.35 has such queues). Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_place: Option<bool>,
    /// Ad hoc networks only: a TCP segment goes before those of its connection that come later in the
    /// stream, so that what routing puts in again does not overtake it (`westin-2003` §5.2). Default
    /// false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sorted: Option<bool>,
    /// Ad hoc networks only: a TCP segment with data is dropped as `repeated` where a copy of it waits
    /// already (`westin-2003` §5.2). Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discards_repeated: Option<bool>,
    /// Drop-tail only: an ECN-capable packet is marked if at least this many wait at its arrival.
    /// Default: no marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_threshold: Option<u32>,
    /// The router sends an ICMP source quench for each packet that it drops here (RFC 792; RFC 6633
    /// says that none may be sent any more). Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub source_quench: bool,
    /// RED only: below this average queue (packets) nothing is dropped. Default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_threshold: Option<f64>,
    /// RED only: from this average queue (packets) on everything is dropped. Default three times
    /// `min_threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_threshold: Option<f64>,
    /// RED only: the probability of a drop as the average nears `max_threshold`. Default 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_probability: Option<f64>,
    /// RED only: the weight of the newest sample in the average. Default 0.002. While nothing waits
    /// the average falls by a sample for each packet of 500 B that could have been sent: at the
    /// link's rate, in an ad hoc network by the node alone on the air (an exchange of 802.11 with
    /// half the first contention window, a round of TDMA).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// RED only: mark ECN-capable packets in place of dropping them. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
}

/// How a queue drops or marks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// The packet that finds the queue full is dropped.
    #[default]
    DropTail,
    /// Random early detection (RFC 2309; Floyd & Jacobson 1993).
    Red,
}

/// Which packets of an interface queue go first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Priority {
    /// Those that came first.
    #[default]
    None,
    /// Those of the routing protocol go to the front; when the queue is full, the last in it is
    /// lost.
    RoutingFirst,
    /// Four queues of `packets` each: as long as there is something in one, the next has to wait.
    /// The routing protocol's, audio and video (which no application is here), TCP's
    /// acknowledgments without data, all else.
    Classes,
}

/// RED's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Below this average queue (packets) nothing is dropped.
    pub min_threshold: f64,
    /// From this average queue (packets) on everything is dropped.
    pub max_threshold: f64,
    /// The probability of a drop as the average nears `max_threshold`.
    pub max_probability: f64,
    /// The weight of the newest sample in the average.
    pub weight: f64,
    /// Mark ECN-capable packets in place of dropping them.
    pub ecn: bool,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            packets: 50,
            discipline: Discipline::DropTail,
            priority: None,
            last_place: None,
            sorted: None,
            discards_repeated: None,
            ecn_threshold: None,
            source_quench: false,
            min_threshold: None,
            max_threshold: None,
            max_probability: None,
            weight: None,
            ecn: None,
        }
    }
}

impl Queue {
    /// How many packets wait at most.
    pub fn limit(&self) -> usize {
        let limit = self.packets as usize;
        if self.last_place == Some(false) { limit.saturating_sub(1) } else { limit }
    }

    /// RED's parameters with their defaults; `None` for drop-tail.
    pub fn red(&self) -> Option<Red> {
        // Floyd & Jacobson 1993 §V: a maximum threshold of at least twice the minimum; three
        // times, a weight of 0.002 and a minimum of five packets are what ns-2 ships with.
        let min_threshold = self.min_threshold.unwrap_or(5.0);
        (self.discipline == Discipline::Red).then(|| Red {
            min_threshold,
            max_threshold: self.max_threshold.unwrap_or(3.0 * min_threshold),
            max_probability: self.max_probability.unwrap_or(0.1),
            weight: self.weight.unwrap_or(0.002),
            ecn: self.ecn.unwrap_or(false),
        })
    }

    /// Writes RED's defaults into the keys that were left out.
    pub(crate) fn resolve(&mut self) {
        if let Some(red) = self.red() {
            self.min_threshold = Some(red.min_threshold);
            self.max_threshold = Some(red.max_threshold);
            self.max_probability = Some(red.max_probability);
            self.weight = Some(red.weight);
            self.ecn = Some(red.ecn);
        }
    }
}
