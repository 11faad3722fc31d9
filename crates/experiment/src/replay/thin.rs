//! Thinning of a run that is too large for a page.

use driftway_sim::log::{Event, Layer};

use super::rows::{Class, Row, Rows};

/// A degree of thinning. Rows of TCP, of aids, of routes and link failures, of faults and positions, and every
/// drop stay at each degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinning {
    /// CTS and ACK frames that were received are left out; from 2 on, RTS frames as well.
    pub control: u8,
    /// One in this many stays of the packets to which nothing happened.
    pub one_in: u32,
}

impl Thinning {
    /// Every degree, each of which leaves out more than the one before.
    pub const ALL: [Self; 15] = {
        let mut all = [Self { control: 0, one_in: 1 }; 15];
        all[1].control = 1;
        let mut degree = 2;
        while degree < all.len() {
            all[degree] = Self { control: 2, one_in: 1 << (degree - 2) };
            degree += 1;
        }
        all
    };

    /// Returns whether the whole way of a packet stays that met with a link failure.
    const fn keeps_ways_of_failures(self) -> bool {
        self.one_in < 8
    }

    /// Returns whether the whole way of a packet stays that was dropped.
    const fn keeps_ways_of_drops(self) -> bool {
        self.one_in < 64
    }

    /// A sentence that says what is left out; `None`: nothing.
    pub fn sentence(self) -> Option<String> {
        let control = match self.control {
            0 => return None,
            1 => "CTS and ACK frames that were received",
            _ => "RTS, CTS and ACK frames that were received",
        };
        let whole = match (self.keeps_ways_of_failures(), self.keeps_ways_of_drops()) {
            (true, _) => " that met with no drop and no link failure",
            (false, true) => " that met with no drop",
            (false, false) => "",
        };
        let packets = match self.one_in {
            1 => String::new(),
            n => format!(
                ", and all but one in {n} of the packets{whole} (with their frames, collisions and queues)"
            ),
        };
        Some(format!(
            "Thinned to keep the page small: left out are {control}{packets}. No drop, no row of TCP, of an \
             aid, of a route or of a link failure is left out."
        ))
    }
}

/// The choice of rows at a degree of thinning.
pub struct Choice<'a> {
    rows: &'a Rows,
    thinning: Thinning,
    /// The headers of packets whose whole way stays.
    eventful: Vec<bool>,
    /// The rows of each class that stay.
    classes: Vec<Stays>,
    /// The outcome of frames that were received, an index of [`Rows::words`].
    received: Option<u32>,
}

/// The rows of a class that stay.
#[derive(Clone, Copy)]
enum Stays {
    /// Each.
    All,
    /// Those of a packet whose whole way stays, or that is one of the sample; those without a packet.
    OfPackets,
    /// Frames that were not received, of the sample: they belong to no packet that could be chosen.
    Unreceived,
    /// Frames of the sample.
    Sample,
}

impl Stays {
    fn of(class: Class, kind: &str, thinning: Thinning) -> Self {
        match (class.layer, class.event) {
            _ if is_failure(class.event) => Self::All,
            (Layer::Air, _) => match kind {
                "cts" | "ack" if thinning.control > 0 => Self::Unreceived,
                "rts" if thinning.control > 1 => Self::Unreceived,
                "cts" | "ack" | "rts" => Self::Sample,
                _ => Self::OfPackets,
            },
            (Layer::Queue | Layer::Link, _)
            | (Layer::Routing, Event::Received | Event::Delivered) => Self::OfPackets,
            _ => Self::All,
        }
    }
}

impl<'a> Choice<'a> {
    /// The choice of `rows` at a degree.
    pub fn new(rows: &'a Rows, thinning: Thinning) -> Self {
        let keeps_way = |class: &Class| match class.event {
            Event::Dropped => thinning.keeps_ways_of_drops(),
            event => is_failure(event) && thinning.keeps_ways_of_failures(),
        };
        let keeps_way: Vec<bool> = rows.classes.iter().map(keeps_way).collect();
        let mut eventful = vec![false; rows.headers.len()];
        for row in &rows.rows {
            if let (Some(header), true) = (row.header, keeps_way[row.class as usize]) {
                eventful[header as usize] = true;
            }
        }
        let stays = |class: &Class| Stays::of(*class, &rows.words[class.kind as usize], thinning);
        let classes = rows.classes.iter().map(stays).collect();
        let received = rows.words.iter().position(|word| word == "received");
        Self { rows, thinning, eventful, classes, received: received.map(|index| index as u32) }
    }

    /// Returns whether a row stays.
    pub fn keeps(&self, index: usize, row: &Row) -> bool {
        let is_sample = |number: usize| number.is_multiple_of(self.thinning.one_in as usize);
        let Some(header) = row.header else { return true };
        match self.classes[row.class as usize] {
            Stays::All => true,
            Stays::OfPackets => self.eventful[header as usize] || is_sample(header as usize),
            Stays::Unreceived => Some(row.reason) != self.received && is_sample(index),
            Stays::Sample => is_sample(index),
        }
    }

    /// The numbers of rows that stay: of each class, and of headers.
    pub fn count(&self) -> Counts {
        let mut counts = Counts { classes: vec![0; self.rows.classes.len()], headers: 0 };
        let mut seen = vec![false; self.rows.headers.len()];
        for (index, row) in self.rows.rows.iter().enumerate() {
            if self.keeps(index, row) {
                counts.classes[row.class as usize] += 1;
                if let Some(header) = row.header {
                    counts.headers +=
                        usize::from(!std::mem::replace(&mut seen[header as usize], true));
                }
            }
        }
        counts
    }
}

/// Numbers of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The number of rows of each class.
    pub classes: Vec<usize>,
    /// Headers of packets.
    pub headers: usize,
}

/// Returns whether an event is the failure of a packet.
const fn is_failure(event: Event) -> bool {
    matches!(
        event,
        Event::Dropped | Event::LinkFailure | Event::FalseLinkFailure | Event::LinkRetry
    )
}
