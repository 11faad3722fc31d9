//! Liveness of aids: after any sequence of losses, delays and signals, new data is delivered soon once the
//! path works. Each aid's tests draw its options and state the resulting longest timer ([`check_recovery`]).

use std::collections::BTreeMap;
use std::vec::Vec;

use driftway_base::{
    Duration, Instant, PacketDisposition, RandomStream, Seq, SeqRange, SeqRanges, Signal,
    SignalDetails, SignalKind, UnreachableScope,
};
use driftway_wire::TcpSegment;

use crate::Aid;
use crate::scripted::{Event, ScriptedDriver, Tcp};

const STEP: Duration = Duration::from_millis(10);
const ONE_WAY: Duration = Duration::from_millis(50);
/// Maximum RTO of [`Tcp`].
pub(crate) const TCP_MAX_RTO: Duration = Duration::from_secs(64);
/// Signals that occur before the path works.
const SIGNALS: [SignalKind; 9] = [
    SignalKind::Unreachable(UnreachableScope::Host),
    SignalKind::Unreachable(UnreachableScope::Net),
    SignalKind::RouteFailed,
    SignalKind::RouteRestored,
    SignalKind::SourceQuench,
    SignalKind::EcnEcho,
    SignalKind::LinkDown,
    SignalKind::LinkUp,
    SignalKind::LinkFading { expected_lifetime: Duration::from_millis(300) },
];

enum InFlight {
    ToPeer(SeqRange),
    ToTcp(TcpSegment),
}

struct LossyPath<A> {
    driver: ScriptedDriver<A>,
    random: RandomStream,
    /// Percentage of lost packets, of delayed packets, and of steps with a signal.
    loss: u64,
    delay: u64,
    signals: u64,
    in_flight: BTreeMap<(Instant, u64), InFlight>,
    packets_sent: u64,
    /// The peer's RCV.NXT, and ranges received beyond it.
    rcv_nxt: Seq,
    out_of_order: Vec<SeqRange>,
}

impl<A: Aid> LossyPath<A> {
    fn new(aid: A, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, "way out", 0);
        let [loss, delay] = [random.uniform_below(40), random.uniform_below(20)];
        let signals = random.uniform_below(12);
        let mut driver = ScriptedDriver::new(aid);
        driver.write(1 << 26);
        let rcv_nxt = Tcp::START;
        let (in_flight, out_of_order) = (BTreeMap::new(), Vec::new());
        Self {
            driver,
            random,
            loss,
            delay,
            signals,
            in_flight,
            packets_sent: 0,
            rcv_nxt,
            out_of_order,
        }
    }

    fn transmit(&mut self, way: InFlight) {
        if self.random.uniform_below(100) < self.loss {
            return;
        }
        let extra = if self.random.uniform_below(100) < self.delay {
            self.random.uniform_below(300)
        } else {
            0
        };
        let at = self.driver.now() + ONE_WAY + Duration::from_millis(extra);
        self.packets_sent += 1;
        self.in_flight.insert((at, self.packets_sent), way);
    }

    /// Sends a signal that may quote outstanding data.
    fn signal(&mut self) {
        let kind = SIGNALS[self.random.uniform_below(SIGNALS.len() as u64) as usize];
        let out = self.driver.tcp.outstanding();
        let quoted = out.start + self.random.uniform_below(u64::from(out.len()) + 1) as u32;
        let seq = (self.random.uniform_below(2) == 0).then_some(quoted);
        self.driver
            .signal(Signal { kind, details: SignalDetails { seq, ..SignalDetails::default() } });
        if self.random.uniform_below(2) == 0 {
            self.notice();
        }
    }

    /// Sends a notification of lost packets or of a route discovery, true or false.
    fn notice(&mut self) {
        let out = self.driver.tcp.outstanding();
        let start = out.start + self.random.uniform_below(u64::from(out.len()) + 1) as u32;
        let mut ranges = SeqRanges::default();
        ranges.push(SeqRange::new(start, start + 1 + self.random.uniform_below(200) as u32));
        let disposition = if random_flag(&mut self.random) {
            PacketDisposition::Lost
        } else {
            PacketDisposition::Salvaged
        };
        let kind = match self.random.uniform_below(4) {
            0 => SignalKind::RouteDiscovery,
            _ => SignalKind::PacketLost { ranges, disposition },
        };
        self.driver.signal(Signal {
            kind,
            details: SignalDetails { seq: Some(start), ..SignalDetails::default() },
        });
    }

    fn arrives_at_peer(&mut self, range: SeqRange) {
        self.out_of_order.push(range);
        while let Some(next) = self
            .out_of_order
            .iter()
            .find(|r| r.start.at_or_before(self.rcv_nxt) && r.end.after(self.rcv_nxt))
        {
            self.rcv_nxt = next.end;
        }
        let has = self.rcv_nxt;
        self.out_of_order.retain(|range| range.end.after(has));
        self.transmit(InFlight::ToTcp(self.driver.peer_ack(has)));
    }

    fn step(&mut self) {
        let now = self.driver.now() + STEP;
        while let Some(entry) = self.in_flight.first_entry().filter(|e| e.key().0 <= now) {
            let at = entry.key().0;
            let way = entry.remove();
            self.driver.run_until(at);
            match way {
                InFlight::ToPeer(range) => self.arrives_at_peer(range),
                InFlight::ToTcp(segment) => self.driver.receive(segment),
            }
            self.transmit_sent();
        }
        self.driver.run_until(now);
        if self.random.uniform_below(100) < self.signals {
            self.signal();
        }
        self.transmit_sent();
    }

    /// Transmits the segments that the aid has passed.
    fn transmit_sent(&mut self) {
        for event in self.driver.take_events() {
            let (Event::Sent(segment) | Event::Resent { segment, .. }) = event else { continue };
            if segment.sequence_len() > 0 {
                self.transmit(InFlight::ToPeer(SeqRange::new(segment.seq, segment.end())));
            }
        }
    }

    /// Runs until the condition holds, for at most `span`.
    fn run(&mut self, span: Duration, until: impl Fn(&Self) -> bool) {
        let end = self.driver.now() + span;
        while self.driver.now() < end && !until(self) {
            self.step();
        }
    }
}

/// `longest` is the aid's longest timer. TCP's retransmission timer may run in addition, twice if an
/// acknowledgment in flight restarts it, followed by one round trip for the retransmission and one for new
/// data.
fn check_seed<A: Aid>(aid: A, longest: Duration, seed: u64) {
    let mut net = LossyPath::new(aid, seed);
    let lasts = Duration::from_millis(net.random.uniform_below(60_000));
    net.run(lasts, |_| false);
    (net.loss, net.delay, net.signals) = (0, 0, 0);
    for round in 0..2 {
        let before = net.rcv_nxt;
        let (state, was) = (net.driver.aid.state(), net.driver.tcp.is_persisting());
        let own = net.driver.tcp.deadline().map_or(Duration::ZERO, |at| at.since(net.driver.now()));
        let most = longest + own + net.driver.tcp.rto() + ONE_WAY.times(4) + STEP.times(2);
        net.run(most, |net| net.rcv_nxt.after(before));
        assert!(
            net.rcv_nxt.after(before),
            "{} was {state} (held: {was}), is {} (held: {}), round {round}, seed {seed}",
            net.driver.aid.name(),
            net.driver.aid.state(),
            net.driver.tcp.is_persisting()
        );
    }
}

/// Asserts that data is delivered despite any number of false notifications, each of which costs at most the
/// aid's longest timer.
pub(crate) fn check_forged_notices<A: Aid>(draw: impl Fn(&mut RandomStream) -> (A, Duration)) {
    for seed in 0..40 {
        let (aid, longest) = draw(&mut RandomStream::new(seed, "options", 0));
        let mut net = LossyPath::new(aid, seed);
        let lasts = Duration::from_millis(net.random.uniform_below(20_000));
        net.run(lasts, |_| false);
        (net.loss, net.delay, net.signals) = (0, 0, 0);
        for round in 0..20 {
            let before = net.rcv_nxt;
            let own =
                net.driver.tcp.deadline().map_or(Duration::ZERO, |at| at.since(net.driver.now()));
            let most =
                longest.times(2) + own + net.driver.tcp.rto() + ONE_WAY.times(6) + STEP.times(4);
            let end = net.driver.now() + most;
            while net.driver.now() < end && !net.rcv_nxt.after(before) {
                net.step();
                net.notice();
                net.transmit_sent();
            }
            assert!(
                net.rcv_nxt.after(before),
                "{} seed {seed}, round {round}",
                net.driver.aid.state()
            );
        }
    }
}

pub(crate) fn random_duration(random: &mut RandomStream, least: u64, most: u64) -> Duration {
    Duration::from_millis(least + random.uniform_below(most - least))
}

pub(crate) fn random_flag(random: &mut RandomStream) -> bool {
    random.uniform_below(2) == 0
}

/// Asserts that data is delivered soon once the path works, for drawn aids and their longest timers.
pub(crate) fn check_recovery<A: Aid>(draw: impl Fn(&mut RandomStream) -> (A, Duration)) {
    for seed in 0..40 {
        let (aid, longest) = draw(&mut RandomStream::new(seed, "options", 0));
        check_seed(aid, longest, seed);
    }
}
