//! A connection and the aid between it and IP: the direct driver of aids.

use std::collections::VecDeque;

use driftway_aid::{Aid, Verdict};
use driftway_base::{
    Act, ActResult, Ecn, FlowKey, Instant, Ipv4Addr, Known, RouteProbe, Signal, SignalKind, ReceivedPower, TcpView,
};
use driftway_tcp::{Connection, Received, Transmit};
use driftway_wire::TcpSegment;

/// One TCP connection of a host, with or without an aid.
///
/// The driver's order (see [`Aid`]): the aid sees the segment and the connection as it was before;
/// its acts are done; then the segment goes on according to its verdict.
pub struct Socket {
    tcp: Connection,
    aid: Option<Box<dyn Aid>>,
    /// Segments that the aid keeps back, oldest first.
    held_outgoing: VecDeque<Transmit>,
    held_incoming: VecDeque<(Ipv4Addr, TcpSegment, Ecn)>,
    /// What the aid wants its node to do; `None`: the node looks for no peers.
    route_probe: Option<RouteProbeRequest>,
    next_hop_power: Known<ReceivedPower>,
}

/// What the aid wants its node to do, and what the node has heard of.
#[derive(Clone, Copy, Debug, Default)]
struct RouteProbeRequest {
    wanted: RouteProbe,
    reported: RouteProbe,
}

impl Socket {
    /// `aid` helps `tcp`, if there is one.
    pub fn new(tcp: Connection, aid: Option<Box<dyn Aid>>) -> Self {
        Self {
            tcp,
            aid,
            held_outgoing: VecDeque::new(),
            held_incoming: VecDeque::new(),
            route_probe: None,
            next_hop_power: Known::Unknown,
        }
    }

    /// At a node that finds peers if it is asked to.
    pub(crate) fn enable_route_probing(&mut self) {
        self.route_probe = Some(RouteProbeRequest::default());
    }

    /// What the node's radio knows of the neighbour over which packets leave.
    pub(crate) fn set_next_hop_power(&mut self, strength: ReceivedPower) {
        self.next_hop_power = Known::Exact(strength);
    }

    /// What the aid wants its node to do to find the peer.
    pub(crate) fn wanted_route_probe(&self) -> RouteProbe {
        // A connection that is gone waits for nobody.
        let wish = self.route_probe.filter(|_| self.tcp.view().is_synchronized);
        wish.map_or(RouteProbe::Off, |wish| wish.wanted)
    }

    /// What the node has heard of that.
    pub(crate) fn reported_route_probe(&self) -> RouteProbe {
        self.route_probe.map_or(RouteProbe::Off, |wish| wish.reported)
    }

    /// What the aid wants its node to do from now on; `None`: what it wanted before.
    pub(crate) fn poll_route_probe(&mut self) -> Option<RouteProbe> {
        let wish = self.route_probe.as_mut().filter(|wish| wish.wanted != wish.reported)?;
        wish.reported = wish.wanted;
        if wish.wanted == RouteProbe::Single {
            // Once.
            *wish = RouteProbeRequest::default();
            return Some(RouteProbe::Single);
        }
        Some(wish.wanted)
    }

    /// The connection.
    pub fn tcp(&self) -> &Connection {
        &self.tcp
    }
    /// The connection, for the application's commands.
    pub fn tcp_mut(&mut self) -> &mut Connection {
        &mut self.tcp
    }
    /// The name of the aid's state; `None` without an aid.
    pub fn aid_state(&self) -> Option<&'static str> {
        self.aid.as_ref().map(|aid| aid.state())
    }

    /// When the aid wants to be woken.
    pub fn next_aid_timeout(&self) -> Option<Instant> {
        self.aid.as_ref()?.next_timeout()
    }
    /// When the connection wants to be woken.
    pub fn next_tcp_timeout(&self) -> Option<Instant> {
        self.tcp.next_timeout()
    }

    /// A segment arrives.
    pub fn on_segment(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        segment: &TcpSegment,
        ecn: Ecn,
    ) -> Received {
        self.reoffer_held_incoming(now);
        self.deliver_to_tcp(now, from, *segment, ecn).unwrap_or_default()
    }

    /// Shows a segment to the aid and gives TCP what the verdict says; `None` if that is nothing.
    fn deliver_to_tcp(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        segment: TcpSegment,
        ecn: Ecn,
    ) -> Option<Received> {
        let verdict = match &mut self.aid {
            Some(aid) => aid.on_up(now, &segment, &tcp_view(&self.tcp, self.next_hop_power)),
            None => Verdict::Pass,
        };
        self.apply_acts(now);
        let passed = match verdict {
            Verdict::Pass => segment,
            Verdict::Replace(other) => other,
            Verdict::Drop => return None,
            Verdict::Hold => {
                self.held_incoming.push_back((from, segment, ecn));
                return None;
            }
        };
        let received = self.tcp.on_segment(now, from, &passed, ecn);
        if let Some(aid) = self.aid.as_mut().filter(|aid| aid.wants_processed()) {
            aid.on_processed(now, &tcp_view(&self.tcp, self.next_hop_power));
            self.apply_acts(now);
        }
        Some(received)
    }

    /// Asks the aid again about what it kept back on its way up. (What it keeps back on its way
    /// down is asked about in [`poll_transmit`](Self::poll_transmit).)
    fn reoffer_held_incoming(&mut self, now: Instant) {
        for _ in 0..self.held_incoming.len() {
            if let Some((from, segment, ecn)) = self.held_incoming.pop_front() {
                self.deliver_to_tcp(now, from, segment, ecn);
            }
        }
    }

    /// The network, or this host, says something. TCP has its own, older, reactions to some.
    pub fn on_signal(&mut self, now: Instant, signal: &Signal) {
        let flow = FlowKey { source: self.tcp.local(), destination: self.tcp.remote() };
        let view = tcp_view(&self.tcp, self.next_hop_power);
        if let Some(aid) = &mut self.aid
            && signal.concerns(flow, &view)
        {
            aid.on_signal(now, signal, &view);
            self.apply_acts(now);
        }
        match signal.kind {
            SignalKind::Unreachable(_) => self.tcp.on_unreachable(now, false, signal.details.seq),
            SignalKind::SourceQuench => self.tcp.on_source_quench(),
            _ => {}
        }
    }

    /// The aid's time has come.
    pub fn on_aid_timeout(&mut self, now: Instant) {
        if let Some(aid) = &mut self.aid {
            aid.on_timeout(now, &tcp_view(&self.tcp, self.next_hop_power));
            self.apply_acts(now);
        }
        self.reoffer_held_incoming(now);
    }

    /// TCP's time has come.
    pub fn on_tcp_timeout(&mut self, now: Instant) {
        self.tcp.on_timeout(now);
    }

    /// Does what the aid wants done, and reports what became of that.
    fn apply_acts(&mut self, now: Instant) {
        let Some(aid) = &mut self.aid else { return };
        while let Some(act) = aid.poll_act() {
            let done = match (act, &mut self.route_probe) {
                (Act::ProbeRoute(seek), Some(wish)) => {
                    wish.wanted = seek;
                    ActResult::Done
                }
                // Routes that are given do not wait for a packet to be looked for.
                (Act::ProbeRoute(RouteProbe::Repeated | RouteProbe::Off), None) => ActResult::Done,
                _ => self.tcp.act(now, &act),
            };
            aid.on_done(now, &act, done, &tcp_view(&self.tcp, self.next_hop_power));
        }
    }

    /// The next segment that leaves this host.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        for _ in 0..self.held_outgoing.len() {
            let Some(aid) = &mut self.aid else { break };
            let Some(kept) = self.held_outgoing.pop_front() else { break };
            let verdict = aid.on_down(now, &kept.segment, &tcp_view(&self.tcp, self.next_hop_power));
            self.apply_acts(now);
            match verdict {
                Verdict::Pass => return Some(kept),
                Verdict::Replace(segment) => return Some(Transmit { segment, ..kept }),
                Verdict::Drop => {}
                Verdict::Hold => self.held_outgoing.push_back(kept),
            }
        }
        loop {
            let Some(aid) = &mut self.aid else { return self.tcp.poll_transmit(now) };
            let view = tcp_view(&self.tcp, self.next_hop_power);
            let transmit = self.tcp.poll_transmit(now)?;
            if transmit.requested_by_aid {
                return Some(transmit);
            }
            let verdict = aid.on_down(now, &transmit.segment, &view);
            self.apply_acts(now);
            match verdict {
                Verdict::Pass => return Some(transmit),
                Verdict::Replace(segment) => return Some(Transmit { segment, ..transmit }),
                Verdict::Drop => {}
                Verdict::Hold => self.held_outgoing.push_back(transmit),
            }
        }
    }
}

/// What an aid sees of a connection at this node.
fn tcp_view(tcp: &Connection, next_hop: Known<ReceivedPower>) -> TcpView {
    TcpView { next_hop_power: next_hop, ..tcp.view() }
}
