//! The prediction of the next row from the rows before it, the same for writer and reader.

use std::collections::BTreeMap;

use driftway_sim::log::{Event, Layer};

use super::rows::{Class, Header, Row};

/// The last values of nodes, classes and flows. Indices of headers and routes are those of the encoded rows.
#[derive(Debug, Default)]
pub struct Predictor {
    /// The time of the row before (ns).
    pub time: u64,
    /// The node of the row before.
    pub node: u32,
    /// The neighbour of the row before.
    pub neighbour: Option<u32>,
    /// The number of headers so far.
    pub headers: u32,
    class_headers: BTreeMap<u32, u32>,
    headers_at: BTreeMap<u32, u32>,
    sent_headers_at: BTreeMap<u32, u32>,
    neighbours: BTreeMap<(u32, u32), u32>,
    bytes: BTreeMap<u32, u32>,
    queues: BTreeMap<u32, i64>,
    routes_of_headers: BTreeMap<Option<u32>, u32>,
    last_routes: BTreeMap<u32, u32>,
    offsets: BTreeMap<(u32, Option<u32>), u64>,
    flows: BTreeMap<Option<u32>, FlowValues>,
    places: BTreeMap<u32, Place>,
    identifications: BTreeMap<u32, u16>,
    header_offsets: BTreeMap<(u32, Option<u32>), u64>,
}

/// The last values of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowValues {
    /// The congestion window (bytes).
    pub cwnd: u64,
    /// The slow-start threshold (bytes).
    pub ssthresh: u64,
    /// The retransmission timeout (ns).
    pub rto: u64,
}

/// The last two positions of a node (cm), the last one first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The x coordinates.
    pub x: [i64; 2],
    /// The y coordinates.
    pub y: [i64; 2],
}

/// The next coordinate of a node that goes on as before.
pub const fn extrapolated([last, before]: [i64; 2]) -> i64 {
    2 * last - before
}

impl Predictor {
    /// The last header of a class: that of an RTS, a CTS or an ACK is always the same.
    pub fn header_of(&self, class: u32) -> Option<u32> {
        self.class_headers.get(&class).copied()
    }
    /// The last packet at a node.
    pub fn header_at(&self, node: u32) -> Option<u32> {
        self.headers_at.get(&node).copied()
    }
    /// The packet that a node's link layer had last.
    pub fn sent_header_at(&self, node: u32) -> Option<u32> {
        self.sent_headers_at.get(&node).copied()
    }
    /// The last neighbour of a node in rows of a class.
    pub fn neighbour_of(&self, class: u32, node: u32) -> Option<u32> {
        self.neighbours.get(&(class, node)).copied()
    }
    /// The last size in a class (bytes).
    pub fn bytes_of(&self, class: u32) -> Option<u32> {
        self.bytes.get(&class).copied()
    }
    /// The last length of a queue at a node.
    pub fn queue_at(&self, node: u32) -> i64 {
        self.queues.get(&node).copied().unwrap_or(0)
    }
    /// The last route of a packet.
    pub fn route_of(&self, header: Option<u32>) -> Option<u32> {
        self.routes_of_headers.get(&header).copied()
    }
    /// The last route in a class.
    pub fn last_route(&self, class: u32) -> Option<u32> {
        self.last_routes.get(&class).copied()
    }
    /// The last offset of a flow in a class (bytes).
    pub fn offset_of(&self, class: u32, flow: Option<u32>) -> u64 {
        self.offsets.get(&(class, flow)).copied().unwrap_or(0)
    }
    /// The last values of a flow.
    pub fn flow(&self, flow: Option<u32>) -> FlowValues {
        self.flows.get(&flow).copied().unwrap_or_default()
    }
    /// The last positions of a node.
    pub fn place(&self, node: u32) -> Place {
        self.places.get(&node).copied().unwrap_or_default()
    }
    /// The last IP identification of a source.
    pub fn identification_of(&self, source: u32) -> u16 {
        self.identifications.get(&source).copied().unwrap_or(0)
    }
    /// The last offset of a flow in headers of a kind (bytes).
    pub fn header_offset(&self, kind: u32, flow: Option<u32>) -> u64 {
        self.header_offsets.get(&(kind, flow)).copied().unwrap_or(0)
    }

    /// Takes note of a header that is new, and returns its index.
    pub fn on_header(&mut self, header: &Header) -> u32 {
        if let Some((source, identification)) = header.packet {
            self.identifications.insert(source, identification);
        }
        if let Some(offset) = header.offset {
            self.header_offsets.insert((header.kind, header.flow), offset);
        }
        self.headers += 1;
        self.headers - 1
    }

    /// Takes note of a row.
    pub fn on_row(&mut self, row: &Row, class: Class) {
        (self.time, self.node, self.neighbour) = (row.time, row.node, row.neighbour);
        if let Some(header) = row.header {
            self.class_headers.insert(row.class, header);
            if matches!(class.layer, Layer::Queue | Layer::Link | Layer::Routing) {
                self.headers_at.insert(row.node, header);
            }
            if class.event == Event::Dequeued {
                self.sent_headers_at.insert(row.node, header);
            }
        }
        if let Some(neighbour) = row.neighbour {
            self.neighbours.insert((row.class, row.node), neighbour);
        }
        if let Some(bytes) = row.bytes {
            self.bytes.insert(row.class, bytes);
        }
        if let Some(queue) = row.queue {
            self.queues.insert(row.node, queue.into());
        }
        if let Some(route) = row.route {
            self.routes_of_headers.insert(row.header, route);
            self.last_routes.insert(row.class, route);
        }
        let Some(own) = row.own.as_deref() else { return };
        if let Some(offset) = own.offset {
            self.offsets.insert((row.class, own.flow), offset);
        }
        let flow = self.flows.entry(own.flow).or_default();
        flow.cwnd = own.cwnd.map_or(flow.cwnd, u64::from);
        flow.ssthresh = own.ssthresh.map_or(flow.ssthresh, u64::from);
        flow.rto = own.rto.unwrap_or(flow.rto);
        let place = self.places.entry(row.node).or_default();
        if let Some(x) = own.x {
            place.x = [x, place.x[0]];
        }
        if let Some(y) = own.y {
            place.y = [y, place.y[0]];
        }
    }
}
