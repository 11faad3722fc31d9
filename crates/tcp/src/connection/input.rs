//! Segment arrival: RFC 9293 §3.10.7, with the checks of RFC 5961 and RFC 7323.

use driftway_base::{Duration, Ecn, Endpoint, Instant, Ipv4Addr, Seq};
use driftway_wire::{Payload, TcpFlags, TcpOptions, TcpSegment, Timestamps};

use super::control_block::{Connection, Event, Transmit};
use super::sender::initial_window;
use crate::receiver::ArrivalOrder;
use crate::state::{State, Transition};
use crate::timer::Timer;

/// Result of a segment arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Received {
    /// The accepted part of its payload, under the name with which it came: a driver that stores
    /// bytes stores these, and only these.
    pub accepted: Payload,
}

/// Age after which the peer's timestamps are not trusted (RFC 7323 §5.5: 24 days).
const STALE_TIMESTAMP: Duration = Duration::from_secs(24 * 24 * 3600);

impl Connection {
    /// Handles a segment from `from` with valid checksums and matching ports; `ecn` is the ECN
    /// field of its IP header.
    pub fn on_segment(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        segment: &TcpSegment,
        ecn: Ecn,
    ) -> Received {
        match self.state {
            State::Closed => self.reply_with_reset(segment),
            State::Listen => self.on_segment_in_listen(now, from, segment),
            State::SynSent => self.on_segment_in_syn_sent(now, segment),
            _ => return self.on_segment_in_other_states(now, segment, ecn),
        }
        Received::default()
    }

    /// Replies with a reset in CLOSED (RFC 9293 §3.10.7.1). For segments that belong to no
    /// connection at all, a driver uses [`reset_for`].
    fn reply_with_reset(&mut self, segment: &TcpSegment) {
        if let Some(reset) = reset_for(segment) {
            self.replies.push_back(Transmit::plain(reset));
        }
    }

    /// Handles a segment that an aid discards: only the timestamp that it echoes counts. A
    /// retransmission at the aid's request carries the last one, and with an older one than the peer
    /// has PAWS (RFC 7323 §5) would drop it each time.
    pub fn on_discarded_segment(&mut self, now: Instant, segment: &TcpSegment) {
        if let Some(Timestamps { echo, .. }) = segment.options.timestamps
            && self.negotiated.timestamps
            && segment.flags.contains(TcpFlags::ACK)
            && Seq(echo).after(Seq(self.snd.last_echoed_timestamp))
            && Seq(echo).at_or_before(Seq(self.timestamp(now)))
        {
            self.snd.last_echoed_timestamp = echo;
        }
    }

    /// Handles a segment in LISTEN (RFC 9293 §3.10.7.2).
    fn on_segment_in_listen(&mut self, now: Instant, from: Ipv4Addr, segment: &TcpSegment) {
        let flags = segment.flags;
        if flags.contains(TcpFlags::RST) {
            return;
        }
        if flags.contains(TcpFlags::ACK) {
            self.reply_with_reset(segment);
            return;
        }
        if !flags.contains(TcpFlags::SYN) || flags.contains(TcpFlags::FIN) {
            return;
        }
        self.remote = Endpoint::new(from, segment.source_port);
        self.synchronize(now, segment);
        // RFC 3168 §6.1.1: ECE and CWR request ECN.
        self.negotiated.ecn =
            self.config.ecn && flags.contains(TcpFlags::ECE) && flags.contains(TcpFlags::CWR);
        self.apply_transition(Transition::Syn);
        self.syn_due = true;
    }

    /// Initializes the connection from the peer's SYN.
    fn synchronize(&mut self, now: Instant, segment: &TcpSegment) {
        self.rcv.synchronize(segment.seq);
        let options: &TcpOptions = &segment.options;
        self.negotiated.sack = self.config.sack && options.sack_permitted;
        if !self.negotiated.sack
            && let Some(other) = self.snd.recovery.fallback_without_sack()
        {
            self.snd.recovery = other;
            self.snd.send_state.release_log();
        }
        self.negotiated.timestamps = self.config.timestamps && options.timestamps.is_some();
        self.negotiated.window_scale = self.config.window_scale && options.window_scale.is_some();
        if !self.negotiated.window_scale {
            self.rcv.disable_window_scaling();
        }
        self.snd.wnd_shift = match options.window_scale {
            Some(shift) if self.negotiated.window_scale => shift.min(14),
            _ => 0,
        };
        if let Some(Timestamps { value, .. }) = options.timestamps {
            self.recent_timestamp.ts_recent = value;
            self.recent_timestamp.updated_at = now;
        }
        // RFC 9293 §3.7.1: 536 without an MSS option; RFC 6691: the length of options is
        // subtracted.
        let peer = options.mss.unwrap_or(536).max(48);
        let timestamps = if self.negotiated.timestamps { 12 } else { 0 };
        let mss = u32::from(peer.min(self.config.mss)).saturating_sub(timestamps).max(1);
        self.snd.send_state.set_mss(mss);
        self.snd.send_state.congestion.on_segment_size_agreed(initial_window(&self.config, mss));
        self.snd.wnd = u32::from(segment.window);
        self.snd.max_wnd = self.snd.wnd;
        self.snd.wl1 = segment.seq;
        self.snd.wl2 = segment.ack;
        self.last_received = now;
    }

    /// Handles a segment in SYN-SENT (RFC 9293 §3.10.7.3). Data and FIN on a SYN are ignored until
    /// their retransmission.
    fn on_segment_in_syn_sent(&mut self, now: Instant, segment: &TcpSegment) {
        let flags = segment.flags;
        let acks = flags.contains(TcpFlags::ACK);
        if acks && !self.acknowledges_syn(segment) {
            self.reply_with_reset(segment);
            return;
        }
        if flags.contains(TcpFlags::RST) {
            if acks {
                self.apply_transition(Transition::Reset);
                self.terminate(Event::Reset);
            }
            return;
        }
        if !flags.contains(TcpFlags::SYN) {
            return;
        }
        self.synchronize(now, segment);
        if !acks {
            // Simultaneous open (RFC 9293 §3.5, figure 8).
            self.negotiated.ecn =
                self.config.ecn && flags.contains(TcpFlags::ECE) && flags.contains(TcpFlags::CWR);
            self.apply_transition(Transition::Syn);
            self.syn_due = true;
            return;
        }
        // RFC 3168 §6.1.1: ECE without CWR accepts ECN.
        self.negotiated.ecn = self.config.ecn
            && !self.syn_lost
            && flags.contains(TcpFlags::ECE)
            && !flags.contains(TcpFlags::CWR);
        self.on_syn_acknowledged(now, segment);
        self.apply_transition(Transition::SynAck);
        self.pending_ack.due_now = true;
        self.on_established(now);
    }

    /// True if the segment acknowledges our SYN, which was sent and not acknowledged before.
    fn acknowledges_syn(&self, segment: &TcpSegment) -> bool {
        segment.ack.after(self.snd.send_state.una())
            && segment.ack.at_or_before(self.snd.send_state.max())
    }

    /// Handles the acknowledgment of our SYN.
    fn on_syn_acknowledged(&mut self, now: Instant, segment: &TcpSegment) {
        self.snd.syn_acked = true;
        self.snd.send_state.on_syn_acked(self.snd.iss);
        self.snd.ecn.negotiated = self.negotiated.ecn;
        let timeouts = core::mem::take(&mut self.snd.retries);
        self.snd.disruption = None;
        self.syn_due = false;
        self.timers.stop(Timer::Retransmission);
        let rtt = self.snd.timed_segment.map(|(_, at)| now.since(at));
        self.sample_round_trip(now, segment, 1);
        if let Some(rtt) = rtt {
            self.snd.recovery.on_handshake(now, rtt);
        }
        if self.syn_lost {
            // RFC 6298 §5.7, RFC 5681 §3.1: conservative on a path that lost the SYN.
            self.snd.rtt.on_syn_lost();
            // Linux takes one loss for an accident.
            if timeouts > 1 || !self.config.linux_growth {
                let mss = self.snd.send_state.mss();
                self.snd.send_state.congestion.on_syn_lost(mss);
            }
        }
        self.snd.send_state.report_established(now, rtt);
    }

    /// Enters the synchronized states.
    fn on_established(&mut self, now: Instant) {
        self.rcv.advertise(1);
        self.pending_ack.last_sent = self.rcv.nxt();
        self.events.push_back(Event::Connected);
        if let Some(idle) = self.config.keep_alive {
            self.timers.set(Timer::KeepAlive, self.config.clock.deadline(now, idle));
        }
        if self.snd.close_requested {
            self.apply_transition(Transition::Close);
        }
    }

    /// Handles a segment in all other states, in the order of RFC 9293 §3.10.7.4.
    fn on_segment_in_other_states(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        ecn: Ecn,
    ) -> Received {
        let nothing = Received::default();
        if !self.passes_paws(now, segment) || !self.in_window(now, segment) {
            return nothing;
        }
        if segment.flags.contains(TcpFlags::RST) {
            self.on_reset(now, segment);
            return nothing;
        }
        if segment.flags.contains(TcpFlags::SYN) {
            if self.state == State::SynReceived {
                self.on_syn_in_syn_received(now, segment);
            } else {
                // RFC 5961 §4.2
                self.send_challenge_ack(now);
            }
            return nothing;
        }
        if !segment.flags.contains(TcpFlags::ACK) {
            return nothing;
        }
        if self.state == State::SynReceived {
            if !self.acknowledges_syn(segment) {
                self.reply_with_reset(segment);
                return nothing;
            }
            self.on_syn_acknowledged(now, segment);
            self.apply_transition(Transition::AckOfSyn);
            self.snd.wl1 = segment.seq - 1;
            self.on_established(now);
        }
        if !self.on_ack(now, segment) {
            // It is dropped (RFC 9293 §3.10.7.4): its timestamp does not count, although R3 of RFC 7323 §5.3 precedes
            // this check, and the peer may not have sent it.
            return nothing;
        }
        self.last_received = now;
        self.update_ts_recent(now, segment);
        let received = self.on_payload(now, segment, ecn);
        self.on_fin(now, segment);
        received
    }

    /// Handles a second SYN in SYN-RECEIVED.
    fn on_syn_in_syn_received(&mut self, now: Instant, segment: &TcpSegment) {
        let flags = segment.flags;
        if segment.seq != self.rcv.irs() {
            // RFC 9293 §3.10.7.4, fourth check
            if self.passive_open {
                self.return_to_listen();
            } else {
                self.send_challenge_ack(now);
            }
        } else if flags.contains(TcpFlags::ACK) && self.acknowledges_syn(segment) {
            // RFC 9293 §3.5, figure 8: the SYN-ACKs of a simultaneous open cross.
            self.on_syn_acknowledged(now, segment);
            self.apply_transition(Transition::AckOfSyn);
            self.snd.wnd = u32::from(segment.window);
            self.snd.wl2 = segment.ack;
            self.on_established(now);
        } else {
            // The peer's retransmitted SYN requests our SYN-ACK again. RFC 3168 §6.1.1.1: one SYN
            // without ECN disables it.
            self.negotiated.ecn &= flags.contains(TcpFlags::ECE) && flags.contains(TcpFlags::CWR);
            self.syn_due = true;
        }
    }

    /// Returns to LISTEN for the next attempt; data that the user has written is kept.
    fn return_to_listen(&mut self) {
        if self.snd.close_requested {
            self.apply_transition(Transition::Reset);
            self.terminate(Event::Closed);
            return;
        }
        self.apply_transition(Transition::ResetOfPassive);
        let (state, stats, written) = (self.state, self.stats, self.snd.written);
        let nobody = Endpoint::new(Ipv4Addr::UNSPECIFIED, 0);
        let (config, iss) = (self.config, self.snd.iss);
        let fresh = Self::new(&config, self.local, nobody, iss, self.stream);
        *self = Self { state, stats, passive_open: true, ..fresh };
        self.snd.written = written;
    }

    /// PAWS (RFC 7323 §5.3): a segment with an old timestamp is an old segment.
    fn passes_paws(&mut self, now: Instant, segment: &TcpSegment) -> bool {
        let Some(Timestamps { value, .. }) =
            segment.options.timestamps.filter(|_| self.negotiated.timestamps)
        else {
            return true;
        };
        let old = Seq(value).before(Seq(self.recent_timestamp.ts_recent));
        if !old || segment.flags.contains(TcpFlags::RST) {
            return true;
        }
        if now.since(self.recent_timestamp.updated_at) > STALE_TIMESTAMP {
            self.recent_timestamp.ts_recent = value;
            return true;
        }
        let by_a_tick = Seq(self.recent_timestamp.ts_recent) == Seq(value) + 1;
        if self.config.disordered_acks && (by_a_tick || self.is_overtaken(segment, value)) {
            return true;
        }
        self.stats.segments_rejected += 1;
        self.pending_ack.due_now = true;
        false
    }

    /// True for a pure acknowledgment that others may have overtaken: it changes nothing but SACK
    /// information. One of an earlier connection would be older.
    fn is_overtaken(&self, segment: &TcpSegment, value: u32) -> bool {
        let age = self
            .timestamp_tick()
            .times(u64::from(self.recent_timestamp.ts_recent.wrapping_sub(value)));
        let window = u32::from(segment.window) << self.snd.wnd_shift;
        let newer = self.snd.wl1.before(segment.seq)
            || (self.snd.wl1 == segment.seq && (window > self.snd.wnd || window == 0));
        segment.flags.contains(TcpFlags::ACK)
            && segment.sequence_len() == 0
            && segment.seq == self.rcv.nxt()
            && segment.ack == self.snd.send_state.una()
            && !newer
            && age <= self.snd.rtt.rto()
    }

    /// True if the segment is inside the receive window. Otherwise an acknowledgment shows the peer
    /// where that is.
    fn in_window(&mut self, now: Instant, segment: &TcpSegment) -> bool {
        let seq = segment.seq;
        // A SYN below the window is a retransmission of the peer's; the check of SYN answers it.
        if segment.flags.contains(TcpFlags::SYN) && seq == self.rcv.irs() {
            return true;
        }
        if self.rcv.is_acceptable(seq, segment.sequence_len()) {
            return true;
        }
        self.stats.segments_rejected += 1;
        if segment.flags.contains(TcpFlags::RST) {
            return false;
        }
        if self.state == State::TimeWait && segment.flags.contains(TcpFlags::FIN) {
            // Our last acknowledgment was lost (RFC 9293 §3.6.1).
            self.start_time_wait(now);
        }
        if segment.sequence_len() > 0 && !segment.payload.is_empty() {
            // RFC 2883 §4: report the duplicate.
            let end = seq + segment.payload.len;
            if end.at_or_before(self.rcv.nxt()) {
                self.rcv.take(seq, segment.payload);
            }
        }
        self.pending_ack.due_now = true;
        // RFC 9293 §3.10.7.4: with a zero window, acknowledgments are still valid; so are those of
        // keep-alives (§3.8.4).
        let at_the_edge =
            seq == self.rcv.nxt() && self.rcv.window() == 0 || seq + 1 == self.rcv.nxt();
        if segment.flags.contains(TcpFlags::ACK)
            && self.state.is_synchronized()
            && at_the_edge
            && self.on_ack(now, segment)
        {
            self.last_received = now;
        }
        false
    }

    /// Handles a reset: valid at exactly RCV.NXT, challenged elsewhere in the window (RFC 5961
    /// §3.2).
    fn on_reset(&mut self, now: Instant, segment: &TcpSegment) {
        if segment.seq != self.rcv.nxt() {
            self.send_challenge_ack(now);
            return;
        }
        if self.state == State::SynReceived && self.passive_open {
            self.return_to_listen();
            return;
        }
        // At most the acknowledgment of our FIN is missing.
        let quiet = matches!(self.state, State::TimeWait | State::Closing | State::LastAck)
            && self.snd.una_offset == self.snd.written;
        self.apply_transition(Transition::Reset);
        self.terminate(if quiet { Event::Closed } else { Event::Reset });
    }

    /// Sends a challenge ACK within the rate limit (RFC 5961 §3.2, §4.2, §5.2).
    pub(super) fn send_challenge_ack(&mut self, now: Instant) {
        self.stats.segments_rejected += 1;
        if self.challenge_acks.allow(now) {
            self.pending_ack.due_now = true;
        }
    }

    /// Updates TS.Recent from the segment at Last.ACK.sent (RFC 7323 §4.3).
    fn update_ts_recent(&mut self, now: Instant, segment: &TcpSegment) {
        if let Some(Timestamps { value, .. }) = segment.options.timestamps
            && Seq(value).at_or_after(Seq(self.recent_timestamp.ts_recent))
            && segment.seq.at_or_before(self.pending_ack.last_sent)
        {
            self.recent_timestamp.ts_recent = value;
            self.recent_timestamp.updated_at = now;
        }
    }

    /// Processes the payload.
    fn on_payload(&mut self, now: Instant, segment: &TcpSegment, ecn: Ecn) -> Received {
        if segment.payload.is_empty() || !self.state.may_receive() {
            // RFC 9293 §3.10.7.4, seventh check: no data can follow the peer's FIN.
            return Received::default();
        }
        // Marks are echoed whenever ECN was offered: the peer may have accepted the offer of a SYN
        // that counts as lost here.
        if self.config.ecn {
            if segment.flags.contains(TcpFlags::CWR) {
                self.pending_ack.echo_ce = false;
            }
            if ecn == Ecn::Ce && !core::mem::replace(&mut self.pending_ack.echo_ce, true) {
                self.acknowledge_at_once(2);
            }
        }
        let payload = match self.rcv.fin_seq() {
            // No data follows the FIN.
            Some(fin) => segment.payload.truncated(fin.since(segment.seq)),
            None => segment.payload,
        };
        let (accepted, arrival) = self.rcv.take(segment.seq, payload);
        self.pending_ack.segments += 1;
        self.note_data_for_acks(now, segment, accepted.is_empty());
        let waits = self.ack_waits();
        match (arrival, self.config.delayed_ack) {
            (ArrivalOrder::InOrder, Some(delayed)) if waits => {
                let (clock, delay) = (self.config.clock, self.ack_delay(delayed));
                let at = match delayed.on_tick {
                    true => clock.deadline_with_tick(now, delay, delayed.timeout),
                    false => clock.ack_deadline(now, delay),
                };
                self.timers.start(Timer::DelayedAck, at);
            }
            _ => self.pending_ack.due_now = true,
        }
        Received { accepted }
    }

    /// Processes the FIN, once everything before it has arrived.
    fn on_fin(&mut self, now: Instant, segment: &TcpSegment) {
        let fin = segment.range().fin();
        if let Some(fin) = fin.filter(|_| self.state.may_receive()) {
            self.rcv.on_fin(fin);
        }
        if self.rcv.fin_seq().is_none() {
            return;
        }
        if self.rcv.take_fin() {
            self.pending_ack.due_now = true;
            self.events.push_back(Event::PeerClosed);
            self.apply_transition(Transition::Fin);
            if self.state == State::TimeWait {
                self.start_time_wait(now);
            }
        } else if fin.is_some() {
            self.pending_ack.due_now = true;
        }
    }

    pub(super) fn start_time_wait(&mut self, now: Instant) {
        self.timers.stop(Timer::Retransmission);
        self.timers.stop(Timer::Persist);
        self.timers.stop(Timer::KeepAlive);
        self.timers.set(Timer::TimeWait, now + self.config.msl.times(2));
    }
}

/// The reset in response to a segment without a connection (RFC 9293 §3.10.7.1); `None` for a
/// reset.
pub fn reset_for(segment: &TcpSegment) -> Option<TcpSegment> {
    if segment.flags.contains(TcpFlags::RST) {
        return None;
    }
    let mut reset = TcpSegment {
        source_port: segment.destination_port,
        destination_port: segment.source_port,
        ..TcpSegment::default()
    };
    if segment.flags.contains(TcpFlags::ACK) {
        reset.seq = segment.ack;
        reset.flags = TcpFlags::RST;
    } else {
        reset.ack = segment.end();
        reset.flags = TcpFlags::RST.with(TcpFlags::ACK);
    }
    Some(reset)
}

impl Connection {
    /// True if a segment that begins at `seq` may be in flight: the check of an ICMP message's
    /// quoted segment (RFC 5927 §4.1). A pure acknowledgment begins at SND.MAX.
    pub fn may_have_sent(&self, seq: Seq) -> bool {
        let send = &self.snd.send_state;
        seq.at_or_after(send.una()) && seq.at_or_before(send.max())
    }
}
