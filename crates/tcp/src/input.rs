//! A segment arrives: RFC 9293 §3.10.7, with the checks of RFC 5961 and RFC 7323.

use base::{Duration, Ecn, Endpoint, Instant, Ipv4Addr, Release, Seq, SeqRange};
use wire::{Payload, TcpFlags, TcpOptions, TcpSegment, Timestamps};

use crate::connection::{Connection, Event};
use crate::flight::Phase;
use crate::growth::Acked;
use crate::receiver::Arrival;
use crate::sender::initial_window;
use crate::state::{Cause, State};
use crate::timer::Timer;

/// What an arriving segment brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Received {
    /// The part of its payload that was taken, under the name it came with: a driver that keeps
    /// bytes stores these, and only these.
    pub taken: Payload,
}

/// The peer's timestamps are not trusted after this long (RFC 7323 §5.5: 24 days).
const STALE_TIMESTAMP: Duration = Duration::from_secs(24 * 24 * 3600);

impl Connection {
    /// A segment from `from` with checked checksums and matching ports arrives; `ecn` are the
    /// congestion bits of its IP header.
    pub fn on_segment(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        segment: &TcpSegment,
        ecn: Ecn,
    ) -> Received {
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.in_listen(now, from, segment),
            State::SynSent => return self.in_syn_sent(now, segment, ecn),
            _ => return self.in_other_states(now, segment, ecn),
        }
        Received::default()
    }

    /// No connection: a reset, unless it is one (RFC 9293 §3.10.7.1). To be sent by the driver for
    /// segments that belong to no connection at all, too: see [`reset_for`].
    fn refuse(&mut self, segment: &TcpSegment) {
        if let Some(reset) = reset_for(segment) {
            self.replies.push_back(reset);
        }
    }

    /// RFC 9293 §3.10.7.2
    fn in_listen(&mut self, now: Instant, from: Ipv4Addr, segment: &TcpSegment) {
        let flags = segment.flags;
        if flags.contains(TcpFlags::RST) {
            return;
        }
        if flags.contains(TcpFlags::ACK) {
            self.refuse(segment);
            return;
        }
        if !flags.contains(TcpFlags::SYN) || flags.contains(TcpFlags::FIN) {
            return;
        }
        self.remote = Endpoint::new(from, segment.source_port);
        self.synchronize(now, segment);
        // RFC 3168 §6.1.1: ECE and CWR ask for ECN.
        self.agreed.ecn =
            self.config.ecn && flags.contains(TcpFlags::ECE) && flags.contains(TcpFlags::CWR);
        self.become_after(Cause::Syn);
        self.syn_due = true;
    }

    /// Takes over what the peer's SYN says.
    fn synchronize(&mut self, now: Instant, segment: &TcpSegment) {
        self.rcv.synchronize(segment.seq);
        let options: &TcpOptions = &segment.options;
        self.agreed.sack = self.config.sack && options.sack_permitted;
        self.agreed.timestamps = self.config.timestamps && options.timestamps.is_some();
        self.agreed.window_scale = self.config.window_scale && options.window_scale.is_some();
        if !self.agreed.window_scale {
            self.rcv.shift = 0;
        }
        self.snd.wnd_shift = match options.window_scale {
            Some(shift) if self.agreed.window_scale => shift.min(14),
            _ => 0,
        };
        if let Some(Timestamps { value, .. }) = options.timestamps {
            self.echo.recent = value;
            self.echo.at = now;
        }
        // RFC 9293 §3.7.1: 536 where the peer says nothing; RFC 6691: options come out of it.
        let peer = options.mss.unwrap_or(536).max(48);
        let timestamps = if self.agreed.timestamps { 12 } else { 0 };
        let mss = u32::from(peer.min(self.config.mss)).saturating_sub(timestamps).max(1);
        self.snd.flight.mss = mss;
        self.snd.flight.window.cwnd = initial_window(&self.config, mss);
        self.snd.wnd = u32::from(segment.window);
        self.snd.largest_wnd = self.snd.wnd;
        self.snd.wl1 = segment.seq;
        self.snd.wl2 = segment.ack;
        self.heard = now;
    }

    /// RFC 9293 §3.10.7.3
    fn in_syn_sent(&mut self, now: Instant, segment: &TcpSegment, ecn: Ecn) -> Received {
        let flags = segment.flags;
        let acks = flags.contains(TcpFlags::ACK);
        if acks && segment.ack != self.snd.iss + 1 {
            self.refuse(segment);
            return Received::default();
        }
        if flags.contains(TcpFlags::RST) {
            if acks {
                self.become_after(Cause::Reset);
                self.end(Event::Reset);
            }
            return Received::default();
        }
        if !flags.contains(TcpFlags::SYN) {
            return Received::default();
        }
        self.synchronize(now, segment);
        if !acks {
            // Simultaneous open.
            self.agreed.ecn =
                self.config.ecn && flags.contains(TcpFlags::ECE) && flags.contains(TcpFlags::CWR);
            self.become_after(Cause::Syn);
            self.syn_due = true;
            return Received::default();
        }
        // RFC 3168 §6.1.1: ECE without CWR agrees to ECN.
        self.agreed.ecn = self.config.ecn
            && !self.syn_lost
            && flags.contains(TcpFlags::ECE)
            && !flags.contains(TcpFlags::CWR);
        self.syn_acknowledged(now, segment);
        self.become_after(Cause::SynAck);
        self.acks.now = true;
        self.opened(now);
        // Data and FIN on a SYN are kept for its retransmission (RFC 9293 §3.10.7.3 allows both).
        let _ = ecn;
        Received::default()
    }

    /// Our SYN is acknowledged.
    fn syn_acknowledged(&mut self, now: Instant, segment: &TcpSegment) {
        self.snd.flight.una = self.snd.iss + 1;
        self.snd.flight.nxt = self.snd.flight.nxt.max(self.snd.flight.una);
        self.snd.ecn.on = self.agreed.ecn;
        self.snd.retries = 0;
        self.syn_due = false;
        self.timers.stop(Timer::Retransmission);
        self.sample_round_trip(now, segment, 1);
        if self.syn_lost {
            // RFC 6298 §5.7, RFC 5681 §3.1: no trust in a path that lost the SYN.
            self.snd.rtt.after_lost_syn();
            self.snd.flight.window.cwnd = self.snd.flight.mss;
        }
    }

    /// The connection is open.
    fn opened(&mut self, now: Instant) {
        self.rcv.advertise(1);
        self.acks.last = self.rcv.nxt;
        self.events.push_back(Event::Connected);
        if let Some(idle) = self.config.keep_alive {
            self.timers.set(Timer::KeepAlive, now + idle);
        }
        if self.snd.closing {
            self.become_after(Cause::Close);
        }
    }

    /// RFC 9293 §3.10.7.4, in its order.
    fn in_other_states(&mut self, now: Instant, segment: &TcpSegment, ecn: Ecn) -> Received {
        let nothing = Received::default();
        if !self.passes_paws(now, segment) || !self.in_window(now, segment) {
            return nothing;
        }
        if segment.flags.contains(TcpFlags::RST) {
            self.on_reset(now, segment);
            return nothing;
        }
        if segment.flags.contains(TcpFlags::SYN) {
            // RFC 5961 §4.2; in SYN-RECEIVED the peer's own SYN, again, asks for ours again.
            if self.state == State::SynReceived && segment.seq == self.rcv.irs {
                self.syn_due = true;
            } else {
                self.challenge(now);
            }
            return nothing;
        }
        if !segment.flags.contains(TcpFlags::ACK) {
            return nothing;
        }
        self.heard = now;
        self.take_timestamp(now, segment);
        if self.state == State::SynReceived {
            let acceptable = segment.ack.after(self.snd.flight.una)
                && segment.ack.at_or_before(self.snd.flight.max);
            if !acceptable {
                self.refuse(segment);
                return nothing;
            }
            self.syn_acknowledged(now, segment);
            self.become_after(Cause::AckOfSyn);
            self.snd.wl1 = segment.seq - 1;
            self.opened(now);
        }
        if !self.on_ack(now, segment) {
            return nothing;
        }
        let received = self.on_payload(now, segment, ecn);
        self.on_fin(now, segment);
        received
    }

    /// PAWS (RFC 7323 §5.3): an old timestamp means an old segment.
    fn passes_paws(&mut self, now: Instant, segment: &TcpSegment) -> bool {
        let Some(Timestamps { value, .. }) =
            segment.options.timestamps.filter(|_| self.agreed.timestamps)
        else {
            return true;
        };
        let old = Seq(value).before(Seq(self.echo.recent));
        if !old || segment.flags.contains(TcpFlags::RST) {
            return true;
        }
        if now.since(self.echo.at) > STALE_TIMESTAMP {
            self.echo.recent = value;
            return true;
        }
        self.stats.refused += 1;
        self.acks.now = true;
        false
    }

    /// Is the segment inside the receive window? If not, an acknowledgment says where that is.
    fn in_window(&mut self, now: Instant, segment: &TcpSegment) -> bool {
        let seq = segment.seq;
        // A SYN of before the window is the peer's, sent again: the SYN's own check answers it.
        if segment.flags.contains(TcpFlags::SYN) && seq == self.rcv.irs {
            return true;
        }
        if self.rcv.accepts(seq, segment.sequence_len()) {
            return true;
        }
        let only_ack = segment.sequence_len() == 0 && seq.at_or_before(self.rcv.edge);
        self.stats.refused += 1;
        if segment.flags.contains(TcpFlags::RST) {
            return false;
        }
        if self.state == State::TimeWait && segment.flags.contains(TcpFlags::FIN) {
            // The last acknowledgment was lost (RFC 9293 §3.6.1).
            self.start_time_wait(now);
        }
        if segment.sequence_len() > 0 && !segment.payload.is_empty() {
            // RFC 2883 §4: report what came twice.
            let end = seq + segment.payload.len;
            if end.at_or_before(self.rcv.nxt) {
                self.rcv.take(seq, segment.payload);
            }
        }
        self.acks.now = true;
        // RFC 9293 §3.10.7.4: with a zero window, acknowledgments still count.
        if segment.flags.contains(TcpFlags::ACK)
            && self.state.is_synchronized()
            && (only_ack || self.rcv.window() == 0)
            && seq.at_or_before(self.rcv.nxt)
            && seq.at_or_after(self.rcv.nxt - 1)
        {
            self.on_ack(now, segment);
        }
        false
    }

    /// RFC 5961 §3.2: exactly the next number resets, one inside the window is challenged.
    fn on_reset(&mut self, now: Instant, segment: &TcpSegment) {
        if segment.seq != self.rcv.nxt {
            self.challenge(now);
            return;
        }
        if self.state == State::SynReceived && self.passive {
            let (config, local) = (self.config, self.local);
            *self = Self::listen(&config, local, self.snd.iss, self.stream);
            return;
        }
        let quiet = matches!(self.state, State::TimeWait | State::Closing | State::LastAck);
        self.become_after(Cause::Reset);
        self.end(if quiet { Event::Closed } else { Event::Reset });
    }

    /// A challenge acknowledgment (RFC 5961 §3.2, §4.2, §5.2), not too many of them.
    fn challenge(&mut self, now: Instant) {
        self.stats.refused += 1;
        if self.challenges.allow(now) {
            self.acks.now = true;
        }
    }

    /// RFC 7323 §4.3: the timestamp to echo is that of the segment at the left edge.
    fn take_timestamp(&mut self, now: Instant, segment: &TcpSegment) {
        if let Some(Timestamps { value, .. }) = segment.options.timestamps
            && Seq(value).at_or_after(Seq(self.echo.recent))
            && segment.seq.at_or_before(self.acks.last)
        {
            self.echo.recent = value;
            self.echo.at = now;
        }
    }

    /// The acknowledgment; `false` if the segment is to be dropped for it.
    fn on_ack(&mut self, now: Instant, segment: &TcpSegment) -> bool {
        let ack = segment.ack;
        let flight = &self.snd.flight;
        if ack.after(flight.max) || ack.before(flight.una - self.snd.largest_wnd.max(1)) {
            // RFC 5961 §5.2
            self.challenge(now);
            return false;
        }
        let outstanding = flight.outstanding();
        let window = u32::from(segment.window) << self.snd.wnd_shift;
        // RFC 5681 §2, except that with SACK news counts, whatever the window says.
        let news = self.take_sack(segment);
        let duplicate = ack == flight_una(self)
            && outstanding > 0
            && segment.sequence_len() == 0
            && (if self.agreed.sack { news } else { window == self.snd.wnd });
        self.release_hold(now, ack, window);
        if ack.after(self.snd.flight.una) {
            self.on_new_ack(now, segment, outstanding);
        } else if duplicate && self.snd.held.is_none() {
            let flight = &mut self.snd.flight;
            flight.dup_acks += 1;
            if self.snd.recovery.on_duplicate(now, flight) {
                self.stats.fast_retransmits += 1;
                self.snd.timed = None;
                self.restart_retransmission_timer(now);
            }
        }
        if self.snd.ecn.on && segment.flags.contains(TcpFlags::ECE) {
            self.on_congestion_echo(now);
        }
        self.take_window(segment, window);
        true
    }

    /// Adds SACK blocks to the scoreboard; is anything in them new? D-SACK blocks, which lie below
    /// the acknowledgment (RFC 2883), say nothing about what is outstanding.
    fn take_sack(&mut self, segment: &TcpSegment) -> bool {
        if !self.agreed.sack {
            return false;
        }
        let low = segment.ack.max(self.snd.flight.una);
        let mut news = false;
        for block in segment.options.sack.as_slice() {
            let sane = block.start.after(low)
                && block.start.before(block.end)
                && block.end.at_or_before(self.snd.flight.max);
            if sane {
                news |= self.snd.flight.board.add(*block);
            }
        }
        news
    }

    /// What ends a hold by itself: an acceptable acknowledgment with an open window.
    fn release_hold(&mut self, now: Instant, ack: Seq, window: u32) {
        let by_ack = self.snd.held.is_some_and(|held| held.release == Release::AnyAck);
        if by_ack && window > 0 && ack.at_or_after(self.snd.flight.una) {
            self.end_hold(now);
        }
    }

    /// Numbers are newly acknowledged.
    fn on_new_ack(&mut self, now: Instant, segment: &TcpSegment, outstanding: u32) {
        let ack = segment.ack;
        let snd = &mut self.snd;
        let bytes = ack.since(snd.flight.una);
        let fin_acked = snd.fin.is_some_and(|fin| ack.after(fin));
        snd.una_offset += u64::from(bytes - u32::from(fin_acked && bytes > 0));
        let flight = &mut snd.flight;
        let limited = outstanding.saturating_add(flight.mss) > flight.window.cwnd;
        flight.una = ack;
        flight.nxt = flight.nxt.max(ack);
        flight.board.advance(ack);
        flight.timed_out = None;
        snd.retries = 0;
        if snd.held.is_none() {
            self.timers.stop(Timer::Persist);
            self.snd.probe_due = false;
        }
        // RFC 7323 §4.2: how many samples a round trip gives.
        let samples = outstanding.div_ceil(self.snd.flight.mss.saturating_mul(2).max(1));
        self.sample_round_trip(now, segment, samples);
        let srtt = self.snd.rtt.srtt();
        let flight = &mut self.snd.flight;
        let advance = self.snd.recovery.on_advance(now, flight, bytes);
        flight.dup_acks = 0;
        if advance.grows {
            let acked = Acked { bytes, mss: flight.mss, srtt, window_limited: limited };
            flight.grow(now, acked);
        }
        if advance.restarts_timer || flight.outstanding() == 0 {
            self.restart_retransmission_timer(now);
        }
        if fin_acked {
            self.fin_acknowledged(now);
        }
    }

    fn fin_acknowledged(&mut self, now: Instant) {
        let last = self.state == State::LastAck;
        self.become_after(Cause::AckOfFin);
        if last {
            self.end(Event::Closed);
        } else if self.state == State::TimeWait {
            self.start_time_wait(now);
        }
    }

    /// RFC 6298 §3 (one segment timed, never one sent twice) or RFC 7323 §4.1 (every echo).
    fn sample_round_trip(&mut self, now: Instant, segment: &TcpSegment, samples: u32) {
        let timed = match self.snd.timed {
            Some((end, at)) if segment.ack.at_or_after(end) => {
                self.snd.timed = None;
                Some(self.config.clock.measure(at, now))
            }
            _ => None,
        };
        let rtt = match segment.options.timestamps.filter(|_| self.agreed.timestamps) {
            Some(Timestamps { echo, .. }) if echo != 0 => {
                let ticks = self.timestamp(now).wrapping_sub(echo);
                // An echo from the future, or from ages ago, was never ours.
                let sane = ticks < 1 << 20;
                sane.then(|| self.timestamp_tick().times(u64::from(ticks)))
            }
            _ => timed,
        };
        if let Some(rtt) = rtt {
            self.snd.rtt.sample(rtt, samples);
            self.stats.rtt_sum = self.stats.rtt_sum + rtt;
            self.stats.rtt_samples += 1;
        }
    }

    /// RFC 3168 §6.1.2: at most one reduction a window of data, none while a loss is recovered.
    fn on_congestion_echo(&mut self, now: Instant) {
        let snd = &mut self.snd;
        let again = snd.ecn.point.is_some_and(|point| snd.flight.una.at_or_before(point));
        if again || snd.flight.phase != Phase::Open {
            return;
        }
        snd.flight.reduce(now);
        snd.flight.window.cwnd = snd.flight.window.ssthresh;
        snd.ecn.point = Some(snd.flight.max);
        snd.ecn.cwr_due = true;
        self.stats.ecn_reductions += 1;
    }

    /// RFC 9293 §3.10.7.4: the window of a segment that is not older than the last one.
    fn take_window(&mut self, segment: &TcpSegment, window: u32) {
        let snd = &mut self.snd;
        let newer = snd.wl1.before(segment.seq)
            || (snd.wl1 == segment.seq && snd.wl2.at_or_before(segment.ack));
        if !newer || segment.ack.before(snd.flight.una) {
            return;
        }
        let opens = snd.wnd == 0 && window > 0;
        snd.wnd = window;
        snd.largest_wnd = snd.largest_wnd.max(window);
        snd.wl1 = segment.seq;
        snd.wl2 = segment.ack;
        if snd.held.is_some() {
            return;
        }
        if window == 0 {
            // An answer to a probe: the peer lives (RFC 9293 §3.8.6.1).
            snd.retries = 0;
        } else if opens {
            snd.probe_due = false;
            self.timers.stop(Timer::Persist);
        }
    }

    /// The payload.
    fn on_payload(&mut self, now: Instant, segment: &TcpSegment, ecn: Ecn) -> Received {
        if segment.payload.is_empty() || !self.state.may_receive() {
            // RFC 9293 §3.6.1: data after we closed both ways is a mistake; the acknowledgment of
            // an unacceptable segment has been seen to.
            return Received::default();
        }
        if self.agreed.ecn {
            if segment.flags.contains(TcpFlags::CWR) {
                self.acks.ece = false;
            }
            if ecn == Ecn::Ce {
                self.acks.ece = true;
            }
        }
        let (taken, arrival) = self.rcv.take(segment.seq, segment.payload);
        self.acks.waiting += 1;
        match (arrival, self.config.delayed_ack) {
            // RFC 9293 §3.8.6.3: at least every second segment.
            (Arrival::InOrder, Some(delayed)) if self.acks.waiting < 2 => {
                let clock = self.config.clock;
                let tick = if delayed.on_tick { delayed.timeout } else { Duration::ZERO };
                let at = clock.deadline_on(now, delayed.timeout, tick);
                self.timers.start(Timer::DelayedAck, at);
            }
            _ => self.acks.now = true,
        }
        Received { taken }
    }

    /// The FIN, once everything before it has arrived.
    fn on_fin(&mut self, now: Instant, segment: &TcpSegment) {
        let fin_seq = segment.seq + segment.payload.len;
        if segment.flags.contains(TcpFlags::FIN)
            && self.rcv.fin.is_none()
            && fin_seq.at_or_after(self.rcv.nxt)
        {
            self.rcv.fin = Some(fin_seq);
        }
        let Some(fin) = self.rcv.fin else { return };
        if self.rcv.nxt == fin {
            self.rcv.nxt += 1;
            self.rcv.edge = self.rcv.edge.max(self.rcv.nxt);
            self.acks.now = true;
            self.events.push_back(Event::PeerClosed);
            self.become_after(Cause::Fin);
            if self.state == State::TimeWait {
                self.start_time_wait(now);
            }
        } else if segment.flags.contains(TcpFlags::FIN) {
            self.acks.now = true;
        }
    }

    fn start_time_wait(&mut self, now: Instant) {
        self.timers.stop(Timer::Retransmission);
        self.timers.stop(Timer::Persist);
        self.timers.stop(Timer::KeepAlive);
        self.timers.set(Timer::TimeWait, now + self.config.msl.times(2));
    }
}

fn flight_una(connection: &Connection) -> Seq {
    connection.snd.flight.una
}

/// The reset that answers a segment for which there is no connection (RFC 9293 §3.10.7.1); none
/// for a reset.
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

/// Which numbers of our stream lie in what is outstanding; for checks of quoted segments
/// (RFC 5927 §4).
impl Connection {
    /// Is `seq` a number that is outstanding?
    pub fn is_outstanding(&self, seq: Seq) -> bool {
        SeqRange::new(self.snd.flight.una, self.snd.flight.max).contains(seq)
    }
}
