//! Liveness of aids: after any sequence of losses, delays and signals, new data is delivered soon once the
//! path works. Each aid's tests draw its options and state the resulting longest timer ([`check_recovery`]).

use std::collections::BTreeMap;
use std::vec::Vec;

use driftway_base::{
    About, Duration, Instant, LostPacket, RandomStream, Ranges, Scope, Seq, SeqRange, Signal,
    SignalKind,
};
use driftway_wire::TcpSegment;

use crate::Aid;
use crate::scripted::{Event, Scripted, Tcp};

const STEP: Duration = Duration::from_millis(10);
const ONE_WAY: Duration = Duration::from_millis(50);
/// Maximum RTO of [`Tcp`].
pub(crate) const TCPS_LONGEST: Duration = Duration::from_secs(64);
/// Signals that occur before the path works.
const SIGNALS: [SignalKind; 6] = [
    SignalKind::Unreachable(Scope::Host),
    SignalKind::Unreachable(Scope::Net),
    SignalKind::RouteFailed,
    SignalKind::RouteRestored,
    SignalKind::SourceQuench,
    SignalKind::EcnEcho,
];

enum Way {
    ToPeer(SeqRange),
    ToTcp(TcpSegment),
}

struct Net<A> {
    line: Scripted<A>,
    random: RandomStream,
    /// Percentage of lost packets, of delayed packets, and of steps with a signal.
    loss: u64,
    late: u64,
    signals: u64,
    on_their_way: BTreeMap<(Instant, u64), Way>,
    number: u64,
    /// The peer's RCV.NXT, and ranges received beyond it.
    has: Seq,
    beyond: Vec<SeqRange>,
}

impl<A: Aid> Net<A> {
    fn new(aid: A, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, "way out", 0);
        let [loss, late] = [random.below(40), random.below(20)];
        let signals = random.below(12);
        let mut line = Scripted::new(aid);
        line.write(1 << 26);
        let has = Tcp::START;
        let (on_their_way, beyond) = (BTreeMap::new(), Vec::new());
        Self { line, random, loss, late, signals, on_their_way, number: 0, has, beyond }
    }

    fn transmit(&mut self, way: Way) {
        if self.random.below(100) < self.loss {
            return;
        }
        let extra = if self.random.below(100) < self.late { self.random.below(300) } else { 0 };
        let at = self.line.now() + ONE_WAY + Duration::from_millis(extra);
        self.number += 1;
        self.on_their_way.insert((at, self.number), way);
    }

    /// Sends a signal that may quote outstanding data.
    fn signal(&mut self) {
        let kind = SIGNALS[self.random.below(SIGNALS.len() as u64) as usize];
        let out = self.line.tcp.outstanding();
        let quoted = out.start + self.random.below(u64::from(out.len()) + 1) as u32;
        let seq = (self.random.below(2) == 0).then_some(quoted);
        self.line.signal(Signal { kind, about: About { seq, ..About::default() } });
        if self.random.below(2) == 0 {
            self.notice();
        }
    }

    /// Sends a notification of lost packets or of a route discovery, true or false.
    fn notice(&mut self) {
        let out = self.line.tcp.outstanding();
        let start = out.start + self.random.below(u64::from(out.len()) + 1) as u32;
        let mut ranges = Ranges::default();
        ranges.push(SeqRange::new(start, start + 1 + self.random.below(200) as u32));
        let fate = if flag(&mut self.random) { LostPacket::Lost } else { LostPacket::Salvaged };
        let kind = match self.random.below(4) {
            0 => SignalKind::Searching,
            _ => SignalKind::PacketLost { ranges, fate },
        };
        self.line.signal(Signal { kind, about: About { seq: Some(start), ..About::default() } });
    }

    fn arrives_at_peer(&mut self, range: SeqRange) {
        self.beyond.push(range);
        while let Some(next) =
            self.beyond.iter().find(|r| r.start.at_or_before(self.has) && r.end.after(self.has))
        {
            self.has = next.end;
        }
        let has = self.has;
        self.beyond.retain(|range| range.end.after(has));
        self.transmit(Way::ToTcp(self.line.peers(has)));
    }

    fn step(&mut self) {
        let now = self.line.now() + STEP;
        while let Some(entry) = self.on_their_way.first_entry().filter(|e| e.key().0 <= now) {
            let at = entry.key().0;
            let way = entry.remove();
            self.line.run_until(at);
            match way {
                Way::ToPeer(range) => self.arrives_at_peer(range),
                Way::ToTcp(segment) => self.line.receive(segment),
            }
            self.take_in();
        }
        self.line.run_until(now);
        if self.random.below(100) < self.signals {
            self.signal();
        }
        self.take_in();
    }

    /// Transmits the segments that the aid has passed.
    fn take_in(&mut self) {
        for event in self.line.take() {
            let (Event::Sent(segment) | Event::Resent { segment, .. }) = event else { continue };
            if segment.sequence_len() > 0 {
                self.transmit(Way::ToPeer(SeqRange::new(segment.seq, segment.end())));
            }
        }
    }

    /// Runs until the condition holds, for at most `span`.
    fn run(&mut self, span: Duration, until: impl Fn(&Self) -> bool) {
        let end = self.line.now() + span;
        while self.line.now() < end && !until(self) {
            self.step();
        }
    }
}

/// `longest` is the aid's longest timer. TCP's retransmission timer may run in addition, twice if an
/// acknowledgment in flight restarts it, followed by one round trip for the retransmission and one for new
/// data.
fn check_one<A: Aid>(aid: A, longest: Duration, seed: u64) {
    let mut net = Net::new(aid, seed);
    let lasts = Duration::from_millis(net.random.below(60_000));
    net.run(lasts, |_| false);
    (net.loss, net.late, net.signals) = (0, 0, 0);
    for round in 0..2 {
        let before = net.has;
        let (state, was) = (net.line.aid.state(), net.line.tcp.is_persisting());
        let own = net.line.tcp.deadline().map_or(Duration::ZERO, |at| at.since(net.line.now()));
        let most = longest + own + net.line.tcp.rto() + ONE_WAY.times(4) + STEP.times(2);
        net.run(most, |net| net.has.after(before));
        assert!(
            net.has.after(before),
            "{} was {state} (held: {was}), is {} (held: {}), round {round}, seed {seed}",
            net.line.aid.name(),
            net.line.aid.state(),
            net.line.tcp.is_persisting()
        );
    }
}

/// Asserts that data is delivered despite any number of false notifications, each of which costs at most the
/// aid's longest timer.
pub(crate) fn check_forged<A: Aid>(draw: impl Fn(&mut RandomStream) -> (A, Duration)) {
    for seed in 0..40 {
        let (aid, longest) = draw(&mut RandomStream::new(seed, "options", 0));
        let mut net = Net::new(aid, seed);
        let lasts = Duration::from_millis(net.random.below(20_000));
        net.run(lasts, |_| false);
        (net.loss, net.late, net.signals) = (0, 0, 0);
        for round in 0..20 {
            let before = net.has;
            let own = net.line.tcp.deadline().map_or(Duration::ZERO, |at| at.since(net.line.now()));
            let most =
                longest.times(2) + own + net.line.tcp.rto() + ONE_WAY.times(6) + STEP.times(4);
            let end = net.line.now() + most;
            while net.line.now() < end && !net.has.after(before) {
                net.step();
                net.notice();
                net.take_in();
            }
            assert!(net.has.after(before), "{} seed {seed}, round {round}", net.line.aid.state());
        }
    }
}

pub(crate) fn span(random: &mut RandomStream, least: u64, most: u64) -> Duration {
    Duration::from_millis(least + random.below(most - least))
}

pub(crate) fn flag(random: &mut RandomStream) -> bool {
    random.below(2) == 0
}

/// Asserts that data is delivered soon once the path works, for drawn aids and their longest timers.
pub(crate) fn check<A: Aid>(draw: impl Fn(&mut RandomStream) -> (A, Duration)) {
    for seed in 0..40 {
        let (aid, longest) = draw(&mut RandomStream::new(seed, "options", 0));
        check_one(aid, longest, seed);
    }
}
