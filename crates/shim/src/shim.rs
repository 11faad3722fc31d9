//! All flows of a host.

mod connection_table;
mod probe_turns;
mod ready_queue;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use driftway_aid::Aid;
use driftway_aid::carry::Carry;
use driftway_base::{
    Endpoint, FlowKey, Instant, Seq, Signal, SignalDetails, SignalKind, UnreachableScope,
};
use driftway_wire::{Body, IcmpMessage, Packet, TcpFlags, UnreachableCode};

use crate::config::Config;
use crate::counts::{Counts, PacketAction, UntouchedReason};
use crate::flow::{ConnectionAid, Context, FlowStatus, Step};
use crate::handshake::Handshake;
use crate::packet::{EditableBytes, PacketDestination, Parsed, Segment, parse, parse_headers};
use crate::pool::BufferPool;
use connection_table::{ConnectionTable, TableEntry};
use probe_turns::{PathState, ProbeTurns};
use ready_queue::ReadyQueue;

/// IP protocol number of TCP.
const TCP: u8 = 6;

/// Creates the aid of one connection.
struct AidFactory(Box<dyn Fn() -> Box<dyn Aid> + Send>);

impl fmt::Debug for AidFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AidFactory")
    }
}

/// The layer below an unmodified TCP: a state machine without I/O.
///
/// *Look*: [`counts`](Self::counts), [`flows`](Self::flows), [`flow_keys`](Self::flow_keys),
/// [`memory`](Self::memory),
/// [`last_ack_and_window`](Self::last_ack_and_window), [`withholds_acks`](Self::withholds_acks),
/// [`next_timeout`](Self::next_timeout).
/// *Events*: [`on_outgoing`](Self::on_outgoing), [`on_incoming`](Self::on_incoming),
/// [`on_passed_by`](Self::on_passed_by), [`on_copies_lost`](Self::on_copies_lost),
/// [`on_signal`](Self::on_signal), [`on_timeout`](Self::on_timeout),
/// [`on_carrier_sent`](Self::on_carrier_sent), [`on_carrier_missing`](Self::on_carrier_missing).
/// *Commands*: [`shut_down`](Self::shut_down). *Polls*: [`poll`](Self::poll),
/// [`solicit_ack`](Self::solicit_ack).
///
/// The driver passes every packet, treats it as the [`PacketAction`] demands, then polls until
/// there is nothing, then asks `next_timeout`. Time never goes back. If the driver goes away at any
/// instant, every connection continues as plain TCP.
#[derive(Debug)]
pub struct Shim {
    config: Config,
    aid_factory: AidFactory,
    pool: BufferPool,
    counts: Counts,
    table: ConnectionTable,
    ready: ReadyQueue,
    turns: ProbeTurns,
    /// A buffer for segments of larger packets.
    piece: Vec<u8>,
}

impl Shim {
    /// A shim without flows, with [`Carry`] as the aid of each.
    pub fn new(config: Config) -> Self {
        Self::with_aid(config, move || Box::new(Carry::new(config.carry_options())))
    }

    /// A shim with another aid; `make` creates one for each flow.
    pub fn with_aid(config: Config, make: impl Fn() -> Box<dyn Aid> + Send + 'static) -> Self {
        Self {
            config,
            aid_factory: AidFactory(Box::new(make)),
            pool: BufferPool::new(config.store),
            counts: Counts::default(),
            table: ConnectionTable::default(),
            ready: ReadyQueue::default(),
            turns: ProbeTurns::default(),
            piece: Vec::new(),
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
    /// Keys of all tracked flows, those that are being opened included, in order.
    pub fn flow_keys(&self) -> impl ExactSizeIterator<Item = FlowKey> + Clone {
        self.table.keys()
    }
    /// Bytes of stored packets, and bytes reserved for them in all; both within [`Config::store`].
    pub fn memory(&self) -> (usize, usize) {
        self.pool.used_and_reserved()
    }
    /// Time of the next [`on_timeout`](Self::on_timeout); `None` if no timer is running.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.ready.earliest()
    }

    /// Processes a packet that the local TCP sends.
    pub fn on_outgoing(&mut self, now: Instant, packet: &mut [u8]) -> PacketAction {
        let mut packet = EditableBytes::new(packet);
        let action = match parse(&packet) {
            Ok(Parsed::Tcp(segment)) if !segment.has_valid_checksums(&packet) => {
                PacketAction::Untouched(UntouchedReason::Corrupt)
            }
            Ok(Parsed::Tcp(segment)) => self.outgoing_segment(now, &segment, &mut packet),
            Ok(Parsed::Icmp) => PacketAction::Untouched(UntouchedReason::OtherProtocol),
            Err(reason) => PacketAction::Untouched(reason),
        };
        self.counts.count_action(action);
        packet.action(action)
    }

    /// Processes a packet of several segments that the local TCP sends, to be segmented by the
    /// kernel or the network interface (GSO); its checksums are not looked at. It is stored as the
    /// segments into which it will be cut, and passes, or does not, as a whole.
    ///
    /// If the segments' headers are edited, so are those of the packet, without its checksums
    /// ([`complete_checksums`](crate::complete_checksums)).
    pub fn on_outgoing_large(&mut self, now: Instant, packet: &mut [u8]) -> PacketAction {
        let mut packet = EditableBytes::new(packet);
        let mut piece = core::mem::take(&mut self.piece);
        let action = self.outgoing_pieces(now, &mut packet, &mut piece);
        self.piece = piece;
        packet.action(action)
    }

    fn outgoing_pieces(
        &mut self,
        now: Instant,
        packet: &mut EditableBytes<'_>,
        piece: &mut Vec<u8>,
    ) -> PacketAction {
        let untouched = |shim: &mut Self, reason| {
            shim.counts.count_action(PacketAction::Untouched(reason));
            PacketAction::Untouched(reason)
        };
        let whole = match parse(packet) {
            Ok(Parsed::Tcp(segment)) => segment,
            Ok(Parsed::Icmp) => return untouched(self, UntouchedReason::OtherProtocol),
            Err(reason) => return untouched(self, reason),
        };
        if let Some(index) = self.table.find(whole.flow)
            && let Some(action) = self.begin_flow(now, index, &whole)
        {
            self.counts.count_action(action);
            return action;
        }
        let index = self.table.find(whole.flow);
        let len = match index.and_then(|index| self.table.get(index)) {
            Some(TableEntry::Flow(flow)) => flow.piece_len(&whole),
            Some(TableEntry::Handshake(_)) | None => {
                return untouched(self, UntouchedReason::Preexisting);
            }
        };
        let (mut offset, mut passes) = (0, false);
        while offset < whole.payload_len {
            let step = len.min(whole.payload_len - offset);
            if whole.write_piece(packet, offset, step, piece).is_none() {
                break;
            }
            let Ok(Parsed::Tcp(segment)) = parse(piece) else { break };
            let mut editable = EditableBytes::new(piece);
            let action = self.outgoing_segment(now, &segment, &mut editable);
            self.counts.count_action(action);
            passes |= matches!(action, PacketAction::Pass | PacketAction::Untouched(_));
            if editable.action(action) == PacketAction::Edited {
                whole.take_edits(packet, piece);
            }
            offset += step;
        }
        // Segments that pass beside others that wait are in order, since data wait behind what
        // waits: then some are sent twice, and none is lost.
        let is_whole = offset < whole.payload_len || passes;
        if is_whole { PacketAction::Pass } else { PacketAction::Stored }
    }

    /// Processes a packet that arrives for this host.
    pub fn on_incoming(&mut self, now: Instant, packet: &mut [u8]) -> PacketAction {
        let mut packet = EditableBytes::new(packet);
        let action = match parse(&packet) {
            Ok(Parsed::Tcp(segment)) if !segment.has_valid_checksums(&packet) => {
                PacketAction::Untouched(UntouchedReason::Corrupt)
            }
            Ok(Parsed::Tcp(segment)) => self.incoming_segment(now, &segment, &mut packet),
            Ok(Parsed::Icmp) => self.on_icmp(now, &packet),
            Err(reason) => PacketAction::Untouched(reason),
        };
        self.counts.count_action(action);
        packet.action(action)
    }

    /// Passes a signal of the network, or of this host, to the aids of the flows concerned. A
    /// signal with a flow concerns that flow, and is accepted if the sequence number it quotes is
    /// in flight; one without, with a destination or nothing, is this host's own knowledge (a link
    /// down) and concerns all flows to the destination, or all. A restored route needs no sequence
    /// number.
    pub fn on_signal(&mut self, now: Instant, signal: &Signal) {
        let back = signal.kind == SignalKind::RouteRestored;
        if let Some(key) = signal.details.flow {
            let Some(index) = self.table.find(key) else { return };
            let seq = signal.details.seq;
            let in_flight = |followed: &TableEntry| match followed {
                TableEntry::Flow(flow) => seq.is_none_or(|seq| flow.is_in_flight(seq)),
                TableEntry::Handshake(_) => false,
            };
            if back || self.table.get(index).is_some_and(in_flight) {
                self.notify_flow(now, index, signal);
            }
            return;
        }
        for index in self.table.indices() {
            let key = self.table.get(index).map(TableEntry::key);
            let to = key.map(|key| key.destination.address);
            if signal.details.destination.is_none() || signal.details.destination == to {
                self.notify_flow(now, index, signal);
            }
        }
    }

    /// Runs the timers that are due.
    pub fn on_timeout(&mut self, now: Instant) {
        while let Some(index) = self.ready.pop_due(now) {
            let (table, mut cx) = self.context(now);
            let Some(TableEntry::Flow(flow)) = table.get_mut(index) else { continue };
            if flow.on_timeout(&mut cx) {
                self.mark_changed(now, index);
            } else {
                self.counts.given_up += 1;
                self.forget(index);
            }
        }
    }

    /// Writes the next packet that the shim sends into `packet`; `None` if there is none now.
    pub fn poll(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<PacketDestination> {
        while let Some(index) = self.ready.next_ready() {
            let (before, company) = self.probe_turn(index);
            let (probes, mut sent) = (self.counts.probes, None);
            let (table, mut cx) = self.context(now);
            (cx.probing_before, cx.probing_flows) = (before, company);
            if let Some(TableEntry::Flow(flow)) = table.get_mut(index) {
                sent = flow.poll(&mut cx, packet);
                let destination = flow.key.destination.address;
                self.list_for_probes(index);
                if self.counts.probes > probes {
                    self.turns.on_probe(index, destination);
                }
            }
            if sent.is_some() {
                return sent;
            }
            self.ready.clear_ready();
            let next = match self.table.get(index) {
                Some(TableEntry::Flow(flow)) => flow.next_timeout(&self.config),
                Some(TableEntry::Handshake(_)) | None => None,
            };
            self.ready.set_timer(index, next);
        }
        None
    }

    /// Writes a segment that makes the local TCP send an acknowledgment at once: a duplicate byte
    /// (RFC 9293 §3.10.7.4). That acknowledgment is to carry the packet that [`poll`](Self::poll)
    /// gave for the network. `false`: the flow is not tracked.
    pub fn solicit_ack(&mut self, now: Instant, flow: FlowKey, packet: &mut Vec<u8>) -> bool {
        let index = self.table.find(flow);
        match index.and_then(|index| self.table.get_mut(index)) {
            Some(TableEntry::Flow(flow)) => flow.write_solicitation(now, packet).is_some(),
            Some(TableEntry::Handshake(_)) | None => false,
        }
    }

    /// Acknowledgment number of the local TCP on this flow, and the window field sent with it. An
    /// acknowledgment with the same values is a duplicate.
    pub fn last_ack_and_window(&self, flow: FlowKey) -> Option<(Seq, u16)> {
        match self.table.get(self.table.find(flow)?)? {
            TableEntry::Flow(flow) => Some(flow.last_ack_and_window()),
            TableEntry::Handshake(_) => None,
        }
    }

    /// Returns whether an aid withholds acknowledgments of this flow from the peer: then its packets
    /// must not show later ones than they carry.
    pub fn withholds_acks(&self, flow: FlowKey) -> bool {
        match self.table.find(flow).and_then(|index| self.table.get(index)) {
            Some(TableEntry::Flow(flow)) => flow.withholds_acks(),
            Some(TableEntry::Handshake(_)) | None => false,
        }
    }

    /// Reports that the packet that [`poll`](Self::poll) gave for the network has left in place of
    /// an acknowledgment of the local TCP.
    pub fn on_carrier_sent(&mut self, flow: FlowKey) {
        let index = self.table.find(flow);
        if let Some(TableEntry::Flow(flow)) = index.and_then(|index| self.table.get_mut(index)) {
            flow.has_used_carrier = true;
        }
    }

    /// Reports that the packet that [`poll`](Self::poll) gave for the network did not leave: the
    /// local TCP sent no acknowledgment to carry it, or, with `taken`, the acknowledgment was not
    /// seen to leave. Then the flow continues as plain TCP. If a packet has left before, one that
    /// was `taken` counts as lost, to a firewall as to any network.
    pub fn on_carrier_missing(&mut self, flow: FlowKey, taken: bool) {
        let Some(index) = self.table.find(flow) else { return };
        match self.table.get(index) {
            Some(TableEntry::Flow(flow)) if taken && flow.has_used_carrier => {}
            _ => {
                self.counts.no_carrier += 1;
                self.forget(index);
            }
        }
    }

    /// Number of flows that probe the path to the host of the one at `index`: before it, and in all.
    fn probe_turn(&self, index: usize) -> (u64, u64) {
        match self.table.get(index) {
            Some(TableEntry::Flow(flow)) if flow.can_probe() => {
                self.turns.turn(index, flow.key.destination.address)
            }
            _ => (0, 1),
        }
    }

    /// Records whether a flow probes its path.
    fn list_for_probes(&mut self, index: usize) {
        if let Some(TableEntry::Flow(flow)) = self.table.get(index) {
            let (is_disconnected, can_probe) = (flow.is_disconnected(), flow.can_probe());
            let state = PathState { is_disconnected, can_probe };
            self.turns.update(index, flow.key.destination.address, state);
        }
    }

    /// Prepares for the end of the shim: everything withheld from the local TCP and from the
    /// network is sent by the next polls. Without that every connection continues, too, after a
    /// timeout.
    pub fn shut_down(&mut self, now: Instant) {
        for index in self.table.indices() {
            let (table, mut cx) = self.context(now);
            if let Some(TableEntry::Flow(flow)) = table.get_mut(index) {
                flow.shut_down(&mut cx);
                self.ready.mark_ready(index);
            }
        }
    }

    /// Processes the headers of a SYN, FIN or RST that has passed by, from this host or to it.
    ///
    /// A driver may let a connection pass by from its SYN on until [`UNSEEN_MAX`](crate::UNSEEN_MAX)
    /// bytes, and has to pass these copies in order, each before what it intercepts later. The flow
    /// begins with the first intercepted segment of the local TCP. Nothing is assumed that the
    /// copies do not show: without them the connection counts as preexisting.
    pub fn on_passed_by(&mut self, now: Instant, packet: &[u8], is_outgoing: bool) {
        let Some(segment) = parse_headers(packet) else { return };
        let FlowKey { source, destination } = segment.flow;
        let key = if is_outgoing {
            segment.flow
        } else {
            FlowKey { source: destination, destination: source }
        };
        let found = self.table.find(key);
        if segment.has_flags(TcpFlags::SYN) && is_outgoing {
            let action = self.on_outgoing_syn(now, found, &segment);
            if matches!(action, PacketAction::Untouched(_)) {
                self.counts.count_action(action);
            }
            let index = self.table.find(key);
            if let Some(TableEntry::Handshake(opening)) =
                index.and_then(|index| self.table.get_mut(index))
            {
                opening.on_copy();
            }
            return;
        }
        let Some(index) = found else { return };
        let is_over = match self.table.get_mut(index) {
            Some(TableEntry::Handshake(opening)) if segment.has_flags(TcpFlags::RST) => {
                is_outgoing || opening.may_accept_reset(&segment)
            }
            Some(TableEntry::Handshake(opening)) if segment.has_flags(TcpFlags::SYN) => {
                if segment.has_valid_checksums(packet) || segment.has_partial_checksum(packet) {
                    opening.on_answer_copy(&segment);
                }
                false
            }
            Some(TableEntry::Handshake(opening)) if segment.has_flags(TcpFlags::FIN) => {
                opening.on_fin_copy(&segment, is_outgoing)
            }
            // It passed by before the first intercepted segment.
            Some(TableEntry::Flow(flow)) if segment.has_flags(TcpFlags::FIN) => {
                flow.on_unseen_fin(segment.range().end, is_outgoing);
                false
            }
            Some(TableEntry::Flow(_)) => segment.has_flags(TcpFlags::RST) && is_outgoing,
            Some(TableEntry::Handshake(_)) | None => false,
        };
        if is_over {
            self.forget(index);
        }
    }

    /// Forgets connections of which only the handshake was seen: copies are missing.
    pub fn on_copies_lost(&mut self) {
        for index in self.table.indices() {
            if let Some(TableEntry::Handshake(_)) = self.table.get(index) {
                self.forget(index);
            }
        }
    }

    /// Begins the flow of a connection that has passed by, if the local TCP's `segment` allows it.
    fn begin_flow(
        &mut self,
        now: Instant,
        index: usize,
        segment: &Segment,
    ) -> Option<PacketAction> {
        let Some(TableEntry::Handshake(opening)) = self.table.get(index) else { return None };
        let make = || ConnectionAid((self.aid_factory.0)());
        match opening.on_first_intercepted(now, segment, make) {
            Ok(Some(flow)) => {
                self.counts.flows += 1;
                self.table.replace(index, TableEntry::Flow(flow));
                None
            }
            Ok(None) => Some(PacketAction::Pass),
            Err(reason) => {
                self.forget(index);
                Some(PacketAction::Untouched(reason))
            }
        }
    }

    fn outgoing_segment(
        &mut self,
        now: Instant,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) -> PacketAction {
        let found = self.table.find(segment.flow);
        if segment.has_flags(TcpFlags::SYN) {
            return self.on_outgoing_syn(now, found, segment);
        }
        let Some(index) = found else {
            return PacketAction::Untouched(UntouchedReason::Preexisting);
        };
        if let Some(action) = self.begin_flow(now, index, segment) {
            return action;
        }
        let (table, mut cx) = self.context(now);
        let step = match table.get_mut(index) {
            Some(TableEntry::Flow(flow)) => flow.on_outgoing(&mut cx, segment, packet),
            _ => Step::Continue(PacketAction::Pass),
        };
        self.finish_step(now, index, step)
    }

    /// Processes a SYN or SYN-ACK of the local TCP.
    fn on_outgoing_syn(
        &mut self,
        now: Instant,
        found: Option<usize>,
        segment: &Segment,
    ) -> PacketAction {
        let refused = if segment.unknown_option || segment.payload_len > 0 {
            Some(UntouchedReason::UnknownOption)
        } else {
            None
        };
        if let Some(index) = found {
            match self.table.get_mut(index) {
                Some(TableEntry::Handshake(opening)) if refused.is_none() => {
                    if opening.is_retransmission(segment) {
                        opening.on_retransmission(now, segment);
                        return PacketAction::Pass;
                    }
                    // RFC 9293 §3.5, figure 8: the SYN-ACK answers a SYN that crossed the local
                    // one.
                    if !opening.is_passive() && segment.has_flags(TcpFlags::ACK) {
                        self.forget(index);
                        return PacketAction::Untouched(UntouchedReason::SimultaneousOpen);
                    }
                }
                _ => {}
            }
            // A new connection between the same endpoints.
            self.forget(index);
        }
        if let Some(reason) = refused {
            return PacketAction::Untouched(reason);
        }
        if self.table.len() >= self.config.flows && !self.evict(now) {
            return PacketAction::Untouched(UntouchedReason::NoRoom);
        }
        self.table.insert(TableEntry::Handshake(Handshake::new(now, segment)));
        PacketAction::Pass
    }

    fn incoming_segment(
        &mut self,
        now: Instant,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) -> PacketAction {
        let FlowKey { source, destination } = segment.flow;
        let key = FlowKey { source: destination, destination: source };
        let syn_only = segment.has_flags(TcpFlags::SYN) && !segment.has_flags(TcpFlags::ACK);
        let Some(index) = self.table.find(key) else {
            // A SYN is recorded with its answer.
            return if syn_only {
                PacketAction::Pass
            } else {
                PacketAction::Untouched(UntouchedReason::Preexisting)
            };
        };
        if let Some(TableEntry::Handshake(opening)) = self.table.get(index) {
            let opening = *opening;
            if segment.has_flags(TcpFlags::RST) {
                self.forget(index);
                return PacketAction::Pass;
            }
            if syn_only && !opening.is_passive() {
                self.forget(index);
                return PacketAction::Untouched(UntouchedReason::SimultaneousOpen);
            }
            // The flow begins with a segment of the local TCP.
            if opening.passes_by() {
                match self.table.get_mut(index) {
                    Some(TableEntry::Handshake(opening)) if segment.has_flags(TcpFlags::SYN) => {
                        opening.on_answer_copy(segment);
                    }
                    Some(TableEntry::Handshake(opening)) => opening.on_intercepted_peer(segment),
                    Some(TableEntry::Flow(_)) | None => {}
                }
                return PacketAction::Pass;
            }
            let make = || ConnectionAid((self.aid_factory.0)());
            let flow = match opening.on_reply(now, segment, make) {
                Ok(Some(flow)) => flow,
                Ok(None) => return PacketAction::Pass,
                Err(reason) => {
                    self.forget(index);
                    return PacketAction::Untouched(reason);
                }
            };
            self.counts.flows += 1;
            self.table.replace(index, TableEntry::Flow(flow));
            if segment.has_flags(TcpFlags::SYN) {
                return PacketAction::Pass;
            }
        }
        let (table, mut cx) = self.context(now);
        let step = match table.get_mut(index) {
            Some(TableEntry::Flow(flow)) => flow.on_incoming(&mut cx, segment, packet),
            _ => Step::Continue(PacketAction::Pass),
        };
        self.finish_step(now, index, step)
    }

    fn on_icmp(&mut self, now: Instant, packet: &[u8]) -> PacketAction {
        let icmp_rejected = PacketAction::Untouched(UntouchedReason::IcmpRejected);
        let Ok(decoded) = Packet::decode(packet) else { return icmp_rejected };
        let Body::Icmp(IcmpMessage::Unreachable { code, quoted }) = decoded.packet.body else {
            return PacketAction::Untouched(UntouchedReason::OtherProtocol);
        };
        let scope = match code {
            UnreachableCode::Net => UnreachableScope::Net,
            UnreachableCode::Host => UnreachableScope::Host,
            _ => return icmp_rejected,
        };
        let (from, to) = quoted.ports();
        let key = FlowKey {
            source: Endpoint::new(quoted.source, from),
            destination: Endpoint::new(quoted.destination, to),
        };
        let found = self.table.find(key).filter(|_| quoted.protocol == TCP);
        let Some(index) = found else { return icmp_rejected };
        match self.table.get(index) {
            // RFC 5927 §4.1
            Some(TableEntry::Flow(flow)) if flow.is_in_flight(quoted.seq()) => {}
            _ => return icmp_rejected,
        }
        let details = SignalDetails {
            destination: Some(quoted.destination),
            flow: Some(key),
            seq: Some(quoted.seq()),
            reporter: Some(decoded.packet.ip.source),
            ..SignalDetails::default()
        };
        let signal = Signal { kind: SignalKind::Unreachable(scope), details };
        // The local TCP receives it, too: it reverts a doubled RTO (RFC 6069), so that it
        // retransmits as often as without the shim.
        self.counts.icmp_accepted += u64::from(self.notify_flow(now, index, &signal));
        PacketAction::Pass
    }

    /// Passes a signal to a flow. Returns whether it is disconnected now.
    fn notify_flow(&mut self, now: Instant, index: usize, signal: &Signal) -> bool {
        let (table, mut cx) = self.context(now);
        let Some(TableEntry::Flow(flow)) = table.get_mut(index) else { return false };
        flow.on_signal(&mut cx, signal);
        let gone = flow.is_disconnected();
        self.mark_changed(now, index);
        gone
    }

    /// Applies the result of a packet to the flow.
    fn finish_step(&mut self, now: Instant, index: usize, step: Step) -> PacketAction {
        match step {
            Step::Continue(action) => {
                self.mark_changed(now, index);
                action
            }
            Step::Closed(action) => {
                self.forget(index);
                action
            }
        }
    }

    /// Queues a changed flow for polling, and lets others probe if its path came back.
    fn mark_changed(&mut self, now: Instant, index: usize) {
        self.ready.mark_ready(index);
        self.list_for_probes(index);
        let Some(TableEntry::Flow(flow)) = self.table.get_mut(index) else { return };
        if !core::mem::take(&mut flow.path_came_back) {
            return;
        }
        let destination = flow.key.destination.address;
        for index in self.turns.take_waiting(destination) {
            let Some(TableEntry::Flow(flow)) = self.table.get_mut(index) else { continue };
            flow.probe_now(now);
            self.ready.mark_ready(index);
        }
    }

    fn context(&mut self, now: Instant) -> (&mut ConnectionTable, Context<'_>) {
        let Self { config, pool, counts, table, .. } = self;
        (table, Context { now, config, pool, counts, probing_flows: 1, probing_before: 0 })
    }

    fn forget(&mut self, index: usize) {
        if let Some(TableEntry::Flow(mut flow)) = self.table.remove(index) {
            flow.clear(&mut self.pool);
            self.turns.update(index, flow.key.destination.address, PathState::default());
        }
        self.ready.set_timer(index, None);
    }

    /// Makes room in the table; `false` if every entry is in use.
    fn evict(&mut self, now: Instant) -> bool {
        let Some(index) = self.table.longest_idle(now) else { return false };
        self.forget(index);
        true
    }
}
