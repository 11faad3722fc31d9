//! All flows of a host.

mod connection_table;
mod index_list;
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
use crate::flow::{Capture, ConnectionAid, Context, FlowStatus, Step};
use crate::handshake::Handshake;
use crate::packet::{
    EditableBytes, PacketDestination, Parsed, Segment, complete_checksums, parse, parse_headers,
};
use crate::pool::BufferPool;
use connection_table::{ConnectionTable, TableEntry};
use index_list::IndexList;
use probe_turns::{PathState, ProbeTurns};
use ready_queue::ReadyQueue;

/// IP protocol number of TCP.
const TCP: u8 = 6;
/// Number of segments in a row to which the local TCP does not answer, after which a flow that has
/// used carrier acknowledgments is given up.
const MISSED_CARRIERS_MAX: u8 = 3;

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
/// [`on_watched`](Self::on_watched),
/// [`on_signal`](Self::on_signal), [`on_timeout`](Self::on_timeout),
/// [`on_snd_nxt`](Self::on_snd_nxt), [`on_carrier_sent`](Self::on_carrier_sent),
/// [`on_carrier_missing`](Self::on_carrier_missing).
/// *Commands*: [`shut_down`](Self::shut_down). *Polls*: [`poll`](Self::poll),
/// [`solicit_ack`](Self::solicit_ack), [`poll_flow_to_intercept`](Self::poll_flow_to_intercept),
/// [`poll_flow_to_watch`](Self::poll_flow_to_watch).
///
/// The driver passes every packet, treats it as the [`PacketAction`] demands, then polls until
/// there is nothing, then asks `next_timeout`. Time never goes back. If the driver goes away at any
/// instant, every connection continues as plain TCP.
///
/// A driver may let the packets of quiet flows pass, and give the shim copies of them. A flow
/// begins intercepted. From when `poll_flow_to_watch` has given it, its packets may pass; from when
/// `poll_flow_to_intercept` has, they have to be intercepted again. The driver polls the latter
/// before it does anything that the other polls demand.
#[derive(Debug)]
pub struct Shim {
    config: Config,
    aid_factory: AidFactory,
    pool: BufferPool,
    counts: Counts,
    table: ConnectionTable,
    ready: ReadyQueue,
    turns: ProbeTurns,
    /// Flows that the driver may watch, and those that it has to intercept again.
    quiet: IndexList,
    to_intercept: IndexList,
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
            quiet: IndexList::default(),
            to_intercept: IndexList::default(),
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
            Ok(Parsed::Tcp(segment)) => self.outgoing_segment(now, &segment, &mut packet, false),
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
        let whole = match parse(&packet) {
            Ok(Parsed::Tcp(segment)) => Ok(segment),
            Ok(Parsed::Icmp) => Err(UntouchedReason::OtherProtocol),
            Err(reason) => Err(reason),
        };
        let action = match whole {
            Ok(whole) => self.outgoing_pieces(now, &whole, &mut packet, false),
            Err(reason) => {
                self.counts.count_action(PacketAction::Untouched(reason));
                PacketAction::Untouched(reason)
            }
        };
        packet.action(action)
    }

    /// Processes a segment that is still to be cut into several, piece by piece.
    fn outgoing_pieces(
        &mut self,
        now: Instant,
        whole: &Segment,
        packet: &mut EditableBytes<'_>,
        is_copy: bool,
    ) -> PacketAction {
        let mut piece = core::mem::take(&mut self.piece);
        let action = self.each_outgoing_piece(now, whole, packet, &mut piece, is_copy);
        self.piece = piece;
        action
    }

    fn each_outgoing_piece(
        &mut self,
        now: Instant,
        whole: &Segment,
        packet: &mut EditableBytes<'_>,
        piece: &mut Vec<u8>,
        is_copy: bool,
    ) -> PacketAction {
        if let Some(index) = self.table.find(whole.flow)
            && let Some(action) = self.begin_flow(now, index, whole)
        {
            self.count_action(action, is_copy);
            return action;
        }
        let Some(len) = self.piece_len(whole) else {
            let action = PacketAction::Untouched(UntouchedReason::Preexisting);
            self.count_action(action, is_copy);
            return action;
        };
        let (mut offset, mut passes) = (0, false);
        while offset < whole.payload_len {
            let step = len.min(whole.payload_len - offset);
            if whole.write_piece(packet, offset, step, piece).is_none() {
                break;
            }
            let Ok(Parsed::Tcp(segment)) = parse(piece) else { break };
            let mut editable = EditableBytes::new(piece);
            let action = self.outgoing_segment(now, &segment, &mut editable, is_copy);
            self.count_action(action, is_copy);
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

    /// Payload of the pieces into which a segment of a flow will be cut.
    fn piece_len(&self, whole: &Segment) -> Option<u32> {
        match self.table.get(self.table.find(whole.flow)?)? {
            TableEntry::Flow(flow) => Some(flow.piece_len(whole)),
            TableEntry::Handshake(_) => None,
        }
    }

    fn count_action(&mut self, action: PacketAction, is_copy: bool) {
        if !is_copy {
            self.counts.count_action(action);
        }
    }

    /// Processes a copy of a packet that has passed, from this host or to it: of a flow that
    /// [`poll_flow_to_watch`](Self::poll_flow_to_watch) has given. Its bytes may be changed. Copies
    /// of a connection come in order, each before what is intercepted later. Where copies are
    /// missing, the shim has not stored what they carried, and may not see a loss.
    pub fn on_watched(&mut self, now: Instant, packet: &mut [u8], is_outgoing: bool) {
        let Ok(Parsed::Tcp(segment)) = parse(packet) else { return };
        self.counts.watched += 1;
        let is_whole = self.piece_len(&segment).is_some_and(|len| segment.payload_len <= len);
        if is_outgoing && segment.payload_len > 0 && !is_whole {
            self.outgoing_pieces(now, &segment, &mut EditableBytes::new(packet), true);
            return;
        }
        let is_partial = segment.has_partial_checksum(packet);
        if !is_partial && !segment.has_valid_checksums(packet) {
            return;
        }
        if is_partial && is_outgoing {
            // It is stored as the interface will send it.
            complete_checksums(packet);
        }
        let mut packet = EditableBytes::new(packet);
        if is_outgoing {
            self.outgoing_segment(now, &segment, &mut packet, true);
        } else {
            self.incoming_segment(now, &segment, &mut packet, true);
        }
    }

    /// Takes a flow whose packets have to be intercepted from now on.
    pub fn poll_flow_to_intercept(&mut self) -> Option<FlowKey> {
        while let Some(index) = self.to_intercept.pop() {
            if let Some(TableEntry::Flow(flow)) = self.table.get(index)
                && flow.capture == Capture::Intercepted
            {
                return Some(flow.key);
            }
        }
        None
    }

    /// Takes a quiet flow, whose packets may pass from now on while the shim gets copies.
    pub fn poll_flow_to_watch(&mut self, now: Instant) -> Option<FlowKey> {
        while let Some(index) = self.quiet.pop() {
            if let Some(TableEntry::Flow(flow)) = self.table.get_mut(index)
                && flow.capture == Capture::Quiet
            {
                let is_quiet = !flow.must_be_intercepted(now, &self.config);
                flow.capture = if is_quiet { Capture::Watched } else { Capture::Intercepted };
                if is_quiet {
                    return Some(flow.key);
                }
            }
        }
        None
    }

    /// Updates the way by which a flow's packets are to reach the shim.
    fn update_capture(&mut self, now: Instant, index: usize, by: Option<Capture>) {
        let Some(TableEntry::Flow(flow)) = self.table.get_mut(index) else { return };
        let must_be_intercepted = flow.must_be_intercepted(now, &self.config);
        let is_intercepted = by == Some(Capture::Intercepted);
        match flow.capture {
            Capture::Watched if must_be_intercepted => {
                flow.capture = Capture::Intercepted;
                self.to_intercept.push(index);
            }
            // The driver watches no more, or does not yet.
            Capture::Watched | Capture::Intercepted if is_intercepted && !must_be_intercepted => {
                flow.capture = Capture::Quiet;
                self.quiet.push(index);
            }
            // It still watches.
            Capture::Intercepted if by == Some(Capture::Watched) => self.to_intercept.push(index),
            Capture::Intercepted | Capture::Quiet | Capture::Watched => {}
        }
    }

    /// Processes a packet that arrives for this host.
    pub fn on_incoming(&mut self, now: Instant, packet: &mut [u8]) -> PacketAction {
        let mut packet = EditableBytes::new(packet);
        let action = match parse(&packet) {
            Ok(Parsed::Tcp(segment)) if !segment.has_valid_checksums(&packet) => {
                PacketAction::Untouched(UntouchedReason::Corrupt)
            }
            Ok(Parsed::Tcp(segment)) => self.incoming_segment(now, &segment, &mut packet, false),
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
                self.mark_changed(now, index, None);
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
            Some(TableEntry::Flow(flow)) => {
                let is_written = flow.write_solicitation(now, packet).is_some();
                if let Some(index) = index {
                    self.update_capture(now, index, None);
                }
                is_written
            }
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

    /// Reports SND.NXT of the local TCP, the sequence number of a bare acknowledgment that it has sent
    /// after everything that the shim has seen of the flow.
    ///
    /// TCP does not count as sent what the interface refuses (on Linux: its queue is full, or the link
    /// is failing), although there may be a copy. If that reached the peer, the local TCP would reject
    /// every later acknowledgment (RFC 9293 §3.10.7.4), so it is forgotten.
    pub fn on_snd_nxt(&mut self, now: Instant, flow: FlowKey, snd_nxt: Seq) {
        let Some(index) = self.table.find(flow) else { return };
        let (table, mut cx) = self.context(now);
        if let Some(TableEntry::Flow(flow)) = table.get_mut(index)
            && flow.on_snd_nxt(&mut cx, snd_nxt)
        {
            self.mark_changed(now, index, None);
        }
    }

    /// Reports that the packet that [`poll`](Self::poll) gave for the network has left in place of
    /// an acknowledgment of the local TCP.
    pub fn on_carrier_sent(&mut self, flow: FlowKey) {
        let index = self.table.find(flow);
        if let Some(TableEntry::Flow(flow)) = index.and_then(|index| self.table.get_mut(index)) {
            flow.has_used_carrier = true;
            flow.missed_carriers = 0;
        }
    }

    /// Reports that the packet that [`poll`](Self::poll) gave for the network did not leave: the
    /// local TCP sent no acknowledgment to carry it, or, with `taken`, the acknowledgment was not
    /// seen to leave. Then the flow continues as plain TCP. If a packet has left before, one that
    /// was `taken` counts as lost, to a firewall as to any network, and so does one to which TCP did
    /// not answer, until the third in a row: a program may hold its socket's lock (on
    /// Linux while it copies from a page that has to be read from a disk).
    pub fn on_carrier_missing(&mut self, flow: FlowKey, taken: bool) {
        let Some(index) = self.table.find(flow) else { return };
        if let Some(TableEntry::Flow(flow)) = self.table.get_mut(index)
            && flow.has_used_carrier
        {
            flow.missed_carriers += u8::from(!taken);
            if flow.missed_carriers < MISSED_CARRIERS_MAX {
                return;
            }
        }
        self.counts.no_carrier += 1;
        self.forget(index);
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
        is_copy: bool,
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
        cx.is_copy = is_copy;
        let step = match table.get_mut(index) {
            Some(TableEntry::Flow(flow)) => flow.on_outgoing(&mut cx, segment, packet),
            _ => Step::Continue(PacketAction::Pass),
        };
        self.finish_step(now, index, step, is_copy)
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
        is_copy: bool,
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
        cx.is_copy = is_copy;
        let step = match table.get_mut(index) {
            Some(TableEntry::Flow(flow)) => flow.on_incoming(&mut cx, segment, packet),
            _ => Step::Continue(PacketAction::Pass),
        };
        self.finish_step(now, index, step, is_copy)
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
        self.mark_changed(now, index, None);
        gone
    }

    /// Applies the result of a packet to the flow.
    fn finish_step(
        &mut self,
        now: Instant,
        index: usize,
        step: Step,
        is_copy: bool,
    ) -> PacketAction {
        match step {
            Step::Continue(action) => {
                let by = if is_copy { Capture::Watched } else { Capture::Intercepted };
                self.mark_changed(now, index, Some(by));
                action
            }
            Step::Closed(action) => {
                self.forget(index);
                action
            }
        }
    }

    /// Queues a changed flow for polling, and lets others probe if its path came back. `by` is the way
    /// by which a packet of the flow has just reached the shim.
    fn mark_changed(&mut self, now: Instant, index: usize, by: Option<Capture>) {
        self.ready.mark_ready(index);
        self.list_for_probes(index);
        self.update_capture(now, index, by);
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
        let (probing_flows, probing_before, is_copy) = (1, 0, false);
        (table, Context { now, config, pool, counts, probing_flows, probing_before, is_copy })
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
