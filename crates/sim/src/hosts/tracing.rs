//! Records of a sender: its segments, and the state of its aid.

use driftway_base::Known;
use driftway_tcp::{Connection, Transmit};

use super::{Hosts, OpenSocket};
use crate::flow_context::FlowContext;
use crate::trace::SentSegment;
use crate::world::World;

impl Hosts {
    /// Records a segment with data.
    pub(super) fn record_sent(
        &mut self,
        world: &mut World<'_>,
        at: OpenSocket,
        transmit: &Transmit,
    ) {
        let payload = transmit.segment.payload;
        if payload.is_empty() {
            return;
        }
        let flow = at.id.flow;
        if !at.id.is_sender() {
            if let Some(back) = &mut self.flows[flow].reverse {
                back.on_sent(world.now, payload);
            }
            return;
        }
        self.flows[flow].on_sent(world.now, payload);
        self.keep_shortest_hops(world, flow, payload);
        if !world.observers.wants_flows() {
            return;
        }
        let tcp = self.at(at).map(|socket| socket.tcp());
        let rto = tcp.map(|tcp| tcp.rtt().rto());
        let view = tcp.map(Connection::view).unwrap_or_default();
        let bytes = |known: Known<u32>| known.value().unwrap_or_default();
        world.observers.sent(
            FlowContext { now: world.now, node: at.node, flow },
            SentSegment {
                offset: payload.offset,
                length: payload.len,
                retransmission: transmit.retransmission,
                cwnd: bytes(view.cwnd),
                ssthresh: bytes(view.ssthresh),
                rto,
            },
        );
    }

    /// Records the state of a sender's aid, and for how long it considers the connection disconnected.
    pub(super) fn record_aid(&mut self, world: &mut World<'_>, at: OpenSocket) {
        let OpenSocket { id, node, handle } = at;
        if !id.is_sender() {
            return;
        }
        let Some(socket) = self.hosts[node].socket(handle) else { return };
        let (net, reporter) = (&world.net, self.last_reporter);
        let is_false = || net.last_report_was_false(reporter);
        let time = &mut self.flows[id.flow].disconnected_time;
        time.update(world.now, socket.is_disconnected(), is_false);
        if world.observers.wants_flows()
            && let Some(state) = socket.aid_state()
        {
            let context = FlowContext { now: world.now, node, flow: id.flow };
            world.observers.aid_state(context, state);
        }
    }
}
