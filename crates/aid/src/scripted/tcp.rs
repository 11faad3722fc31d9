//! The connection of the scripted driver: one of the crate `tcp`, with a simple configuration.

use alloc::collections::VecDeque;
use driftway_base::{
    Act, ActResult, Duration, Ecn, Endpoint, HeldTimers, Instant, Ipv4Addr, Release,
};
use driftway_base::{Assign, Seq, SeqRange, TcpView};
use driftway_tcp::{Clock, Config, Connection, RecoveryKind, State, Stats, Transmit};
use driftway_wire::{TcpFlags, TcpSegment};

/// TCP's own response to loss or congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Fast retransmit at the third duplicate acknowledgment.
    FastRetransmit,
    /// Retransmission timeout.
    Timeout,
    /// The peer echoed a congestion mark.
    CongestionEcho,
}

/// A connection whose peer is the test: Reno, no delayed acknowledgments, exact timers.
pub struct Tcp {
    connection: Connection,
    now: Instant,
    end: Seq,
    reported_stats: Stats,
    /// Segments sent for acts, and whether they are ahead of the queue.
    resends: VecDeque<(TcpSegment, bool)>,
    /// An aid holds it without probes.
    is_silent: bool,
}

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

impl Tcp {
    /// Local port.
    pub const PORT: u16 = 1000;
    /// Port of the peer.
    pub const PEER_PORT: u16 = 80;
    /// Window field of the peer's segments.
    pub const WINDOW: u16 = 16_000;
    /// Sequence number of the first byte: the numbers wrap in the twentieth segment.
    pub const START: Seq = Seq(u32::MAX - 1_999);
    /// Sequence number of the peer's first byte.
    const PEER_START: Seq = Seq(7_000);

    /// An established connection with a window of ten segments of 100 bytes and an RTO of 1 s. `start` is the
    /// first sequence number.
    pub(super) fn established(start: Seq, ecn: bool) -> Self {
        let mut tcp = Self::opening(start, ecn);
        let now = Instant::ZERO;
        let agrees = if ecn { TcpFlags::ECE } else { TcpFlags(0) };
        let answer = TcpSegment {
            source_port: Self::PEER_PORT,
            destination_port: Self::PORT,
            seq: Self::PEER_START - 1,
            ack: start,
            flags: TcpFlags::SYN.with(TcpFlags::ACK).with(agrees),
            window: Self::WINDOW,
            options: driftway_wire::TcpOptions {
                mss: Some(100),
                ..driftway_wire::TcpOptions::default()
            },
            ..TcpSegment::default()
        };
        tcp.on_segment(now, &answer);
        while tcp.connection.poll_transmit(now).is_some() {}
        assert_eq!(tcp.connection.state(), State::Established);
        // There are no RTT samples yet.
        let (cwnd, ssthresh) = (Assign::Keep, Assign::Value(64_000));
        tcp.connection.act(now, &Act::Resume { cwnd, ssthresh, rto: Assign::Initial });
        tcp
    }

    /// A connection in SYN-SENT.
    pub(super) fn opening(start: Seq, ecn: bool) -> Self {
        let config = Config {
            recovery: RecoveryKind::Reno,
            mss: 100,
            receive_buffer: Self::WINDOW.into(),
            clock: Clock::default(),
            delayed_ack: None,
            sack: false,
            ecn,
            nagle: false,
            limited_transmit: false,
            window_validation: false,
            persist_min: Duration::from_secs(5),
            max_retries: u32::MAX,
            ..Config::default()
        };
        let ends = (Endpoint::new(HOST, Self::PORT), Endpoint::new(PEER, Self::PEER_PORT));
        let now = Instant::ZERO;
        let mut connection = Connection::connect(&config, ends.0, ends.1, start - 1, 0, now);
        assert!(connection.poll_transmit(now).is_some());
        Self {
            connection,
            now,
            end: start,
            reported_stats: Stats::default(),
            resends: VecDeque::new(),
            is_silent: false,
        }
    }

    /// The view for an aid.
    pub fn view(&self) -> TcpView {
        self.connection.view()
    }
    /// SND.UNA.
    pub fn una(&self) -> Seq {
        self.view().snd_una.value().expect("exact")
    }
    /// SND.NXT.
    pub fn nxt(&self) -> Seq {
        self.view().snd_nxt.value().expect("exact")
    }
    /// SND.MAX: one past the highest sequence number sent.
    pub fn max(&self) -> Seq {
        self.view().snd_max.value().expect("exact")
    }
    /// One past the last byte written, and past the FIN after a close.
    pub fn stream_end(&self) -> Seq {
        self.end
    }
    /// Outstanding data.
    pub fn outstanding(&self) -> SeqRange {
        SeqRange::new(self.una(), self.max())
    }
    /// Congestion window (bytes).
    pub fn cwnd(&self) -> u32 {
        self.view().cwnd.value().expect("exact")
    }
    /// Slow-start threshold (bytes).
    pub fn ssthresh(&self) -> u32 {
        self.view().ssthresh.value().expect("exact")
    }
    /// The peer's window (bytes).
    pub fn peer_window(&self) -> u32 {
        self.view().peer_window.value().expect("exact")
    }
    /// Retransmission timeout without back-off.
    pub fn rto(&self) -> Duration {
        self.view().rto.value().expect("exact")
    }
    /// Expiry of the retransmission timer.
    pub fn deadline(&self) -> Option<Instant> {
        self.view().retransmission_deadline.value().expect("exact")
    }
    /// RCV.NXT.
    pub fn rcv_nxt(&self) -> Seq {
        self.view().rcv_nxt.value().expect("exact")
    }
    /// Returns true in persist mode.
    pub fn is_persisting(&self) -> bool {
        self.view().is_persisting.value().expect("exact")
    }

    /// Sets the congestion window, during a hold as well.
    pub fn set_cwnd(&mut self, bytes: u32) {
        let cwnd = Assign::Value(bytes);
        let act = match self.is_silent {
            true => Act::Hold {
                probe: None,
                rewind_snd_nxt: false,
                timers: HeldTimers::Stop,
                cwnd,
                release: Release::Resume,
            },
            false => Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep },
        };
        self.connection.act(self.now, &act);
    }
    /// Sets the slow-start threshold of a connection that is not held.
    pub fn set_ssthresh(&mut self, bytes: u32) {
        let (cwnd, ssthresh) = (Assign::Keep, Assign::Value(bytes));
        self.connection.act(self.now, &Act::Resume { cwnd, ssthresh, rto: Assign::Keep });
    }
    /// Closes the connection without sending a segment.
    pub fn close_silently(&mut self) {
        self.connection.abort();
        while self.connection.poll_transmit(self.now).is_some() {}
    }

    pub(super) fn write(&mut self, bytes: u32) {
        self.connection.write(bytes.into());
        self.end += bytes;
    }
    pub(super) fn close(&mut self) {
        self.connection.close();
        self.end += 1;
    }

    /// The next segment to send.
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.now = now;
        self.connection.poll_transmit(now)
    }
    pub(super) fn poll_resend(&mut self) -> Option<(TcpSegment, bool)> {
        self.resends.pop_front()
    }

    /// The next response that was not returned before.
    pub(super) fn poll_response(&mut self) -> Option<Response> {
        let stats = *self.connection.stats();
        let counted = &mut self.reported_stats;
        let counts = [
            (Response::CongestionEcho, &mut counted.ecn_reductions, stats.ecn_reductions),
            (Response::FastRetransmit, &mut counted.fast_retransmits, stats.fast_retransmits),
            (Response::Timeout, &mut counted.timeouts, stats.timeouts),
        ];
        counts.into_iter().find_map(|(response, counted, now)| {
            let more = *counted < now;
            *counted += u64::from(more);
            more.then_some(response)
        })
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.connection.next_timeout()
    }
    pub(super) fn on_timeout(&mut self, now: Instant) {
        self.now = now;
        self.connection.on_timeout(now);
    }

    /// A segment arrives, and the application reads all data.
    pub fn on_segment(&mut self, now: Instant, segment: &TcpSegment) {
        self.now = now;
        self.connection.on_segment(now, PEER, segment, Ecn::NotEct);
        while self.connection.read(u32::MAX).is_some() {}
        while self.connection.poll_event().is_some() {}
    }

    /// Applies an act; retransmissions are sent at once.
    pub(super) fn apply(&mut self, now: Instant, act: &Act) -> ActResult {
        self.now = now;
        let done = self.connection.act(now, act);
        match (act, done) {
            (Act::Hold { probe, .. }, ActResult::Done) => self.is_silent = probe.is_none(),
            (Act::Resume { .. }, _) => self.is_silent = false,
            _ => {}
        }
        if let (Act::Resend { range, .. }, ActResult::Done) = (act, done) {
            let (mut at, end) = (range.start, range.end.min(self.max()));
            while at.before(end)
                && let Some(transmit) = self.connection.poll_transmit(now)
            {
                assert!(transmit.requested_by_aid, "sent before other segments");
                at = transmit.segment.end();
                self.resends.push_back((transmit.segment, transmit.ahead_of_queue));
            }
        }
        done
    }

    /// An acknowledgment from this connection.
    pub(super) fn pure_ack(&self) -> TcpSegment {
        TcpSegment {
            source_port: Self::PORT,
            destination_port: Self::PEER_PORT,
            seq: self.max(),
            ack: self.rcv_nxt(),
            flags: TcpFlags::ACK,
            window: Self::WINDOW,
            ..TcpSegment::default()
        }
    }
}
