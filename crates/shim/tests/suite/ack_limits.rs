//! Aids for receivers: acknowledgments that the aid lowers, withholds and sends itself, and what
//! reaches the peer if the aid never speaks again.

use std::sync::{Arc, Mutex};

use crate::common;
use crate::common::net::{TestNetwork, like_linux};
use crate::common::paths::path;
use crate::common::timeline::{Offers, THEIRS, Timeline, ack, config, data, show};
use driftway_aid::{Aid, SegmentVerdict};
use driftway_base::{
    Act, ActResult, Duration, Instant, Known, RandomStream, Seq, Signal, SignalKind, TcpView,
};
use driftway_shim::{PacketAction, Shim};
use driftway_tcp::ControlKind;
use driftway_wire::TcpSegment;
use proptest::prelude::*;

const FULL: u32 = 1 << 20;

/// Aid that gives the next verdict of a list for each outgoing segment, the last one for ever, and
/// requests acts on signals.
#[derive(Default)]
struct Script {
    /// Number of bytes by which each acknowledgment number is lowered, and whether the window is closed; `None`: the
    /// segment is dropped.
    verdicts: Vec<Option<(u32, bool)>>,
    on_signal: Vec<Act>,
}

#[derive(Clone, Default)]
struct Puppet(Arc<Mutex<Script>>);

impl Puppet {
    /// An aid that gives this verdict once the connection is established.
    fn line_with(verdict: Option<(u32, bool)>) -> (Self, Timeline) {
        let puppet = Self::default();
        let line = puppet.line();
        puppet.says(verdict);
        (puppet, line)
    }
    fn says(&self, verdict: Option<(u32, bool)>) {
        self.0.lock().unwrap().verdicts.push(verdict);
    }
    /// The next signal makes it request these acknowledgments.
    fn sends_on_signal<const N: usize>(&self, acks: [(u32, u32, u8); N]) {
        let act = |(ack, window, copies)| Act::SendAcks { ack: THEIRS + ack, window, copies };
        self.0.lock().unwrap().on_signal = acks.map(act).into_iter().rev().collect();
    }
    fn line(&self) -> Timeline {
        let puppet = self.clone();
        let shim = Shim::with_aid(config(), move || Box::new(puppet.clone()));
        Timeline::established_with_shim(shim, Offers { ecn: true, sack: true })
    }
}

impl Aid for Puppet {
    fn name(&self) -> &'static str {
        "puppet"
    }
    fn state(&self) -> &'static str {
        "only"
    }
    fn on_down(&mut self, _: Instant, segment: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        let mut script = self.0.lock().unwrap();
        let verdict = match script.verdicts.len() {
            0 => return SegmentVerdict::Pass,
            1 => script.verdicts[0],
            _ => script.verdicts.remove(0),
        };
        let Some((lower, closes)) = verdict else { return SegmentVerdict::Drop };
        let window = if closes { 0 } else { segment.window };
        // As an aid that does not know what the peer has seen.
        SegmentVerdict::Replace(TcpSegment { ack: segment.ack - lower, window, ..*segment })
    }
    fn on_up(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        SegmentVerdict::Pass
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, _: &TcpView) {}
    fn on_timeout(&mut self, _: Instant, _: &TcpView) {}
    fn on_done(&mut self, _: Instant, _: &Act, _: ActResult, _: &TcpView) {}
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_act(&mut self) -> Option<Act> {
        self.0.lock().unwrap().on_signal.pop()
    }
}

/// The local TCP acknowledges up to `number`: what leaves.
fn leaves(line: &mut Timeline, number: u32) -> String {
    leaves_with(line, number, 60_000)
}
fn leaves_with(line: &mut Timeline, number: u32, window: u16) -> String {
    let says = line.local_now(data(1, 0).not_capable().acking(number).window(window));
    let mut bytes = says.bytes(line.now);
    let action = line.outgoing(&mut bytes);
    assert!(matches!(action, PacketAction::Pass | PacketAction::Edited), "{action:?}");
    window_shown(&bytes)
}
/// `show` omits the window of the local TCP.
fn window_shown(bytes: &[u8]) -> String {
    let window = u16::from_be_bytes([bytes[34], bytes[35]]);
    format!("{} w{window}", show(bytes))
}

/// singh-iyer-2002 §III: the acknowledgment of the last two bytes is withheld, and given in two
/// parts when the link is back.
#[test]
fn an_aid_withholds_two_bytes_and_gives_them_after_the_outage() {
    let (puppet, mut line) = Puppet::line_with(Some((2, false)));
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a999 t200/200 w60000");
    line.at(210);
    line.peer_passes(ack(1, 100).carrying(1001, 1000));
    assert_eq!(leaves(&mut line, 2001), "a1999 t210/210 w60000");
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.quiet_until(9000);
    puppet.sends_on_signal([(2000, 0, 1), (2001, FULL, 1)]);
    line.signal(&Signal::new(SignalKind::RouteRestored));
    // In order, and without the TSecr from before the outage. The shim adds nothing.
    line.emits(["9000 net a2000 t210/-", "9000 net a2001 t210/-"]);
    line.quiet_until(20_000);
    assert_eq!((line.counts().held_back, line.counts().acks_sent), (2, 2));
    assert_eq!((line.counts().announced, line.counts().ack_limits_ended), (0, 0));
    assert_eq!((line.status().refused, line.counts().refused_send_acks), (0, 0));
}

/// The closed window reaches the peer, and the next segment of the local TCP opens it only if the
/// aid agrees.
#[test]
fn an_aid_closes_the_window_until_the_outage_is_over() {
    let puppet = Puppet::default();
    let mut line = puppet.line();
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a1001 t200/200 w60000");
    puppet.says(Some((0, true)));
    puppet.sends_on_signal([(1001, 0, 1)]);
    let fading = SignalKind::LinkFading { expected_lifetime: Duration::from_millis(300) };
    line.signal(&Signal::new(fading));
    line.emits(["200 net a1001 t200/200"]);
    line.peer_passes(ack(1, 100).carrying(1001, 1000));
    assert_eq!(leaves(&mut line, 2001), "a2001 t200/200 w0");
    line.quiet_until(500);
    line.signal(&Signal::new(SignalKind::LinkDown));
    line.quiet_until(30_000);
    puppet.0.lock().unwrap().verdicts.clear();
    puppet.sends_on_signal([(2001, FULL, 3)]);
    line.signal(&Signal::new(SignalKind::LinkUp));
    line.emits(["30000 net a2001 t200/-"; 3]);
    line.quiet_until(40_000);
}

/// An aid that never speaks again: everything reaches the peer after a second, and the window that
/// was opened without it stays open.
#[test]
fn what_is_withheld_reaches_the_peer_without_the_aid() {
    let (_, mut line) = Puppet::line_with(Some((2, true)));
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a999 t200/200 w0");
    line.quiet_until(1199);
    line.at(1200);
    line.emits(["1200 net a1001 t200/200"]);
    assert_eq!(line.counts().ack_limits_ended, 1);
    line.at(1300);
    line.peer_passes(ack(1, 100).carrying(1001, 1000));
    assert_eq!(leaves(&mut line, 2001), "a1999 t1300/1300 w60000");
    line.at(2300);
    line.emits(["2300 net a2001 t1300/1300"]);
    line.quiet_until(20_000);
}

/// A hold-back that is always the same does not renew its time.
#[test]
fn the_time_runs_from_the_first_bytes_that_are_withheld() {
    let (_, mut line) = Puppet::line_with(None);
    for at in [200, 600, 1000] {
        line.at(at);
        line.peer_passes(ack(1, 100).carrying(at as u32, 100));
        let says = line.local_now(data(1, 0).not_capable().acking(at as u32 + 100));
        let mut bytes = says.bytes(line.now);
        let dropped = PacketAction::Discarded(driftway_shim::DiscardReason::ByAid);
        assert_eq!(line.outgoing(&mut bytes), dropped);
    }
    line.quiet_until(1199);
    line.at(1200);
    line.emits(["1200 net a1100 t1000/1000"]);
}

/// Nothing that the peer has seen is taken back, and nothing is acknowledged before the local TCP
/// has done so.
#[test]
fn acknowledgments_neither_decrease_nor_run_ahead() {
    let (puppet, mut line) = Puppet::line_with(Some((500, false)));
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a501 t200/200 w60000");
    puppet.sends_on_signal([(1001, FULL, 1), (700, 0, 1), (1002, FULL, 1)]);
    line.signal(&Signal::new(SignalKind::EcnEcho));
    line.emits(["200 net a1001 t200/200", "200 net a1001 t200/200"]);
    assert_eq!(line.counts().refused_send_acks, 1);
    line.peer_passes(ack(1, 100).carrying(1001, 10));
    assert_eq!(leaves(&mut line, 1011), "a1001 t200/200 w60000");
    // A segment without a lower acknowledgment number may not acknowledge more.
    puppet.0.lock().unwrap().verdicts = vec![Some((0, false))];
    assert_eq!(leaves(&mut line, 1011), "a1011 t200/200 w60000");
    puppet.0.lock().unwrap().verdicts = vec![Some((u32::MAX, false))];
    assert_eq!(leaves(&mut line, 1011), "a1011 t200/200 w60000");
    assert_eq!(line.counts().refused_verdict, 1);
}

/// The peer retransmits, so it needs the acknowledgment, whatever the aid says.
#[test]
fn a_retransmission_of_the_peer_is_answered() {
    let (_, mut line) = Puppet::line_with(Some((2, false)));
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a999 t200/200 w60000");
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.at(5000);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a1001 t5000/5000 w60000");
    line.peer_passes(ack(1, 100).carrying(1001, 1000));
    // The link is up although nobody has said so: the time runs.
    assert_eq!(leaves(&mut line, 2001), "a1999 t5000/5000 w60000");
    line.quiet_until(5999);
    line.at(6000);
    line.emits(["6000 net a2001 t5000/5000"]);
}

/// A FIN is acknowledged at once, and the right edge of a closed window does not shrink.
#[test]
fn a_fin_and_a_closed_window_are_exempt() {
    let (_, mut line) = Puppet::line_with(Some((2, false)));
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves_with(&mut line, 1001, 0), "a1001 t200/200 w0");
    line.peer_passes(ack(1, 100).carrying(1001, 10).fin());
    assert_eq!(leaves(&mut line, 1012), "a1012 t200/200 w60000");
    line.quiet_until(20_000);
}

/// An orderly end sends what is withheld.
#[test]
fn the_end_of_the_shim_releases_everything() {
    let (_, mut line) = Puppet::line_with(Some((2, true)));
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a999 t200/200 w0");
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.quiet_until(3000);
    line.let_go();
    line.emits(["3000 net a1001 t200/-"]);
}

/// Stored segments that leave later show no more than the aid allows.
#[test]
fn stored_segments_show_what_the_aid_allows() {
    let puppet = Puppet::default();
    let mut line = puppet.line();
    line.at(200);
    line.sends(0..1);
    let hold = Act::Hold {
        probe: None,
        rewind_snd_nxt: true,
        timers: driftway_base::HeldTimers::Stop,
        cwnd: driftway_base::Assign::Keep,
        release: driftway_base::Release::Resume,
    };
    puppet.says(Some((2, true)));
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a999 t200/200 w0");
    puppet.0.lock().unwrap().on_signal = vec![hold];
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.at(1200);
    // A retransmission of the local TCP is a probe, and no new acknowledgment.
    line.emits(["1200 net 1+1000 a999 t200/200"]);
    let retransmission = line.local_now(common::timeline::nth_segment(0).not_capable());
    let mut bytes = retransmission.acking(1001).bytes(line.now);
    assert_eq!(line.outgoing(&mut bytes), PacketAction::Edited);
    assert_eq!(window_shown(&bytes), "1+1000 a999 t1200/1200 w0");
    line.let_go();
    line.taken();
}

/// Aid that lowers, closes, drops and sends acknowledgments at random.
struct RandomAid {
    random: RandomStream,
    acts: Vec<Act>,
    next: Option<Instant>,
    /// Time before which it does not speak again: two of them would answer each other for ever.
    silent_until: Instant,
    /// Time after which it never speaks again.
    until: Instant,
}

impl RandomAid {
    fn chance(&mut self, of: u64) -> bool {
        self.random.uniform_below(of) == 0
    }
    fn speaks(&mut self, now: Instant, view: &TcpView) {
        if now >= self.until || now < self.silent_until || !self.chance(3) {
            return;
        }
        self.silent_until = now + Duration::from_millis(20);
        let Known::Estimated(ack) = view.rcv_nxt else { return };
        let ack = ack - self.random.uniform_below(4) as u32;
        let window = if self.chance(2) { 0 } else { FULL };
        let copies = self.random.uniform_below(4) as u8;
        self.acts.push(Act::SendAcks { ack, window, copies });
        self.next = Some(now + Duration::from_millis(1 + self.random.uniform_below(400)));
    }
}

impl Aid for RandomAid {
    fn name(&self) -> &'static str {
        "random"
    }
    fn state(&self) -> &'static str {
        "only"
    }
    fn on_down(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        self.speaks(now, view);
        let lower = self.random.uniform_below(2000) as u32;
        let lower = if self.chance(2) { 2 } else { lower };
        let window = if self.chance(8) { 0 } else { segment.window };
        let replaced = TcpSegment { ack: segment.ack - lower, window, ..*segment };
        match self.random.uniform_below(10) {
            0 if segment.payload.len == 0 => SegmentVerdict::Drop,
            1 => SegmentVerdict::Pass,
            _ => SegmentVerdict::Replace(replaced),
        }
    }
    fn on_up(&mut self, now: Instant, _: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        self.speaks(now, view);
        SegmentVerdict::Pass
    }
    fn on_signal(&mut self, now: Instant, _: &Signal, view: &TcpView) {
        self.speaks(now, view);
    }
    fn on_timeout(&mut self, now: Instant, view: &TcpView) {
        self.next = None;
        self.speaks(now, view);
    }
    fn on_done(&mut self, _: Instant, act: &Act, done: ActResult, view: &TcpView) {
        let (Act::SendAcks { ack, .. }, Known::Estimated(limit)) = (act, view.rcv_nxt) else {
            return;
        };
        assert!(done == ActResult::Unsupported || Seq::at_or_before(*ack, limit));
    }
    fn next_timeout(&self) -> Option<Instant> {
        self.next
    }
    fn poll_act(&mut self) -> Option<Act> {
        self.acts.pop()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The test network checks of each packet that its acknowledgment number neither decreases nor
    /// exceeds that of the host's own TCP; and the streams end, even if the aid falls silent, or the
    /// shim is killed, while something is withheld.
    #[test]
    fn no_aid_makes_acknowledgments_decrease_or_run_ahead(
        seed: u64,
        path in path(),
        bytes in (0_u64..300_000, 0_u64..300_000),
        both: bool,
        silent_from in 0_u64..30_000,
        killed in prop_oneof![2 => Just(None), 1 => (0_u64..20_000, any::<bool>()).prop_map(Some)],
    ) {
        let shim = |end: u64| {
            let until = Instant::from_millis(silent_from);
            Some(Shim::with_aid(config(), move || {
                let random = RandomStream::new(seed, "aid", end);
                let silent_until = Instant::ZERO;
                Box::new(RandomAid { random, acts: Vec::new(), next: None, silent_until, until })
            }))
        };
        let shims = [if both { shim(0) } else { None }, shim(1)];
        let mut world = TestNetwork::new(&like_linux(ControlKind::Reno), shims, path, seed);
        let bytes: [u64; 2] = bytes.into();
        for (end, bytes) in world.ends.iter_mut().zip(bytes) {
            end.writes = bytes;
        }
        if let Some((at, gently)) = killed {
            world.run_until(Instant::from_millis(at));
            world.kill(gently);
        }
        let open = |world: &TestNetwork| world.ends.iter().all(|end| end.tcp.view().is_synchronized);
        while !open(&world) && world.step() {}
        world.ends.iter_mut().for_each(|end| end.tcp.close());
        while world.step() {
            prop_assert!(world.steps < 400_000, "no end at {:?}", world.now);
        }
        for (at, end) in world.ends.iter().enumerate() {
            prop_assert_eq!(end.read, bytes[1 - at], "at {:?}", world.now);
        }
    }
}
