//! The rows of an event log in memory: values that repeat are kept once and named by an index.

use std::collections::BTreeMap;
use std::io::Read;

use driftway_sim::log::{Entry, Event, EventLog, IpPacketId, Layer};

use super::window::{TimeWindow, state_of};

/// The events of a run, in the order of its log.
#[derive(Debug, Default)]
pub struct Rows {
    /// The rows, in order of time.
    pub rows: Vec<Row>,
    /// The headers of packets.
    pub headers: Vec<Header>,
    /// The classes of rows.
    pub classes: Vec<Class>,
    /// The words of the columns `reason` and `kind`; the first is empty.
    pub words: Vec<String>,
    /// The source routes, as the log writes them.
    pub routes: Vec<String>,
    header_index: BTreeMap<Header, u32>,
    class_index: BTreeMap<(u8, u8, u32), u32>,
    word_index: BTreeMap<String, u32>,
    route_index: BTreeMap<String, u32>,
}

/// A class of rows: those with the same layer, event and kind of packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// The layer.
    pub layer: Layer,
    /// The event.
    pub event: Event,
    /// The kind of the packet, an index of [`Rows::words`].
    pub kind: u32,
}

/// The fields of a packet that stay the same from hop to hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Header {
    /// The kind, an index of [`Rows::words`].
    pub kind: u32,
    /// The flow.
    pub flow: Option<u32>,
    /// The source and the IP identification.
    pub packet: Option<(u32, u16)>,
    /// The source by the IP header.
    pub source: Option<u32>,
    /// The destination by the IP header.
    pub destination: Option<u32>,
    /// The offset in the stream of the flow (bytes).
    pub offset: Option<u64>,
}

/// A row of the log. Positions are rounded to centimetres; everything else is as in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The time (ns).
    pub time: u64,
    /// An index of [`Rows::classes`].
    pub class: u32,
    /// The node.
    pub node: u32,
    /// An index of [`Rows::words`].
    pub reason: u32,
    /// An index of [`Rows::headers`].
    pub header: Option<u32>,
    /// An index of [`Rows::routes`].
    pub route: Option<u32>,
    /// The node at the other end of the hop.
    pub neighbour: Option<u32>,
    /// The size (bytes).
    pub bytes: Option<u32>,
    /// The number of hops.
    pub hops: Option<u32>,
    /// The length of the queue.
    pub queue: Option<u32>,
    /// The wire, from 1.
    pub wire: Option<u32>,
    /// The air, from 0.
    pub air: Option<u32>,
    /// Columns that only rows without a packet have; most rows have none of them.
    pub own: Option<Box<Own>>,
}

/// Columns of rows without a packet: of TCP, UDP, an aid, routes and positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Own {
    /// The flow.
    pub flow: Option<u32>,
    /// The destination of a route.
    pub destination: Option<u32>,
    /// The offset in the stream of the flow (bytes).
    pub offset: Option<u64>,
    /// The congestion window (bytes).
    pub cwnd: Option<u32>,
    /// The slow-start threshold (bytes).
    pub ssthresh: Option<u32>,
    /// The retransmission timeout (ns).
    pub rto: Option<u64>,
    /// The x coordinate (cm).
    pub x: Option<i64>,
    /// The y coordinate (cm).
    pub y: Option<i64>,
}

impl Rows {
    /// Reads an event log. Of the time before `window` only the rows remain that determine what holds at
    /// its beginning: positions, routes, queue lengths, and the last rows of each flow.
    ///
    /// # Errors
    /// A log that cannot be read or is invalid, with the line.
    pub fn read(log: impl Read, window: TimeWindow) -> Result<Self, csv::Error> {
        let mut rows = Self::default();
        let mut before = BTreeMap::new();
        let mut is_before = true;
        for (number, entry) in EventLog::read(log).enumerate() {
            let entry = entry?;
            if window.to.is_some_and(|to| entry.time_s > to) {
                break;
            }
            if entry.time_s < window.from {
                if let Some(key) = state_of(&entry) {
                    before.insert(key, (number, entry));
                }
                continue;
            }
            if std::mem::take(&mut is_before) {
                rows.add_state(std::mem::take(&mut before));
            }
            rows.add(&entry);
        }
        if is_before {
            rows.add_state(before);
        }
        Ok(rows)
    }

    fn add_state<K>(&mut self, before: BTreeMap<K, (usize, Entry)>) {
        let mut entries: Vec<_> = before.into_values().collect();
        entries.sort_by_key(|(number, _)| *number);
        for (_, entry) in &entries {
            self.add(entry);
        }
    }

    /// Adds the next row of the log.
    pub fn add(&mut self, entry: &Entry) {
        // The first word is the empty one.
        self.word("");
        let kind = self.word(&entry.kind);
        let class = self.class(entry.layer, entry.event, kind);
        let reason = self.word(&entry.reason);
        let has_header = kind != 0 || entry.packet.is_some() || entry.source.is_some();
        let header = has_header.then(|| {
            self.header(Header {
                kind,
                flow: entry.flow,
                packet: entry
                    .packet
                    .map(|IpPacketId { source, identification }| (source, identification)),
                source: entry.source,
                destination: entry.destination,
                offset: entry.offset_bytes,
            })
        });
        let is_own = !has_header;
        let own = Own {
            flow: entry.flow.filter(|_| is_own),
            destination: entry.destination.filter(|_| is_own),
            offset: entry.offset_bytes.filter(|_| is_own),
            cwnd: entry.cwnd_bytes,
            ssthresh: entry.ssthresh_bytes,
            rto: entry.rto_s.map(driftway_base::Duration::as_nanos),
            x: entry.x_m.map(centimetres),
            y: entry.y_m.map(centimetres),
        };
        let route = entry.source_route.as_deref().map(|route| self.route(route));
        self.rows.push(Row {
            time: entry.time_s.as_nanos(),
            class,
            node: entry.node,
            reason,
            header,
            route,
            neighbour: entry.neighbour,
            bytes: entry.bytes,
            hops: entry.hops,
            queue: entry.queue_length,
            wire: entry.wire,
            air: entry.air,
            own: (own != Own::default()).then(|| Box::new(own)),
        });
    }

    fn word(&mut self, word: &str) -> u32 {
        intern(&mut self.words, &mut self.word_index, word)
    }

    fn route(&mut self, route: &str) -> u32 {
        intern(&mut self.routes, &mut self.route_index, route)
    }

    fn class(&mut self, layer: Layer, event: Event, kind: u32) -> u32 {
        let next = self.classes.len() as u32;
        let index = *self.class_index.entry((layer as u8, event as u8, kind)).or_insert(next);
        if index == next {
            self.classes.push(Class { layer, event, kind });
        }
        index
    }

    fn header(&mut self, header: Header) -> u32 {
        let next = self.headers.len() as u32;
        let index = *self.header_index.entry(header).or_insert(next);
        if index == next {
            self.headers.push(header);
        }
        index
    }
}

fn intern(all: &mut Vec<String>, index: &mut BTreeMap<String, u32>, text: &str) -> u32 {
    if let Some(found) = index.get(text) {
        return *found;
    }
    let next = all.len() as u32;
    all.push(text.to_owned());
    index.insert(text.to_owned(), next);
    next
}

/// Metres as whole centimetres.
pub fn centimetres(metres: f64) -> i64 {
    libm::round(metres * 100.0) as i64
}
