//! A connection with an aid between TCP and IP.

use std::collections::VecDeque;

use driftway_aid::{Aid, SegmentVerdict};
use driftway_base::{
    Act, ActResult, Ecn, FlowKey, Instant, Ipv4Addr, Known, ReceivedPower, RouteProbe, Signal,
    SignalKind, TcpView,
};
use driftway_tcp::{Connection, Received, Transmit};
use driftway_wire::TcpSegment;

/// Largest number of acts of an aid after one event; aids have one to three.
const ACTS_MAX: u32 = 1000;

/// A TCP connection of a host, with or without an aid.
///
/// Order of processing (see [`Aid`]): the aid sees the segment and the connection before the
/// segment is processed; its acts are executed; then the segment is passed on according to the
/// aid's verdict.
pub struct Socket {
    tcp: Connection,
    aid: Option<Box<dyn Aid>>,
    /// The aid returned acts without end, and was removed.
    had_endless_acts: bool,
    /// Segments that the aid holds, oldest first.
    held_outgoing: VecDeque<Transmit>,
    held_incoming: VecDeque<(Ipv4Addr, TcpSegment, Ecn)>,
    /// Route probes requested by the aid; `None`: the node probes no routes.
    route_probe: Option<RouteProbeRequest>,
    next_hop_power: Known<ReceivedPower>,
}

/// Route probe requested by the aid, and the one last reported to the node.
#[derive(Clone, Copy, Debug, Default)]
struct RouteProbeRequest {
    wanted: RouteProbe,
    reported: RouteProbe,
}

impl Socket {
    /// Creates a socket of `tcp` with an optional aid.
    pub fn new(tcp: Connection, aid: Option<Box<dyn Aid>>) -> Self {
        Self {
            tcp,
            aid,
            had_endless_acts: false,
            held_outgoing: VecDeque::new(),
            held_incoming: VecDeque::new(),
            route_probe: None,
            next_hop_power: Known::Unknown,
        }
    }

    /// Declares that the node probes routes on request.
    pub(crate) fn enable_route_probing(&mut self) {
        self.route_probe = Some(RouteProbeRequest::default());
    }

    /// Sets the received power of the next hop.
    pub(crate) fn set_next_hop_power(&mut self, power: ReceivedPower) {
        self.next_hop_power = Known::Exact(power);
    }

    /// Returns the route probe requested by the aid.
    pub(crate) fn wanted_route_probe(&self) -> RouteProbe {
        // A closed connection needs no route.
        let request = self.route_probe.filter(|_| self.tcp.view().is_synchronized);
        request.map_or(RouteProbe::Off, |request| request.wanted)
    }

    /// Returns the route probe last reported to the node.
    pub(crate) fn reported_route_probe(&self) -> RouteProbe {
        self.route_probe.map_or(RouteProbe::Off, |request| request.reported)
    }

    /// Returns a changed route probe request; `None`: unchanged.
    pub(crate) fn poll_route_probe(&mut self) -> Option<RouteProbe> {
        let request =
            self.route_probe.as_mut().filter(|request| request.wanted != request.reported)?;
        request.reported = request.wanted;
        if request.wanted == RouteProbe::Single {
            // An echo is requested once.
            *request = RouteProbeRequest::default();
            return Some(RouteProbe::Single);
        }
        Some(request.wanted)
    }

    /// Returns the connection.
    pub fn tcp(&self) -> &Connection {
        &self.tcp
    }
    /// Returns the connection, for the application's commands.
    pub fn tcp_mut(&mut self) -> &mut Connection {
        &mut self.tcp
    }
    /// Returns the name of the aid's state; `None` without an aid.
    pub fn aid_state(&self) -> Option<&'static str> {
        self.aid.as_ref().map(|aid| aid.state())
    }
    /// Returns true if there is an aid that considers the connection disconnected.
    pub fn is_disconnected(&self) -> bool {
        self.aid.as_ref().is_some_and(|aid| aid.is_disconnected())
    }

    /// Returns true if the aid returned acts without end after an event. It was removed then.
    pub fn had_endless_acts(&self) -> bool {
        self.had_endless_acts
    }

    /// Returns the aid's next timeout.
    pub fn next_aid_timeout(&self) -> Option<Instant> {
        self.aid.as_ref()?.next_timeout()
    }
    /// Returns the connection's next timeout.
    pub fn next_tcp_timeout(&self) -> Option<Instant> {
        self.tcp.next_timeout()
    }

    /// Handles an incoming segment.
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

    /// Passes a segment through the aid to TCP; `None` if the aid dropped or holds it.
    fn deliver_to_tcp(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        segment: TcpSegment,
        ecn: Ecn,
    ) -> Option<Received> {
        let verdict = match &mut self.aid {
            Some(aid) => aid.on_up(now, &segment, &tcp_view(&self.tcp, self.next_hop_power)),
            None => SegmentVerdict::Pass,
        };
        self.apply_acts(now);
        let passed = match verdict {
            SegmentVerdict::Pass => segment,
            SegmentVerdict::Replace(other) => other,
            SegmentVerdict::Drop => {
                self.tcp.on_discarded_segment(now, &segment);
                return None;
            }
            SegmentVerdict::Hold => {
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

    /// Offers held incoming segments to the aid again. (Held outgoing segments are offered in
    /// [`poll_transmit`](Self::poll_transmit).)
    fn reoffer_held_incoming(&mut self, now: Instant) {
        for _ in 0..self.held_incoming.len() {
            if let Some((from, segment, ecn)) = self.held_incoming.pop_front() {
                self.deliver_to_tcp(now, from, segment, ecn);
            }
        }
    }

    /// Delivers a signal of the network or of this host. TCP itself reacts to some.
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

    /// Handles the aid's timeout.
    pub fn on_aid_timeout(&mut self, now: Instant) {
        if let Some(aid) = &mut self.aid {
            aid.on_timeout(now, &tcp_view(&self.tcp, self.next_hop_power));
            self.apply_acts(now);
        }
        self.reoffer_held_incoming(now);
    }

    /// Handles the connection's timeout.
    pub fn on_tcp_timeout(&mut self, now: Instant) {
        self.tcp.on_timeout(now);
    }

    /// Executes the aid's acts and reports their results to it.
    fn apply_acts(&mut self, now: Instant) {
        let Some(aid) = &mut self.aid else { return };
        for _ in 0..ACTS_MAX {
            let Some(act) = aid.poll_act() else { return };
            let done = match (act, &mut self.route_probe) {
                (Act::ProbeRoute(probe), Some(request)) => {
                    request.wanted = probe;
                    ActResult::Done
                }
                // With static routes no route has to be found first.
                (Act::ProbeRoute(RouteProbe::Repeated | RouteProbe::Off), None) => ActResult::Done,
                _ => self.tcp.act(now, &act),
            };
            aid.on_done(now, &act, done, &tcp_view(&self.tcp, self.next_hop_power));
        }
        (self.aid, self.had_endless_acts) = (None, true);
    }

    /// Returns the next segment to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        for _ in 0..self.held_outgoing.len() {
            let Some(aid) = &mut self.aid else { break };
            let Some(kept) = self.held_outgoing.pop_front() else { break };
            let verdict =
                aid.on_down(now, &kept.segment, &tcp_view(&self.tcp, self.next_hop_power));
            self.apply_acts(now);
            match verdict {
                SegmentVerdict::Pass => return Some(kept),
                SegmentVerdict::Replace(segment) => return Some(Transmit { segment, ..kept }),
                SegmentVerdict::Drop => {}
                SegmentVerdict::Hold => self.held_outgoing.push_back(kept),
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
                SegmentVerdict::Pass => return Some(transmit),
                SegmentVerdict::Replace(segment) => return Some(Transmit { segment, ..transmit }),
                SegmentVerdict::Drop => {}
                SegmentVerdict::Hold => self.held_outgoing.push_back(transmit),
            }
        }
    }
}

/// Returns the view of a connection that an aid sees at this node.
fn tcp_view(tcp: &Connection, next_hop_power: Known<ReceivedPower>) -> TcpView {
    TcpView { next_hop_power, ..tcp.view() }
}
