//! The reverse of the encoding, as `viewer/decode.js` does it; the tests compare with the log.

use std::io::Read;

use flate2::read::GzDecoder;

use super::encode::{Encoded, HEADER_COLUMNS, ROW_COLUMNS};
use super::predictor::{Predictor, extrapolated};
use super::rows::{Class, Header, Own, Row, Rows};

struct Columns(Vec<std::vec::IntoIter<u8>>);

impl Columns {
    fn take(rest: &mut impl Iterator<Item = u8>, lengths: &[usize]) -> Self {
        let take = |length: &usize| rest.take(*length).collect::<Vec<_>>().into_iter();
        Self(lengths.iter().map(take).collect())
    }
    /// The next number of a column; of an empty column, 0.
    fn next(&mut self, column: usize) -> u64 {
        let (mut value, mut shift) = (0, 0);
        for byte in self.0[column].by_ref() {
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
}

fn signed(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn optional(value: u64) -> Option<u32> {
    value.checked_sub(1).map(|value| value as u32)
}

fn sum(value: u64, last: u64) -> Option<u64> {
    value.checked_sub(1).map(|value| (last as i64).wrapping_add(signed(value)) as u64)
}

/// The rows that were encoded. Classes are those of the encoding.
pub fn decode(encoded: &Encoded, classes: &[Class]) -> Rows {
    let mut bytes = Vec::new();
    GzDecoder::new(&encoded.gzip[..]).read_to_end(&mut bytes).unwrap();
    let mut rest = bytes.into_iter();
    let mut order = Columns::take(&mut rest, &[encoded.order_bytes]);
    let mut headers = Columns::take(&mut rest, &encoded.header_bytes);
    assert_eq!(encoded.header_bytes.len(), HEADER_COLUMNS.len());
    let mut columns: Vec<Columns> =
        encoded.classes.iter().map(|class| Columns::take(&mut rest, &class.bytes)).collect();
    assert!(rest.next().is_none());
    let mut rows = Rows::default();
    rows.classes = classes.to_vec();
    rows.words.clone_from(&encoded.words);
    rows.routes.clone_from(&encoded.routes);
    let mut likely = Predictor::default();
    for _ in 0..encoded.rows {
        let class = order.next(0) as u32;
        let of = &mut columns[class as usize];
        let [
            time,
            node,
            neighbour,
            reason,
            header,
            bytes,
            queue,
            hops,
            route,
            wire,
            air,
            flow,
            destination,
            offset,
            cwnd,
            ssthresh,
            rto,
            x,
            y,
        ] = std::array::from_fn::<_, { ROW_COLUMNS.len() }, _>(|column| of.next(column));
        let node = match node {
            0 => likely.neighbour.unwrap(),
            1 => likely.node,
            2 => likely.node + 1,
            code => (code - 3) as u32,
        };
        let neighbour = match neighbour {
            0 => None,
            1 => Some(likely.node),
            2 => likely.neighbour,
            3 => likely.neighbour_of(class, node),
            code => Some((code - 4) as u32),
        };
        let header = match header {
            0 => None,
            1 => Some(read_header(&mut headers, &mut likely, &mut rows)),
            2 => likely.header_of(class),
            3 => likely.header_at(node),
            4 => likely.header_at(neighbour.unwrap()),
            5 => likely.sent_header_at(node),
            6 => likely.sent_header_at(neighbour.unwrap()),
            code => Some(likely.headers - 1 - (code - 7) as u32),
        };
        let flow = optional(flow);
        let coordinate =
            |code: u64, last| code.checked_sub(1).map(|code| extrapolated(last) + signed(code));
        let own = Own {
            flow,
            destination: optional(destination),
            offset: sum(offset, likely.offset_of(class, flow)),
            cwnd: sum(cwnd, likely.flow(flow).cwnd).map(|cwnd| cwnd as u32),
            ssthresh: sum(ssthresh, likely.flow(flow).ssthresh).map(|value| value as u32),
            rto: sum(rto, likely.flow(flow).rto),
            x: coordinate(x, likely.place(node).x),
            y: coordinate(y, likely.place(node).y),
        };
        let row = Row {
            time: (likely.time as i64).wrapping_add(signed(time)) as u64,
            class,
            node,
            reason: reason as u32,
            header,
            route: match route {
                0 => None,
                1 => likely.route_of(header),
                2 => likely.last_route(class),
                code => Some((code - 3) as u32),
            },
            neighbour,
            bytes: match bytes {
                0 => None,
                1 => likely.bytes_of(class),
                code => Some((code - 2) as u32),
            },
            hops: optional(hops),
            queue: queue.checked_sub(1).map(|q| (likely.queue_at(node) + signed(q)) as u32),
            wire: optional(wire),
            air: optional(air),
            own: (own != Own::default()).then(|| Box::new(own)),
        };
        likely.on_row(&row, classes[class as usize]);
        rows.rows.push(row);
    }
    rows
}

fn read_header(columns: &mut Columns, likely: &mut Predictor, rows: &mut Rows) -> u32 {
    let kind = columns.next(0) as u32;
    let [flow, source, destination] = [1, 2, 3].map(|column| optional(columns.next(column)));
    let packet_source = match columns.next(4) {
        0 => None,
        1 => source,
        code => Some((code - 2) as u32),
    };
    let identification = signed(columns.next(5));
    let offset = sum(columns.next(6), likely.header_offset(kind, flow));
    let packet = packet_source
        .map(|of| (of, (i64::from(likely.identification_of(of)) + identification) as u16));
    let header = Header { kind, flow, packet, source, destination, offset };
    rows.headers.push(header);
    likely.on_header(&header)
}
