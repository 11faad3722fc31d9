//! The rows as columns of small numbers, which gzip makes a twentieth of the log.
//!
//! The rows of a class (such as: ACK frames on the air) have columns of their own, because they are
//! alike. A number is coded relative to what is likely: the time as the difference to the row before, a node
//! as the neighbour of the row before, a packet as the last one at that node. `viewer/decode.js` reverses
//! each step, and so does [`decode`](super::decode) in the tests.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::predictor::{Predictor, extrapolated};
use super::rows::{Header, Row, Rows};
use super::varint::{put, zigzag};

/// The columns of rows, in the order in which they are stored.
pub const ROW_COLUMNS: [&str; 19] = [
    "time",
    "node",
    "neighbour",
    "reason",
    "header",
    "bytes",
    "queue",
    "hops",
    "route",
    "wire",
    "air",
    "flow",
    "destination",
    "offset",
    "cwnd",
    "ssthresh",
    "rto",
    "x",
    "y",
];

/// The columns of headers, in the order in which they are stored.
pub const HEADER_COLUMNS: [&str; 7] =
    ["kind", "flow", "source", "destination", "packetSource", "identification", "offset"];

/// Rows that are encoded: a description, and the compressed columns.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Encoded {
    /// The number of rows.
    pub rows: usize,
    /// The length of the column of classes, one for each row (bytes, before compression).
    pub order_bytes: usize,
    /// The number of headers.
    pub headers: usize,
    /// The lengths of the headers' columns.
    pub header_bytes: Vec<usize>,
    /// The classes, with the lengths of their columns.
    pub classes: Vec<EncodedClass>,
    /// The words of kinds and reasons.
    pub words: Vec<String>,
    /// The source routes.
    pub routes: Vec<String>,
    /// All columns, one after the other, compressed by gzip.
    #[serde(skip)]
    pub gzip: Vec<u8>,
    /// The compressed size of the order (bytes).
    #[serde(skip)]
    pub order_gzip: usize,
    /// The compressed size of the headers (bytes).
    #[serde(skip)]
    pub header_gzip: usize,
}

/// A class, with the lengths of its columns.
#[derive(Debug, Serialize)]
pub struct EncodedClass {
    /// The layer.
    pub layer: driftway_sim::log::Layer,
    /// The event.
    pub event: driftway_sim::log::Event,
    /// The kind of the packet.
    pub kind: String,
    /// The length of each column; 0 for one without values.
    pub bytes: Vec<usize>,
    /// Their compressed size (bytes).
    #[serde(skip)]
    pub gzip: usize,
}

/// Encodes the rows that `keep` chooses, by their index.
///
/// # Errors
/// None that memory does not have.
pub fn encode(rows: &Rows, keep: impl Fn(usize, &Row) -> bool) -> io::Result<Encoded> {
    let mut writer = Writer::new(rows);
    for (index, row) in rows.rows.iter().enumerate() {
        if keep(index, row) {
            writer.add(row);
        }
    }
    writer.finish()
}

/// Columns that are being written.
struct Writer<'a> {
    rows: &'a Rows,
    count: usize,
    order: Vec<u8>,
    classes: Vec<[Column; ROW_COLUMNS.len()]>,
    headers: [Vec<u8>; HEADER_COLUMNS.len()],
    predictor: Predictor,
    /// The new index of each header and route, by the index among all rows.
    header_indices: Vec<Option<u32>>,
    route_indices: Vec<Option<u32>>,
    routes: Vec<String>,
}

/// A column, and whether it has any value.
#[derive(Clone, Default)]
struct Column {
    bytes: Vec<u8>,
    has_values: bool,
}

impl Column {
    fn put(&mut self, value: u64) {
        self.has_values |= value != 0;
        put(&mut self.bytes, value);
    }
}

impl<'a> Writer<'a> {
    fn new(rows: &'a Rows) -> Self {
        Self {
            rows,
            count: 0,
            order: Vec::new(),
            classes: rows.classes.iter().map(|_| Default::default()).collect(),
            headers: Default::default(),
            predictor: Predictor::default(),
            header_indices: vec![None; rows.headers.len()],
            route_indices: vec![None; rows.routes.len()],
            routes: Vec::new(),
        }
    }

    fn add(&mut self, row: &Row) {
        self.count += 1;
        put(&mut self.order, row.class.into());
        let own = row.own.as_deref().copied().unwrap_or_default();
        let route = row.route.map(|route| self.route(route));
        let is_new = row.header.is_some_and(|h| self.header_indices[h as usize].is_none());
        let header = row.header.map(|header| self.header(header));
        let likely = &mut self.predictor;
        let neighbour = row.neighbour;
        let values = [
            zigzag((row.time as i64).wrapping_sub(likely.time as i64)),
            match row.node {
                node if Some(node) == likely.neighbour => 0,
                node if node == likely.node => 1,
                node if node == likely.node + 1 => 2,
                node => 3 + u64::from(node),
            },
            match neighbour {
                None => 0,
                Some(other) if other == likely.node => 1,
                Some(other) if Some(other) == likely.neighbour => 2,
                Some(other) if Some(other) == likely.neighbour_of(row.class, row.node) => 3,
                Some(other) => 4 + u64::from(other),
            },
            row.reason.into(),
            match header {
                None => 0,
                Some(_) if is_new => 1,
                of if of == likely.header_of(row.class) => 2,
                of if of == likely.header_at(row.node) => 3,
                of if of == neighbour.and_then(|other| likely.header_at(other)) => 4,
                of if of == likely.sent_header_at(row.node) => 5,
                of if of == neighbour.and_then(|other| likely.sent_header_at(other)) => 6,
                Some(header) => 7 + u64::from(likely.headers - 1 - header),
            },
            match row.bytes {
                None => 0,
                of if of == likely.bytes_of(row.class) => 1,
                Some(bytes) => 2 + u64::from(bytes),
            },
            row.queue.map_or(0, |queue| 1 + zigzag(i64::from(queue) - likely.queue_at(row.node))),
            optional(row.hops),
            match route {
                None => 0,
                of if of == likely.route_of(header) => 1,
                of if of == likely.last_route(row.class) => 2,
                Some(route) => 3 + u64::from(route),
            },
            optional(row.wire),
            optional(row.air),
            optional(own.flow),
            optional(own.destination),
            difference(own.offset, likely.offset_of(row.class, own.flow)),
            difference(own.cwnd, likely.flow(own.flow).cwnd),
            difference(own.ssthresh, likely.flow(own.flow).ssthresh),
            difference(own.rto, likely.flow(own.flow).rto),
            own.x.map_or(0, |x| 1 + zigzag(x - extrapolated(likely.place(row.node).x))),
            own.y.map_or(0, |y| 1 + zigzag(y - extrapolated(likely.place(row.node).y))),
        ];
        for (column, value) in self.classes[row.class as usize].iter_mut().zip(values) {
            column.put(value);
        }
        let class = self.rows.classes[row.class as usize];
        likely.on_row(&Row { header, route, ..row.clone() }, class);
    }

    /// The new index of a header, which is written when it is first used.
    fn header(&mut self, index: u32) -> u32 {
        if let Some(new) = self.header_indices[index as usize] {
            return new;
        }
        let header = self.rows.headers[index as usize];
        let Header { kind, flow, packet, source, destination, offset } = header;
        let likely = &mut self.predictor;
        let values = [
            kind.into(),
            optional(flow),
            optional(source),
            optional(destination),
            match packet {
                None => 0,
                Some((of, _)) if Some(of) == source => 1,
                Some((of, _)) => 2 + u64::from(of),
            },
            packet.map_or(0, |(of, identification)| {
                zigzag(i64::from(identification) - i64::from(likely.identification_of(of)))
            }),
            difference(offset, likely.header_offset(kind, flow)),
        ];
        for (column, value) in self.headers.iter_mut().zip(values) {
            put(column, value);
        }
        let new = likely.on_header(&header);
        self.header_indices[index as usize] = Some(new);
        new
    }

    fn route(&mut self, index: u32) -> u32 {
        let next = self.routes.len() as u32;
        let new = *self.route_indices[index as usize].get_or_insert(next);
        if new == next {
            self.routes.push(self.rows.routes[index as usize].clone());
        }
        new
    }

    fn finish(self) -> io::Result<Encoded> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        // Parts are flushed, so that the size of each is known; it costs some hundred bytes.
        let mut end = 0;
        let mut size = |gzip: &mut GzEncoder<Vec<u8>>| -> io::Result<usize> {
            gzip.flush()?;
            let start = std::mem::replace(&mut end, gzip.get_ref().len());
            Ok(end - start)
        };
        gzip.write_all(&self.order)?;
        let order_gzip = size(&mut gzip)?;
        for column in &self.headers {
            gzip.write_all(column)?;
        }
        let header_gzip = size(&mut gzip)?;
        let mut classes = Vec::new();
        for (columns, class) in self.classes.iter().zip(&self.rows.classes) {
            let mut bytes = Vec::new();
            for column in columns {
                let stored: &[u8] = if column.has_values { &column.bytes } else { &[] };
                gzip.write_all(stored)?;
                bytes.push(stored.len());
            }
            let kind = self.rows.words[class.kind as usize].clone();
            let (layer, event, gzip) = (class.layer, class.event, size(&mut gzip)?);
            classes.push(EncodedClass { layer, event, kind, bytes, gzip });
        }
        Ok(Encoded {
            rows: self.count,
            order_bytes: self.order.len(),
            headers: self.predictor.headers as usize,
            header_bytes: self.headers.iter().map(Vec::len).collect(),
            classes,
            words: self.rows.words.clone(),
            routes: self.routes,
            gzip: gzip.finish()?,
            order_gzip,
            header_gzip,
        })
    }
}

/// A value that may be absent.
fn optional(value: Option<u32>) -> u64 {
    value.map_or(0, |value| 1 + u64::from(value))
}

/// A value that may be absent, as the difference to the last one.
fn difference(value: Option<impl Into<u64>>, last: u64) -> u64 {
    value.map_or(0, |value| zigzag((value.into() as i64).wrapping_sub(last as i64)).wrapping_add(1))
}
