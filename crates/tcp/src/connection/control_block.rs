//! The control block of a TCP connection.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use driftway_base::{Ecn, Endpoint, Instant, Ipv4Addr, Seq};
use driftway_wire::{Payload, TcpFlags, TcpSegment};

use super::sender::Sender;
use crate::ack_delay::AckDelay;
use crate::config::Config;
use crate::congestion::CongestionControl;
use crate::receiver::Receiver;
use crate::rtt::RttEstimator;
use crate::state::{State, Transition};
use crate::stats::Stats;
use crate::timer::Timers;

/// An event for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is open.
    Connected,
    /// The peer has closed: the readable data is the last of its stream.
    PeerClosed,
    /// Both ends have closed and everything is acknowledged.
    Closed,
    /// The peer reset the connection, or refused it.
    Reset,
    /// The connection was aborted after the configured number of unanswered retries.
    TimedOut,
    /// The retransmission timer expired.
    RetransmissionTimeout,
    /// A loss recovery began without a timeout.
    FastRetransmit,
}

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: TcpSegment,
    /// ECN field of its IP header.
    pub ecn: Ecn,
    /// The segment is to be placed at the front of the local interface queue.
    pub ahead_of_queue: bool,
    /// Carries data that was sent before.
    pub retransmission: bool,
    /// Sent at an aid's request ([`driftway_base::Act::Resend`]); not to be passed to the aid
    /// again.
    pub requested_by_aid: bool,
}

impl Transmit {
    /// A segment with none of these.
    pub(super) const fn plain(segment: TcpSegment) -> Self {
        Self {
            segment,
            ecn: Ecn::NotEct,
            ahead_of_queue: false,
            retransmission: false,
            requested_by_aid: false,
        }
    }
}

/// TCP as a state machine without I/O (RFC 9293).
///
/// *Look*: [`state`](Self::state), [`view`](Self::view), [`stats`](Self::stats),
/// [`next_timeout`](Self::next_timeout). *Events*: [`on_segment`](Self::on_segment),
/// [`on_timeout`](Self::on_timeout), [`on_unreachable`](Self::on_unreachable),
/// [`on_source_quench`](Self::on_source_quench). *Commands*: [`write`](Self::write),
/// [`read`](Self::read), [`close`](Self::close), [`abort`](Self::abort), and an aid's
/// [`act`](Self::act). *Poll*: [`poll_transmit`](Self::poll_transmit),
/// [`poll_event`](Self::poll_event).
///
/// After every event or command a driver polls `poll_transmit` until it returns `None`, then
/// `poll_event`, then reads `next_timeout`. Time never goes back.
///
/// Payload bytes are not stored. [`write`](Self::write) gives their number; a segment refers to
/// them by their offset in our stream. Received payloads have the names that the driver gives them,
/// and [`read`](Self::read) returns them in order under these names.
#[derive(Debug)]
pub struct Connection {
    pub(super) config: Config,
    pub(super) state: State,
    /// Opened passively (LISTEN).
    pub(super) passive_open: bool,
    pub(super) local: Endpoint,
    pub(super) remote: Endpoint,
    /// Stream identifier of our payloads.
    pub(super) stream: u32,
    pub(super) snd: Sender,
    pub(super) rcv: Receiver,
    pub(super) timers: Timers,
    pub(super) pending_ack: PendingAck,
    pub(super) recent_timestamp: RecentTimestamp,
    /// Negotiated options: timestamps, SACK, …
    pub(super) negotiated: NegotiatedOptions,
    /// A SYN or SYN-ACK is to be sent.
    pub(super) syn_due: bool,
    pub(super) syn_lost: bool,
    /// Replies outside of the data flow: resets, challenge ACKs, acknowledgments for an aid.
    pub(super) replies: VecDeque<Transmit>,
    pub(super) challenge_acks: ChallengeAckLimiter,
    pub(super) events: VecDeque<Event>,
    pub(super) stats: Stats,
    /// Time of the last arrival (keep-alive).
    pub(super) last_received: Instant,
}

/// Options that both ends offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NegotiatedOptions {
    /// SACK (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scale: bool,
    /// ECN (RFC 3168).
    pub ecn: bool,
}

/// Acknowledgments to be sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingAck {
    /// Segments in order that are not yet acknowledged.
    pub segments: u32,
    /// An acknowledgment is to be sent at once.
    pub due_now: bool,
    /// RCV.NXT in the last acknowledgment (RFC 7323: Last.ACK.sent).
    pub last_sent: Seq,
    /// Acknowledgments carry ECE until a CWR arrives (RFC 3168 §6.1.3).
    pub echo_ce: bool,
    /// Their delay, as in Linux.
    pub delay: AckDelay,
}

/// The peer's latest timestamp (RFC 7323 §4.3, §5).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentTimestamp {
    /// TS.Recent.
    pub ts_recent: u32,
    /// Time of its update: after 24 days it is invalid (RFC 7323 §5.5).
    pub updated_at: Instant,
}

/// Rate limit of challenge ACKs (RFC 5961 §7).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChallengeAckLimiter {
    second: u64,
    sent: u32,
}

impl ChallengeAckLimiter {
    /// Permits at most ten per second.
    pub fn allow(&mut self, now: Instant) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            *self = Self { second, sent: 0 };
        }
        self.sent = self.sent.saturating_add(1);
        self.sent <= 10
    }
}

impl Connection {
    pub(super) fn new(
        config: &Config,
        local: Endpoint,
        remote: Endpoint,
        iss: Seq,
        stream: u32,
    ) -> Self {
        let shift = if config.window_scale { config.receive_window_shift() } else { 0 };
        let rcv = Receiver::new(config.receive_buffer, shift, config.dsack);
        Self {
            config: *config,
            state: State::Closed,
            passive_open: false,
            local,
            remote,
            stream,
            snd: Sender::new(config, iss),
            rcv,
            timers: Timers::default(),
            pending_ack: PendingAck::default(),
            recent_timestamp: RecentTimestamp::default(),
            negotiated: NegotiatedOptions::default(),
            syn_due: false,
            syn_lost: false,
            replies: VecDeque::with_capacity(4),
            challenge_acks: ChallengeAckLimiter::default(),
            events: VecDeque::with_capacity(4),
            stats: Stats::default(),
            last_received: Instant::ZERO,
        }
    }

    /// Opens a connection to `remote`. `iss` is the initial sequence number, which the driver
    /// chooses (RFC 6528), `stream` the identifier of our payloads.
    pub fn connect(
        config: &Config,
        local: Endpoint,
        remote: Endpoint,
        iss: Seq,
        stream: u32,
        now: Instant,
    ) -> Self {
        let mut connection = Self::new(config, local, remote, iss, stream);
        connection.apply_transition(Transition::ActiveOpen);
        connection.syn_due = true;
        connection.last_received = now;
        connection
    }

    /// Listens for one connection at `local`.
    pub fn listen(config: &Config, local: Endpoint, iss: Seq, stream: u32) -> Self {
        let nobody = Endpoint::new(Ipv4Addr::UNSPECIFIED, 0);
        let mut connection = Self::new(config, local, nobody, iss, stream);
        connection.apply_transition(Transition::PassiveOpen);
        connection.passive_open = true;
        connection
    }

    /// The same connection with another congestion control than [`Config::growth`]; only before it has sent anything.
    #[must_use]
    pub fn with_control(mut self, control: Box<dyn CongestionControl>) -> Self {
        self.snd.send_state.set_control(control);
        self
    }

    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }
    /// Local endpoint.
    pub fn local(&self) -> Endpoint {
        self.local
    }
    /// Remote endpoint; unspecified in LISTEN.
    pub fn remote(&self) -> Endpoint {
        self.remote
    }
    /// Counters of the connection.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Congestion window (bytes).
    pub fn cwnd(&self) -> u32 {
        self.snd.send_state.cwnd()
    }
    /// Number of congestion window reductions: by a loss, a timeout, an ECN mark, source quench or
    /// an aid. The restart after an idle period (RFC 5681 §4.1) is not counted.
    pub fn cwnd_reductions(&self) -> u64 {
        self.snd.cwnd_reductions
    }
    /// The RTT estimator with the retransmission timeout.
    pub fn rtt(&self) -> &RttEstimator {
        &self.snd.rtt
    }
    /// The negotiated options.
    pub fn negotiated(&self) -> NegotiatedOptions {
        self.negotiated
    }
    /// Configuration of the connection.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Bytes of our stream that the peer has acknowledged.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.snd.una_offset
    }
    /// Bytes available to [`read`](Self::read).
    pub fn readable_bytes(&self) -> u32 {
        self.rcv.readable_bytes()
    }
    /// True once the peer's FIN and everything before it has arrived.
    pub fn peer_closed(&self) -> bool {
        self.rcv.is_finished()
    }

    /// Time at which to call [`on_timeout`](Self::on_timeout); `None`: no timer is running.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    /// Adds `bytes` to the data to be sent. They are accepted until the application closes; a limit
    /// to the send buffer is the driver's.
    pub fn write(&mut self, bytes: u64) -> u64 {
        if self.snd.close_requested || matches!(self.state, State::Closed | State::Listen) {
            return 0;
        }
        self.snd.written = self.snd.written.saturating_add(bytes);
        bytes
    }

    /// Returns up to `most` bytes in order. Reading opens the window, which may make an
    /// acknowledgment due.
    pub fn read(&mut self, most: u32) -> Option<Payload> {
        let part = self.rcv.read(most)?;
        if self.state.may_receive() && self.rcv.has_window_update(u32::from(self.config.mss)) {
            self.pending_ack.due_now = true;
        }
        self.note_read();
        Some(part)
    }

    /// Closes our direction: a FIN follows the written data.
    pub fn close(&mut self) {
        match self.state {
            State::Listen | State::SynSent => {
                self.apply_transition(Transition::Close);
                self.terminate(Event::Closed);
            }
            // RFC 9293 §3.10.4: in SYN-RECEIVED, CLOSE is queued until the connection is open.
            State::SynReceived => self.snd.close_requested = true,
            State::Established | State::CloseWait => {
                self.snd.close_requested = true;
                self.apply_transition(Transition::Close);
            }
            _ => {}
        }
    }

    /// Aborts the connection, with a reset if the peer knows of it.
    pub fn abort(&mut self) {
        if self.state == State::Closed {
            return;
        }
        let knows =
            !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait);
        if knows {
            self.send_reset();
        }
        self.apply_transition(Transition::Reset);
        self.terminate(Event::Closed);
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Enters the state to which `transition` leads.
    pub(super) fn apply_transition(&mut self, transition: Transition) {
        if let Some(next) = self.state.next(transition) {
            self.state = next;
        }
    }

    /// Ends the connection; received data stays readable.
    pub(super) fn terminate(&mut self, event: Event) {
        self.timers.clear();
        self.snd.hold = None;
        self.snd.aid_retransmissions.clear();
        self.snd.window_probe_due = false;
        self.snd.tail_probe_due = false;
        self.snd.keep_alive_due = false;
        self.syn_due = false;
        self.pending_ack = PendingAck::default();
        self.events.push_back(event);
    }

    /// Handles an ICMP source quench: ignored by default (RFC 6633 §3); 4.4BSD restarts with one
    /// segment.
    pub fn on_source_quench(&mut self) {
        if self.config.source_quench {
            self.snd.send_state.enter_slow_start();
            self.snd.cwnd_reductions += 1;
        }
    }

    /// A segment of ours with header fields only.
    pub(super) fn header_only_segment(&self, flags: TcpFlags) -> TcpSegment {
        let send = &self.snd.send_state;
        TcpSegment {
            source_port: self.local.port,
            destination_port: self.remote.port,
            // RFC 9293 §3.10.4 says SND.NXT, which during go-back-N is below the peer's RCV.NXT.
            // While its window is closed, only SND.NXT is inside: a probe's byte lies beyond it,
            // and a segment that begins there is dropped together with its acknowledgment
            // (§3.10.7.4).
            seq: if self.snd.wnd == 0 { send.nxt() } else { send.max() },
            ack: self.rcv.nxt(),
            flags,
            ..TcpSegment::default()
        }
    }

    /// Sends a reset because the connection is aborted.
    pub(super) fn send_reset(&mut self) {
        let reset = self.header_only_segment(TcpFlags::RST.with(TcpFlags::ACK));
        self.replies.push_back(Transmit::plain(reset));
    }
}
