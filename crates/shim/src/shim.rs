//! All flows of a host.

mod ready;
mod table;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use driftway_aid::Aid;
use driftway_aid::carry::Carry;
use driftway_base::{About, Endpoint, FlowKey, Instant, Scope, Seq, Signal, SignalKind};
use driftway_wire::{Body, IcmpMessage, Packet, TcpFlags, UnreachableCode};

use crate::config::Config;
use crate::counts::{Counts, Fate, Untouched};
use crate::flow::{Aided, Context, FlowStatus, Step};
use crate::opening::Opening;
use crate::packet::{Parsed, Segment, parse};
use crate::pool::Pool;
use ready::Ready;
use table::{Followed, Table};

/// IP protocol number of TCP.
const TCP: u8 = 6;

/// Creates the aid of one connection.
struct MakeAid(Box<dyn Fn() -> Box<dyn Aid> + Send>);

impl fmt::Debug for MakeAid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeAid")
    }
}

/// Destination of a packet sent by the shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// The network, in place of an acknowledgment of the local TCP ([`Shim::solicit_ack`]), so that
    /// it takes exactly the route of the local TCP's own packets.
    Network,
    /// The TCP of this host.
    Local,
}

/// The layer below an unmodified TCP: a state machine without I/O.
///
/// *Look*: [`counts`](Self::counts), [`flows`](Self::flows), [`memory`](Self::memory),
/// [`last_ack_and_window`](Self::last_ack_and_window), [`next_timeout`](Self::next_timeout).
/// *Events*: [`on_outgoing`](Self::on_outgoing), [`on_incoming`](Self::on_incoming),
/// [`on_signal`](Self::on_signal), [`on_timeout`](Self::on_timeout),
/// [`on_carrier_sent`](Self::on_carrier_sent), [`on_carrier_missing`](Self::on_carrier_missing).
/// *Commands*: [`shut_down`](Self::shut_down). *Polls*: [`poll`](Self::poll),
/// [`solicit_ack`](Self::solicit_ack).
///
/// The driver passes every packet, treats it as the [`PacketDisposition`] demands, then polls until
/// there is nothing, then asks `next_timeout`. Time never goes back. If the driver goes away at any
/// instant, every connection continues as plain TCP.
#[derive(Debug)]
pub struct Shim {
    config: Config,
    make: MakeAid,
    pool: Pool,
    counts: Counts,
    table: Table,
    ready: Ready,
}

impl Shim {
    /// A shim without flows, with [`Carry`] as the aid of each.
    pub fn new(config: Config) -> Self {
        Self::with_aid(config, move || Box::new(Carry::new(config.carry())))
    }

    /// A shim with another aid; `make` creates one for each flow.
    pub fn with_aid(config: Config, make: impl Fn() -> Box<dyn Aid> + Send + 'static) -> Self {
        Self {
            config,
            make: MakeAid(Box::new(make)),
            pool: Pool::new(config.store),
            counts: Counts::default(),
            table: Table::default(),
            ready: Ready::default(),
        }
    }

    /// Event counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
    /// Status of all tracked flows, in the order of their keys.
    pub fn flows(&self) -> impl Iterator<Item = FlowStatus> {
        self.table.flows().map(|flow| flow.status())
    }
    /// Bytes of stored packets, and bytes reserved for them in all; both within [`Config::store`].
    pub fn memory(&self) -> (usize, usize) {
        self.pool.held()
    }
    /// Time of the next [`on_timeout`](Self::on_timeout); `None` if no timer is running.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.ready.first()
    }

    /// Processes a packet that the local TCP sends.
    pub fn on_outgoing(&mut self, now: Instant, packet: &mut [u8]) -> Fate {
        let fate = match parse(packet) {
            Ok(Parsed::Tcp(segment)) if !segment.is_intact(packet) => {
                Fate::Untouched(Untouched::Corrupt)
            }
            Ok(Parsed::Tcp(segment)) => self.outgoing_segment(now, &segment, packet),
            Ok(Parsed::Icmp) => Fate::Untouched(Untouched::OtherProtocol),
            Err(reason) => Fate::Untouched(reason),
        };
        self.counts.enter(fate);
        fate
    }

    /// Processes a packet that arrives for this host.
    pub fn on_incoming(&mut self, now: Instant, packet: &mut [u8]) -> Fate {
        let fate = match parse(packet) {
            Ok(Parsed::Tcp(segment)) if !segment.is_intact(packet) => {
                Fate::Untouched(Untouched::Corrupt)
            }
            Ok(Parsed::Tcp(segment)) => self.incoming_segment(now, &segment, packet),
            Ok(Parsed::Icmp) => self.on_icmp(now, packet),
            Err(reason) => Fate::Untouched(reason),
        };
        self.counts.enter(fate);
        fate
    }

    /// Passes a signal of the network, or of this host, to the aids of the flows concerned. A
    /// signal with a flow concerns that flow, and is accepted if the sequence number it quotes is
    /// in flight; one without, with a destination or nothing, is this host's own knowledge (a link
    /// down) and concerns all flows to the destination, or all. A restored route needs no sequence
    /// number.
    pub fn on_signal(&mut self, now: Instant, signal: &Signal) {
        let back = signal.kind == SignalKind::RouteRestored;
        if let Some(key) = signal.about.flow {
            let Some(index) = self.table.find(key) else { return };
            let seq = signal.about.seq;
            let in_flight = |followed: &Followed| match followed {
                Followed::Flow(flow) => seq.is_none_or(|seq| flow.is_in_flight(seq)),
                Followed::Opening(_) => false,
            };
            if back || self.table.get(index).is_some_and(in_flight) {
                self.tell(now, index, signal);
            }
            return;
        }
        for index in self.table.indices() {
            let key = self.table.get(index).map(Followed::key);
            let to = key.map(|key| key.destination.address);
            if signal.about.destination.is_none() || signal.about.destination == to {
                self.tell(now, index, signal);
            }
        }
    }

    /// Runs the timers that are due.
    pub fn on_timeout(&mut self, now: Instant) {
        while let Some(index) = self.ready.due(now) {
            let (table, mut cx) = self.context(now);
            let Some(Followed::Flow(flow)) = table.get_mut(index) else { continue };
            if flow.on_timeout(&mut cx) {
                self.touch(now, index);
            } else {
                self.counts.given_up += 1;
                self.forget(index);
            }
        }
    }

    /// Writes the next packet that the shim sends into `packet`; `None` if there is none now.
    pub fn poll(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<To> {
        while let Some(index) = self.ready.listed() {
            let (before, company) = self.company(now, index);
            let (table, mut cx) = self.context(now);
            (cx.before, cx.company) = (before, company);
            if let Some(Followed::Flow(flow)) = table.get_mut(index)
                && let Some(to) = flow.poll(&mut cx, packet)
            {
                return Some(to);
            }
            self.ready.unlist();
            let next = match self.table.get(index) {
                Some(Followed::Flow(flow)) => flow.next_timeout(&self.config),
                Some(Followed::Opening(_)) | None => None,
            };
            self.ready.wake(index, next);
        }
        None
    }

    /// Writes a segment that makes the local TCP send an acknowledgment at once: a duplicate byte
    /// (RFC 9293 §3.10.7.4). That acknowledgment is to carry the packet that [`poll`](Self::poll)
    /// gave for the network. `false`: the flow is not tracked.
    pub fn solicit(&mut self, now: Instant, flow: FlowKey, packet: &mut Vec<u8>) -> bool {
        let index = self.table.find(flow);
        match index.and_then(|index| self.table.get_mut(index)) {
            Some(Followed::Flow(flow)) => flow.solicit(now, packet).is_some(),
            Some(Followed::Opening(_)) | None => false,
        }
    }

    /// Acknowledgment number of the local TCP on this flow, and the window field sent with it. An
    /// acknowledgment with the same values is a duplicate.
    pub fn last_said(&self, flow: FlowKey) -> Option<(Seq, u16)> {
        match self.table.get(self.table.find(flow)?)? {
            Followed::Flow(flow) => Some(flow.last_said()),
            Followed::Opening(_) => None,
        }
    }

    /// Reports that the packet that [`poll`](Self::poll) gave for the network has left in place of
    /// an acknowledgment of the local TCP.
    pub fn on_carried(&mut self, flow: FlowKey) {
        let index = self.table.find(flow);
        if let Some(Followed::Flow(flow)) = index.and_then(|index| self.table.get_mut(index)) {
            flow.carried = true;
        }
    }

    /// Reports that the packet that [`poll`](Self::poll) gave for the network did not leave: the
    /// local TCP sent no acknowledgment to carry it, or, with `taken`, the acknowledgment was not
    /// seen to leave. Then the flow continues as plain TCP. If a packet has left before, one that
    /// was `taken` counts as lost, to a firewall as to any network.
    pub fn on_not_carried(&mut self, flow: FlowKey, taken: bool) {
        let Some(index) = self.table.find(flow) else { return };
        match self.table.get(index) {
            Some(Followed::Flow(flow)) if taken && flow.carried => {}
            _ => {
                self.counts.no_carrier += 1;
                self.forget(index);
            }
        }
    }

    /// Number of flows that probe the path to the host to which the one at `index` sends a probe
    /// now: before it, and in all.
    fn company(&self, now: Instant, index: usize) -> (u64, u64) {
        let Some(Followed::Flow(flow)) = self.table.get(index) else { return (0, 1) };
        if !flow.is_to_probe(now) {
            return (0, 1);
        }
        let count = |(before, all): (u64, u64), other| (before + u64::from(other < index), all + 1);
        self.table.searching(flow.key.destination.address).fold((0, 0), count)
    }

    /// Prepares for the end of the shim: everything withheld from the local TCP and from the
    /// network is sent by the next polls. Without that every connection continues, too, after a
    /// timeout.
    pub fn let_go(&mut self, now: Instant) {
        for index in self.table.indices() {
            let (table, mut cx) = self.context(now);
            if let Some(Followed::Flow(flow)) = table.get_mut(index) {
                flow.let_go(&mut cx);
                self.ready.list(index);
            }
        }
    }

    fn outgoing_segment(&mut self, now: Instant, segment: &Segment, packet: &mut [u8]) -> Fate {
        let found = self.table.find(segment.flow);
        if segment.has(TcpFlags::SYN) {
            return self.on_syn_out(now, found, segment);
        }
        let Some(index) = found else {
            return Fate::Untouched(Untouched::Older);
        };
        let (table, mut cx) = self.context(now);
        let step = match table.get_mut(index) {
            Some(Followed::Flow(flow)) => flow.on_outgoing(&mut cx, segment, packet),
            // A reset, or a SYN-ACK on another path: the negotiated options are not known.
            _ => Step::Over(Fate::Untouched(Untouched::Older)),
        };
        self.after(now, index, step)
    }

    /// Processes a SYN or SYN-ACK of the local TCP.
    fn on_syn_out(&mut self, now: Instant, found: Option<usize>, segment: &Segment) -> Fate {
        let refused = if segment.unknown_option || segment.payload > 0 {
            Some(Untouched::UnknownOption)
        } else {
            None
        };
        if let Some(index) = found {
            match self.table.get_mut(index) {
                Some(Followed::Opening(opening)) if refused.is_none() => {
                    if opening.is_again(segment) {
                        opening.on_again(now, segment);
                        return Fate::Pass;
                    }
                    // RFC 9293 §3.5, figure 8: the SYN-ACK answers a SYN that crossed the local
                    // one.
                    if !opening.is_passive() && segment.has(TcpFlags::ACK) {
                        self.forget(index);
                        return Fate::Untouched(Untouched::SimultaneousOpen);
                    }
                }
                _ => {}
            }
            // A new connection between the same endpoints.
            self.forget(index);
        }
        if let Some(reason) = refused {
            return Fate::Untouched(reason);
        }
        if self.table.len() >= self.config.flows && !self.evict(now) {
            return Fate::Untouched(Untouched::NoRoom);
        }
        self.table.insert(Followed::Opening(Opening::new(now, segment)));
        Fate::Pass
    }

    fn incoming_segment(&mut self, now: Instant, segment: &Segment, packet: &mut [u8]) -> Fate {
        let FlowKey { source, destination } = segment.flow;
        let key = FlowKey { source: destination, destination: source };
        let syn_only = segment.has(TcpFlags::SYN) && !segment.has(TcpFlags::ACK);
        let Some(index) = self.table.find(key) else {
            // A SYN is recorded with its answer.
            return if syn_only { Fate::Pass } else { Fate::Untouched(Untouched::Older) };
        };
        if let Some(Followed::Opening(opening)) = self.table.get(index) {
            let opening = *opening;
            if segment.has(TcpFlags::RST) {
                self.forget(index);
                return Fate::Pass;
            }
            if syn_only && !opening.is_passive() {
                self.forget(index);
                return Fate::Untouched(Untouched::SimultaneousOpen);
            }
            let make = || Aided((self.make.0)());
            let flow = match opening.on_answer(now, segment, make) {
                Ok(Some(flow)) => flow,
                Ok(None) => return Fate::Pass,
                Err(reason) => {
                    self.forget(index);
                    return Fate::Untouched(reason);
                }
            };
            self.counts.flows += 1;
            self.table.replace(index, Followed::Flow(flow));
            if segment.has(TcpFlags::SYN) {
                return Fate::Pass;
            }
        }
        let (table, mut cx) = self.context(now);
        let step = match table.get_mut(index) {
            Some(Followed::Flow(flow)) => flow.on_incoming(&mut cx, segment, packet),
            _ => Step::On(Fate::Pass),
        };
        self.after(now, index, step)
    }

    fn on_icmp(&mut self, now: Instant, packet: &[u8]) -> Fate {
        let not_believed = Fate::Untouched(Untouched::NotBelieved);
        let Ok(decoded) = Packet::decode(packet) else { return not_believed };
        let Body::Icmp(IcmpMessage::Unreachable { code, quoted }) = decoded.packet.body else {
            return Fate::Untouched(Untouched::OtherProtocol);
        };
        let scope = match code {
            UnreachableCode::Net => Scope::Net,
            UnreachableCode::Host => Scope::Host,
            _ => return not_believed,
        };
        let (from, to) = quoted.ports();
        let key = FlowKey {
            source: Endpoint::new(quoted.source, from),
            destination: Endpoint::new(quoted.destination, to),
        };
        let found = self.table.find(key).filter(|_| quoted.protocol == TCP);
        let Some(index) = found else { return not_believed };
        match self.table.get(index) {
            // RFC 5927 §4.1
            Some(Followed::Flow(flow)) if flow.is_in_flight(quoted.seq()) => {}
            _ => return not_believed,
        }
        let about = About {
            destination: Some(quoted.destination),
            flow: Some(key),
            seq: Some(quoted.seq()),
            reporter: Some(decoded.packet.ip.source),
            ..About::default()
        };
        let signal = Signal { kind: SignalKind::Unreachable(scope), about };
        // The local TCP receives it, too: it reverts a doubled RTO (RFC 6069), so that it
        // retransmits as often as without the shim.
        self.counts.icmp_taken += u64::from(self.tell(now, index, &signal));
        Fate::Pass
    }

    /// Passes a signal to a flow. Returns whether it is disconnected now.
    fn tell(&mut self, now: Instant, index: usize, signal: &Signal) -> bool {
        let (table, mut cx) = self.context(now);
        let Some(Followed::Flow(flow)) = table.get_mut(index) else { return false };
        flow.on_signal(&mut cx, signal);
        let gone = flow.is_disconnected();
        self.touch(now, index);
        gone
    }

    /// Applies the result of a packet to the flow.
    fn after(&mut self, now: Instant, index: usize, step: Step) -> Fate {
        match step {
            Step::On(fate) => {
                self.touch(now, index);
                fate
            }
            Step::Over(fate) => {
                self.forget(index);
                fate
            }
        }
    }

    /// Queues a changed flow for polling, and lets others probe if its path came back.
    fn touch(&mut self, now: Instant, index: usize) {
        self.ready.list(index);
        let Some(Followed::Flow(flow)) = self.table.get_mut(index) else { return };
        if !core::mem::take(&mut flow.came_back) {
            return;
        }
        let destination = flow.key.destination.address;
        for index in self.table.indices() {
            let Some(Followed::Flow(flow)) = self.table.get_mut(index) else { continue };
            if flow.is_disconnected() && flow.key.destination.address == destination {
                flow.probe_now(now);
                self.ready.list(index);
            }
        }
    }

    fn context(&mut self, now: Instant) -> (&mut Table, Context<'_>) {
        let Self { config, pool, counts, table, .. } = self;
        (table, Context { now, config, pool, counts, company: 1, before: 0 })
    }

    fn forget(&mut self, index: usize) {
        if let Some(Followed::Flow(mut flow)) = self.table.remove(index) {
            flow.clear(&mut self.pool);
        }
        self.ready.wake(index, None);
    }

    /// Makes room in the table; `false` if every entry is in use.
    fn evict(&mut self, now: Instant) -> bool {
        let Some(index) = self.table.oldest_unused(now) else { return false };
        self.forget(index);
        true
    }
}
