//! A connection with an aid between TCP and IP.

use std::collections::VecDeque;

use driftway_aid::{Aid, Verdict};
use driftway_base::{
    Act, Done, Ecn, FlowKey, Instant, Ipv4Addr, Known, Seek, Signal, SignalKind, Strength, TcpView,
};
use driftway_tcp::{Connection, Received, Transmit};
use driftway_wire::TcpSegment;

/// A TCP connection of a host, with or without an aid.
///
/// Order of processing (see [`Aid`]): the aid sees the segment and the connection before the
/// segment is processed; its acts are executed; then the segment is passed on according to the
/// aid's verdict.
pub struct Socket {
    tcp: Connection,
    aid: Option<Box<dyn Aid>>,
    /// Segments that the aid holds, oldest first.
    kept_down: VecDeque<Transmit>,
    kept_up: VecDeque<(Ipv4Addr, TcpSegment, Ecn)>,
    /// Route probes requested by the aid; `None`: the node probes no routes.
    seek: Option<Wish>,
    next_hop: Known<Strength>,
}

/// Route probe requested by the aid, and the one last reported to the node.
#[derive(Clone, Copy, Debug, Default)]
struct Wish {
    seek: Seek,
    heard: Seek,
}

impl Socket {
    /// Creates a socket of `tcp` with an optional aid.
    pub fn new(tcp: Connection, aid: Option<Box<dyn Aid>>) -> Self {
        Self {
            tcp,
            aid,
            kept_down: VecDeque::new(),
            kept_up: VecDeque::new(),
            seek: None,
            next_hop: Known::Unknown,
        }
    }

    /// Declares that the node probes routes on request.
    pub(crate) fn at_seeking_node(&mut self) {
        self.seek = Some(Wish::default());
    }

    /// Sets the received power of the next hop.
    pub(crate) fn set_next_hop(&mut self, strength: Strength) {
        self.next_hop = Known::Exact(strength);
    }

    /// Returns the route probe requested by the aid.
    pub(crate) fn seeks(&self) -> Seek {
        // A closed connection needs no route.
        let wish = self.seek.filter(|_| self.tcp.view().synchronized);
        wish.map_or(Seek::Nothing, |wish| wish.seek)
    }

    /// Returns the route probe last reported to the node.
    pub(crate) fn heard_to_seek(&self) -> Seek {
        self.seek.map_or(Seek::Nothing, |wish| wish.heard)
    }

    /// Returns a changed route probe request; `None`: unchanged.
    pub(crate) fn poll_seek(&mut self) -> Option<Seek> {
        let wish = self.seek.as_mut().filter(|wish| wish.seek != wish.heard)?;
        wish.heard = wish.seek;
        if wish.seek == Seek::Echo {
            // An echo is requested once.
            *wish = Wish::default();
            return Some(Seek::Echo);
        }
        Some(wish.seek)
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
        self.offer_kept(now);
        self.pass_up(now, from, *segment, ecn).unwrap_or_default()
    }

    /// Passes a segment through the aid to TCP; `None` if the aid dropped or holds it.
    fn pass_up(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        segment: TcpSegment,
        ecn: Ecn,
    ) -> Option<Received> {
        let verdict = match &mut self.aid {
            Some(aid) => aid.on_up(now, &segment, &view(&self.tcp, self.next_hop)),
            None => Verdict::Pass,
        };
        self.settle(now);
        let passed = match verdict {
            Verdict::Pass => segment,
            Verdict::Replace(other) => other,
            Verdict::Drop => return None,
            Verdict::Hold => {
                self.kept_up.push_back((from, segment, ecn));
                return None;
            }
        };
        let received = self.tcp.on_segment(now, from, &passed, ecn);
        if let Some(aid) = self.aid.as_mut().filter(|aid| aid.wants_taken()) {
            aid.on_taken(now, &view(&self.tcp, self.next_hop));
            self.settle(now);
        }
        Some(received)
    }

    /// Offers held incoming segments to the aid again. (Held outgoing segments are offered in
    /// [`poll_transmit`](Self::poll_transmit).)
    fn offer_kept(&mut self, now: Instant) {
        for _ in 0..self.kept_up.len() {
            if let Some((from, segment, ecn)) = self.kept_up.pop_front() {
                self.pass_up(now, from, segment, ecn);
            }
        }
    }

    /// Delivers a signal of the network or of this host. TCP itself reacts to some.
    pub fn on_signal(&mut self, now: Instant, signal: &Signal) {
        let flow = FlowKey { source: self.tcp.local(), destination: self.tcp.remote() };
        let view = view(&self.tcp, self.next_hop);
        if let Some(aid) = &mut self.aid
            && signal.concerns(flow, &view)
        {
            aid.on_signal(now, signal, &view);
            self.settle(now);
        }
        match signal.kind {
            SignalKind::Unreachable(_) => self.tcp.on_unreachable(now, false, signal.about.seq),
            SignalKind::SourceQuench => self.tcp.on_source_quench(),
            _ => {}
        }
    }

    /// Handles the aid's timeout.
    pub fn on_aid_timeout(&mut self, now: Instant) {
        if let Some(aid) = &mut self.aid {
            aid.on_timeout(now, &view(&self.tcp, self.next_hop));
            self.settle(now);
        }
        self.offer_kept(now);
    }

    /// Handles the connection's timeout.
    pub fn on_tcp_timeout(&mut self, now: Instant) {
        self.tcp.on_timeout(now);
    }

    /// Executes the aid's acts and reports their results to it.
    fn settle(&mut self, now: Instant) {
        let Some(aid) = &mut self.aid else { return };
        while let Some(act) = aid.poll_act() {
            let done = match (act, &mut self.seek) {
                (Act::Seek(seek), Some(wish)) => {
                    wish.seek = seek;
                    Done::Done
                }
                // With static routes no route has to be found first.
                (Act::Seek(Seek::Route | Seek::Nothing), None) => Done::Done,
                _ => self.tcp.act(now, &act),
            };
            aid.on_done(now, &act, done, &view(&self.tcp, self.next_hop));
        }
    }

    /// Returns the next segment to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        for _ in 0..self.kept_down.len() {
            let Some(aid) = &mut self.aid else { break };
            let Some(kept) = self.kept_down.pop_front() else { break };
            let verdict = aid.on_down(now, &kept.segment, &view(&self.tcp, self.next_hop));
            self.settle(now);
            match verdict {
                Verdict::Pass => return Some(kept),
                Verdict::Replace(segment) => return Some(Transmit { segment, ..kept }),
                Verdict::Drop => {}
                Verdict::Hold => self.kept_down.push_back(kept),
            }
        }
        loop {
            let Some(aid) = &mut self.aid else { return self.tcp.poll_transmit(now) };
            let view = view(&self.tcp, self.next_hop);
            let transmit = self.tcp.poll_transmit(now)?;
            if transmit.for_aid {
                return Some(transmit);
            }
            let verdict = aid.on_down(now, &transmit.segment, &view);
            self.settle(now);
            match verdict {
                Verdict::Pass => return Some(transmit),
                Verdict::Replace(segment) => return Some(Transmit { segment, ..transmit }),
                Verdict::Drop => {}
                Verdict::Hold => self.kept_down.push_back(transmit),
            }
        }
    }
}

/// Returns the view of a connection that an aid sees at this node.
fn view(tcp: &Connection, next_hop: Known<Strength>) -> TcpView {
    TcpView { next_hop, ..tcp.view() }
}
