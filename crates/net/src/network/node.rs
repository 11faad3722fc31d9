//! A node, which forwards packets between its interfaces.

use driftway_base::{Duration, RadioId};
use driftway_route::RoutingProtocol;
use driftway_route::feedback::Feedback;

use crate::air::route_prober::RouteProber;

/// A node, which forwards packets between its interfaces.
pub struct Node {
    /// Reports undeliverable packets and route failures to sources.
    pub feedback: Feedback,
    /// The routing protocol over the air; `None` without a radio.
    pub routing: Option<Box<dyn RoutingProtocol>>,
    /// The node's radios, by number.
    pub radios: Vec<RadioId>,
    /// The peers of the host that are being probed.
    pub route_prober: RouteProber,
    /// True if the last report of an unreachable destination was about a link in range.
    pub last_report_was_false: bool,
    /// The number of the last packet that the node itself sent, unless its routing counts.
    identification: u16,
}

impl Node {
    /// Creates a node without radios.
    pub fn wired(feedback: Feedback) -> Self {
        Self {
            feedback,
            routing: None,
            radios: Vec::new(),
            route_prober: RouteProber::new(Duration::ZERO, 0),
            last_report_was_false: false,
            identification: 0,
        }
    }

    /// Creates a node with radios.
    pub fn with_radios(
        feedback: Feedback,
        routing: Box<dyn RoutingProtocol>,
        radios: Vec<RadioId>,
        route_prober: RouteProber,
    ) -> Self {
        Self { routing: Some(routing), radios, route_prober, ..Self::wired(feedback) }
    }

    /// Returns the IP identification of the next packet. A routing protocol whose own messages have one
    /// counts both.
    pub fn next_identification(&mut self) -> u16 {
        let of_routing = self.routing.as_mut().and_then(|routing| routing.new_identification());
        of_routing.unwrap_or_else(|| {
            // 0 means none.
            self.identification = self.identification.checked_add(1).unwrap_or(1);
            self.identification
        })
    }
}
