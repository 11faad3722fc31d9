//! No aid has a state without a way out by time: whatever has been lost, delayed and signalled, new data
//! arrive soon after the path works, above a TCP whose peer and network are here. Each aid's tests
//! draw its options, and name the longest timer that follows from them ([`check`]).

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
/// [`Tcp`] backs off to this.
pub(crate) const TCPS_LONGEST: Duration = Duration::from_secs(64);
/// What the path is like before it works.
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
    /// Of a hundred packets so many are lost, and are late; of a hundred steps so many have a signal.
    loss: u64,
    late: u64,
    signals: u64,
    on_their_way: BTreeMap<(Instant, u64), Way>,
    number: u64,
    /// What the peer has in order, and what beyond.
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

    /// A signal that may quote what is outstanding.
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

    /// A notice of lost packets, or of a search, which may be true.
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

    /// What the aid has let through is on its way.
    fn take_in(&mut self) {
        for event in self.line.take() {
            let (Event::Sent(segment) | Event::Resent { segment, .. }) = event else { continue };
            if segment.sequence_len() > 0 {
                self.transmit(Way::ToPeer(SeqRange::new(segment.seq, segment.end())));
            }
        }
    }

    /// Until that is so, or for so long.
    fn run(&mut self, span: Duration, until: impl Fn(&Self) -> bool) {
        let end = self.line.now() + span;
        while self.line.now() < end && !until(self) {
            self.step();
        }
    }
}

/// `longest` is the aid's longest timer. Where TCP waits for its own, that comes on top, and once more
/// where an acknowledgment that is on its way restarts it; then two round trips, one for what goes again
/// and one for what is new.
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

/// Checks that data flow however many notices come, none of which is true: each costs no more than the
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

/// Checks that data flow again soon after the path works, with an aid and its longest timer as drawn.
pub(crate) fn check<A: Aid>(draw: impl Fn(&mut RandomStream) -> (A, Duration)) {
    for seed in 0..40 {
        let (aid, longest) = draw(&mut RandomStream::new(seed, "options", 0));
        check_one(aid, longest, seed);
    }
}
