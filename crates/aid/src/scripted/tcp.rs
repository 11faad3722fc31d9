//! The connection of the scripted driver: the crate `tcp`'s own, established, with plain numbers.

use alloc::collections::VecDeque;
use driftway_base::{Act, ActResult, Duration, Ecn, Endpoint, Instant, Ipv4Addr, Release};
use driftway_base::{Assign, Seq, SeqRange, TcpView};
use driftway_tcp::{Clock, Config, Connection, RecoveryKind, State, Stats};
use driftway_wire::{TcpFlags, TcpSegment};

/// What TCP does about loss or congestion by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// The third duplicate acknowledgment came.
    FastRetransmit,
    /// The retransmission timer went off.
    Timeout,
    /// The peer echoes a congestion mark.
    CongestionEcho,
}

/// A connection to which a test is the peer. Reno, every segment acknowledged at once, exact timers.
pub struct Tcp {
    connection: Connection,
    now: Instant,
    end: Seq,
    reported_stats: Stats,
    /// What was sent for acts, and whether ahead of the queue.
    resends: VecDeque<(TcpSegment, bool)>,
    /// An aid holds it without probes.
    is_silent: bool,
}

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

impl Tcp {
    /// Its port.
    pub const PORT: u16 = 1000;
    /// The peer's port.
    pub const PEER_PORT: u16 = 80;
    /// The window that the peer's header shows.
    pub const WINDOW: u16 = 16_000;
    /// The first byte's sequence number: the numbers wrap in the twentieth segment.
    pub const START: Seq = Seq(u32::MAX - 1_999);
    /// The number of the peer's first byte.
    const PEER_START: Seq = Seq(7_000);

    /// Ten segments of 100 bytes may leave at once; RTO 1 s. The first byte is `start`.
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
        // Nothing is measured yet.
        let (cwnd, ssthresh) = (Assign::Keep, Assign::Value(64_000));
        tcp.connection.act(now, &Act::Resume { cwnd, ssthresh, rto: Assign::Initial });
        tcp
    }

    /// The SYN has left, and nothing has come back.
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

    /// The snapshot that an aid gets.
    pub fn view(&self) -> TcpView {
        self.connection.view()
    }
    /// SND.UNA
    pub fn una(&self) -> Seq {
        self.view().snd_una.value().expect("it is exact")
    }
    /// SND.NXT
    pub fn nxt(&self) -> Seq {
        self.view().snd_nxt.value().expect("it is exact")
    }
    /// One past the highest sequence number sent.
    pub fn max(&self) -> Seq {
        self.view().snd_max.value().expect("it is exact")
    }
    /// One past what the application wrote, and past the FIN if it closed.
    pub fn end(&self) -> Seq {
        self.end
    }
    /// What is outstanding.
    pub fn outstanding(&self) -> SeqRange {
        SeqRange::new(self.una(), self.max())
    }
    /// Congestion window (bytes).
    pub fn cwnd(&self) -> u32 {
        self.view().cwnd.value().expect("it is exact")
    }
    /// Slow-start threshold (bytes).
    pub fn ssthresh(&self) -> u32 {
        self.view().ssthresh.value().expect("it is exact")
    }
    /// The peer's window (bytes).
    pub fn peer_window(&self) -> u32 {
        self.view().peer_window.value().expect("it is exact")
    }
    /// The retransmission timeout, not backed off.
    pub fn rto(&self) -> Duration {
        self.view().rto.value().expect("it is exact")
    }
    /// When the retransmission timer goes off.
    pub fn deadline(&self) -> Option<Instant> {
        self.view().retransmission_deadline.value().expect("it is exact")
    }
    /// RCV.NXT
    pub fn rcv_nxt(&self) -> Seq {
        self.view().rcv_nxt.value().expect("it is exact")
    }
    /// In persist mode?
    pub fn is_persisting(&self) -> bool {
        self.view().is_persisting.value().expect("it is exact")
    }

    /// Sets the congestion window; a hold goes on.
    pub fn set_cwnd(&mut self, bytes: u32) {
        let cwnd = Assign::Value(bytes);
        let act = match self.is_silent {
            true => Act::Hold {
                probe: None,
                rewind_snd_nxt: false,
                freeze_timers: false,
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
    /// The connection ends, and nothing is sent about it.
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

    /// The next segment that it may send.
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<TcpSegment> {
        self.now = now;
        self.connection.poll_transmit(now).map(|transmit| transmit.segment)
    }
    pub(super) fn poll_resend(&mut self) -> Option<(TcpSegment, bool)> {
        self.resends.pop_front()
    }

    /// What it has done by itself since this was last asked.
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

    /// A segment arrives, and the application takes what it brings.
    pub fn on_segment(&mut self, now: Instant, segment: &TcpSegment) {
        self.now = now;
        self.connection.on_segment(now, PEER, segment, Ecn::NotEct);
        while self.connection.read(u32::MAX).is_some() {}
        while self.connection.poll_event().is_some() {}
    }

    /// Does what an aid wants done; what is to go again leaves at once.
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
                assert!(transmit.requested_by_aid, "it goes before all else");
                at = transmit.segment.end();
                self.resends.push_back((transmit.segment, transmit.ahead_of_queue));
            }
        }
        done
    }

    /// What an acknowledgment from it looks like now.
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
