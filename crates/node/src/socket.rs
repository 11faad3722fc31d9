//! A connection and the aid between it and IP: the direct driver of aids.

use std::collections::VecDeque;

use driftway_aid::{Aid, Verdict};
use driftway_base::{
    Act, Done, Ecn, FlowKey, Instant, Ipv4Addr, Known, Seek, Signal, SignalKind, Strength, TcpView,
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
    kept_down: VecDeque<Transmit>,
    kept_up: VecDeque<(Ipv4Addr, TcpSegment, Ecn)>,
    /// What the aid wants its node to do; `None`: the node looks for no peers.
    seek: Option<Wish>,
    next_hop: Known<Strength>,
}

/// What the aid wants its node to do, and what the node has heard of.
#[derive(Clone, Copy, Debug, Default)]
struct Wish {
    seek: Seek,
    heard: Seek,
}

impl Socket {
    /// `aid` helps `tcp`, if there is one.
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

    /// At a node that finds peers if it is asked to.
    pub(crate) fn at_seeking_node(&mut self) {
        self.seek = Some(Wish::default());
    }

    /// What the node's radio knows of the neighbour over which packets leave.
    pub(crate) fn set_next_hop(&mut self, strength: Strength) {
        self.next_hop = Known::Exact(strength);
    }

    /// What the aid wants its node to do to find the peer.
    pub(crate) fn seeks(&self) -> Seek {
        // A connection that is gone waits for nobody.
        let wish = self.seek.filter(|_| self.tcp.view().synchronized);
        wish.map_or(Seek::Nothing, |wish| wish.seek)
    }

    /// What the node has heard of that.
    pub(crate) fn heard_to_seek(&self) -> Seek {
        self.seek.map_or(Seek::Nothing, |wish| wish.heard)
    }

    /// What the aid wants its node to do from now on; `None`: what it wanted before.
    pub(crate) fn poll_seek(&mut self) -> Option<Seek> {
        let wish = self.seek.as_mut().filter(|wish| wish.seek != wish.heard)?;
        wish.heard = wish.seek;
        if wish.seek == Seek::Echo {
            // Once.
            *wish = Wish::default();
            return Some(Seek::Echo);
        }
        Some(wish.seek)
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
        self.offer_kept(now);
        self.pass_up(now, from, *segment, ecn).unwrap_or_default()
    }

    /// Shows a segment to the aid and gives TCP what the verdict says; `None` if that is nothing.
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

    /// Asks the aid again about what it kept back on its way up. (What it keeps back on its way
    /// down is asked about in [`poll_transmit`](Self::poll_transmit).)
    fn offer_kept(&mut self, now: Instant) {
        for _ in 0..self.kept_up.len() {
            if let Some((from, segment, ecn)) = self.kept_up.pop_front() {
                self.pass_up(now, from, segment, ecn);
            }
        }
    }

    /// The network, or this host, says something. TCP has its own, older, reactions to some.
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

    /// The aid's time has come.
    pub fn on_aid_timeout(&mut self, now: Instant) {
        if let Some(aid) = &mut self.aid {
            aid.on_timeout(now, &view(&self.tcp, self.next_hop));
            self.settle(now);
        }
        self.offer_kept(now);
    }

    /// TCP's time has come.
    pub fn on_tcp_timeout(&mut self, now: Instant) {
        self.tcp.on_timeout(now);
    }

    /// Does what the aid wants done, and reports what became of that.
    fn settle(&mut self, now: Instant) {
        let Some(aid) = &mut self.aid else { return };
        while let Some(act) = aid.poll_act() {
            let done = match (act, &mut self.seek) {
                (Act::Seek(seek), Some(wish)) => {
                    wish.seek = seek;
                    Done::Done
                }
                // Routes that are given do not wait for a packet to be looked for.
                (Act::Seek(Seek::Route | Seek::Nothing), None) => Done::Done,
                _ => self.tcp.act(now, &act),
            };
            aid.on_done(now, &act, done, &view(&self.tcp, self.next_hop));
        }
    }

    /// The next segment that leaves this host.
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

/// What an aid sees of a connection at this node.
fn view(tcp: &Connection, next_hop: Known<Strength>) -> TcpView {
    TcpView { next_hop, ..tcp.view() }
}
