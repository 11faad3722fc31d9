//! Observation of everything that happens in an emulated network.

use driftway_net::{Event, FrameBody, Network};
use driftway_wire::Packet;

/// An observer of a network. It is called in the thread that moves packets, which must not wait.
pub trait NetworkObserver: Send {
    /// Handles the start.
    fn on_start(&mut self, net: &Network);

    /// Handles an event at the present time of the network. `bytes` are those of the packet that it is
    /// about, as they entered, if a kernel or a router's host has sent it.
    fn on_event(&mut self, net: &Network, event: &Event, bytes: Option<&[u8]>);

    /// Handles the passing of time.
    fn on_time(&mut self, net: &mut Network);
}

/// The packet that an event is about.
pub fn packet_of(event: &Event) -> Option<&Packet> {
    let body = match event {
        Event::Delivered { packet, .. }
        | Event::LinkFailed { packet, .. }
        | Event::LinkRetried { packet, .. } => return Some(&packet.packet),
        Event::Dropped { body, .. }
        | Event::Enqueued { body, .. }
        | Event::Dequeued { body, .. }
        | Event::Received { body, .. } => Some(body),
        Event::Frame { body, .. } => body.as_ref(),
        Event::Fault { .. } | Event::RouteFound { .. } | Event::RouteLost { .. } => None,
    };
    match body? {
        FrameBody::Ip(packet) => Some(&packet.packet),
        FrameBody::Arp(_) => None,
    }
}
