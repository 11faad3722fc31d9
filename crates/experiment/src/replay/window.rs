//! The part of a run that a replay shows, and the state at its beginning.

use driftway_base::Instant;
use driftway_sim::log::{Entry, Event, Layer};

/// A part of a run, from `from` to `to`; without an end, to the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeWindow {
    /// The beginning.
    pub from: Instant,
    /// The end, which belongs to it.
    pub to: Option<Instant>,
}

/// The key of the state that an event determines until the next one with the same key; `None`: nothing that
/// lasts.
pub fn state_of(entry: &Entry) -> Option<(u8, u8, u32, Option<u32>, String)> {
    let (layer, event) = (entry.layer, entry.event);
    let key = |detail| Some((layer as u8, 0, entry.node, detail, String::new()));
    match (layer, event) {
        (Layer::Mobility, _) => key(None),
        (_, Event::RouteFound | Event::RouteLost) => key(entry.destination),
        (Layer::Queue, _) if entry.queue_length.is_some() => key(entry.air),
        (Layer::Link, _) if entry.queue_length.is_some() => key(entry.wire),
        (Layer::Aid, _) => key(entry.flow),
        (Layer::Tcp | Layer::Udp, _) => {
            let event = if event == Event::Retransmitted { Event::Sent } else { event };
            Some((layer as u8, event as u8 + 1, entry.node, entry.flow, String::new()))
        }
        (Layer::Fault, _) => {
            Some((layer as u8, 0, entry.node, None, entry.reason.clone().into_owned()))
        }
        _ => None,
    }
}
