//! Thinning of a run that is too large for a page.

use driftway_sim::log::{Event, Layer};

use super::rows::{Row, Rows};

/// A degree of thinning. Rows of TCP, of aids, of routes and link failures, of faults and positions, and every
/// drop stay at each degree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thinning {
    /// CTS and ACK frames that were received are left out; from 2 on, RTS frames as well.
    pub control: u8,
    /// Of the packets to which nothing happened, one in this many stays; 0 and 1: all.
    pub one_in: u32,
}

impl Thinning {
    /// The next degree, for rows that have this many times the size that they may have. Degrees that are
    /// certain not to suffice are left out.
    pub fn next(self, times: usize) -> Self {
        let Self { control, one_in } = self;
        if control < 2 && times < 2 {
            return Self { control: control + 1, one_in: 1 };
        }
        // What is never left out does not shrink, so that a division by `times` does not suffice.
        let times = times.clamp(2, 1 << 8);
        let divisor = 1 << times.ilog2();
        let one_in = if control < 2 { 1 } else { one_in.max(1) * divisor };
        Self { control: 2, one_in }
    }

    /// Returns whether there is a further degree that leaves out more.
    pub const fn has_next(self) -> bool {
        self.one_in < 1 << 12
    }

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
            0 | 1 => String::new(),
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
}

impl<'a> Choice<'a> {
    /// The choice of `rows` at a degree.
    pub fn new(rows: &'a Rows, thinning: Thinning) -> Self {
        let mut eventful = vec![false; rows.headers.len()];
        for row in &rows.rows {
            let event = rows.classes[row.class as usize].event;
            let stays = match event {
                Event::Dropped => thinning.keeps_ways_of_drops(),
                _ => is_failure(event) && thinning.keeps_ways_of_failures(),
            };
            if let (Some(header), true) = (row.header, stays) {
                eventful[header as usize] = true;
            }
        }
        Self { rows, thinning, eventful }
    }

    /// Returns whether a row stays.
    pub fn keeps(&self, index: usize, row: &Row) -> bool {
        let class = self.rows.classes[row.class as usize];
        let is_sample = |number: usize| match self.thinning.one_in {
            0 | 1 => true,
            n => number.is_multiple_of(n as usize),
        };
        if is_failure(class.event) {
            return true;
        }
        match (class.layer, row.header) {
            (Layer::Air, Some(header)) => {
                let kind = self.rows.words[class.kind as usize].as_str();
                let is_received = self.rows.words[row.reason as usize] == "received";
                let is_left_out = match kind {
                    "cts" | "ack" => is_received && self.thinning.control > 0,
                    "rts" => is_received && self.thinning.control > 1,
                    _ => return self.eventful[header as usize] || is_sample(header as usize),
                };
                // Frames without a packet belong to none that could be chosen.
                !is_left_out && is_sample(index)
            }
            (Layer::Queue | Layer::Link, Some(header)) => {
                self.eventful[header as usize] || is_sample(header as usize)
            }
            (Layer::Routing, Some(header))
                if matches!(class.event, Event::Received | Event::Delivered) =>
            {
                self.eventful[header as usize] || is_sample(header as usize)
            }
            _ => true,
        }
    }
}

/// Returns whether an event is the failure of a packet.
const fn is_failure(event: Event) -> bool {
    matches!(
        event,
        Event::Dropped | Event::LinkFailure | Event::FalseLinkFailure | Event::LinkRetry
    )
}
