//! Outages on a time line: one way 50 ms, segments of 1000 bytes.

mod common;

use base::{Signal, SignalKind};
use common::line::{
    FLOW, IN_OUTAGE, IN_REPAIR, Line, Offers, THERE, ack, config, data, nth, syn, syn_ack,
};
use shim::{Config, Cwnd, Fate, Untouched};
use wire::{TcpFlags, UnreachableCode};

const NOT_BELIEVED: Fate = Fate::Untouched(Untouched::NotBelieved);

/// The oldest original, each round trip, and after two minutes once a second.
#[test]
fn how_often_is_probed() {
    let mut line = Line::established_by(Config::default());
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(1);
    line.at(600);
    line.emits([
        "350 net 1+1000 a1 t200/200",
        "450 net 1+1000 a1 t200/200",
        "550 net 1+1000 a1 t200/200",
    ]);
    line.at(120_000);
    line.taken();
    line.at(122_500);
    let sent = line.taken();
    let times: Vec<_> = sent.iter().map(|s| s.split(' ').next().unwrap()).collect();
    assert_eq!(times, ["120050", "120150", "120250", "121250", "122250"]);
}

/// Segments 0 to 3 leave at 200 ms, a router reports at 250 ms that there is no way; the local TCP
/// times out at 400 ms, and has one more new segment. Probes go at 450 and 650 ms.
fn cut_short(line: &mut Line) {
    line.at(200);
    line.sends(0..4);
    line.at(250);
    line.cut(0);
    line.at(400);
    assert_eq!(line.local(nth(0).not_capable()), IN_OUTAGE);
    line.stores(nth(4));
    line.at(749);
    line.emits(["450 net 1+1000 a1 t200/400", "650 net 1+1000 a1 t200/400"]);
}

/// The probe of 650 ms is answered at 750 ms.
const REPAIR: [&str; 4] = [
    "750 net 1001+1000 a1 t200/400",
    "756 net 2001+1000 a1 t200/400",
    "763 net 3001+1000 a1 t200/400",
    "770 net 4001+1000 a1 t400/400 ect",
];

/// All of the repair is answered, at 850 to 870 ms.
fn answers(line: &mut Line) {
    for (at, number, echo) in [(850, 2001, 200), (857, 3001, 200), (864, 4001, 200)] {
        line.at(at);
        line.peer_is_held(ack(number, echo));
    }
    line.at(871);
    line.peer_is_held(ack(5001, 400));
}

#[test]
fn an_outage_from_its_beginning_to_its_end() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    assert_eq!(line.status().state, "resuming");
    // One byte, with the echo of the original: older than the retransmission of 400 ms.
    line.emits(["750 tcp a2 t750/200 w50000", REPAIR[0]]);
    line.at(840);
    line.emits([REPAIR[1], REPAIR[2], REPAIR[3]]);
    answers(&mut line);
    // What the local clock showed a round trip ago.
    line.emits(["871 tcp a5001 t871/771 w50000"]);
    assert_eq!((line.status().state, line.status().outstanding), ("open", 0));
    assert_eq!(line.shim.memory().0, 0);

    // What that makes the local TCP send, is spread over a round trip.
    line.at(872);
    (5..8).for_each(|n| line.stores(nth(n)));
    line.at(970);
    line.emits([
        "872 net 5001+1000 a1 t872/872 ect",
        "878 net 6001+1000 a1 t872/872 ect",
        "885 net 7001+1000 a1 t872/872 ect",
    ]);
    line.at(975);
    line.sends(8..12);
    line.at(1075);
    line.peer_passes(ack(12_001, 975));

    let counts = *line.counts();
    let numbers = (counts.outages, counts.survived, counts.probes, counts.originals_sent);
    assert_eq!(numbers, (1, 1, 2, 4 + 3));
    assert_eq!((counts.undo_acks, counts.releases, counts.undone), (1, 1, 1));
    assert_eq!((counts.acks_held, counts.retransmissions_in_outage, counts.icmp_taken), (5, 1, 1));
    line.quiet_until(5000);
}

/// However much the local TCP sends on the last acknowledgment: the queue must come to its end, or it
/// would hide from TCP how full the path is.
#[test]
fn what_is_spread_over_a_round_trip_has_left_after_one() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    answers(&mut line);
    line.taken();
    line.at(872);
    (5..55).for_each(|n| line.stores(nth(n)));
    line.at(972);
    let sent = line.taken();
    assert_eq!((sent.len(), line.status().waiting), (50, 0));
    // Evenly: 14,600 bytes a round trip would be two in 14 ms.
    let in_half = sent.iter().filter(|s| s.split(' ').next().unwrap() < "922").count();
    assert!((23..=27).contains(&in_half), "{in_half}");
    line.sends(55..56);
}

#[test]
fn nothing_is_made_up_but_the_last_acknowledgment_if_told_so() {
    let mut line = Line::established_by(Config { undo_ack: false, ..config() });
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(840);
    line.emits(REPAIR);
    answers(&mut line);
    line.emits(["871 tcp a5001 t871/771 w50000"]);
    assert_eq!(line.counts().undone, 0);
}

/// liu-singh-2001 §III-C: one segment, and twice as many with each round trip.
#[test]
fn on_a_new_route_everything_begins_with_one_segment() {
    let mut line = Line::established_by(Config { cwnd: Cwnd::Reset, ..config() });
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(849);
    // The probe was the one.
    line.emits([REPAIR[0], REPAIR[1]]);
    line.at(850);
    line.peer_is_held(ack(2001, 200));
    line.at(857);
    line.emits(["850 net 3001+1000 a1 t200/400", "856 net 4001+1000 a1 t400/400 ect"]);
    line.peer_is_held(ack(3001, 200));
    line.at(957);
    line.peer_is_held(ack(5001, 400));
    // Not older than the retransmission of 400 ms: nothing is undone.
    line.emits(["957 tcp a5001 t957/857 w50000"]);
    assert_eq!((line.counts().undone, line.counts().undo_acks), (0, 0));
}

/// The path was gone for less than a round trip: an echo of a round trip ago would be from before
/// the retransmission, and undo it.
#[test]
fn a_fresh_echo_undoes_nothing() {
    let mut line = Line::established_by(Config { cwnd: Cwnd::Reset, ..config() });
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(0);
    line.at(380);
    assert_eq!(line.local(nth(0)), IN_OUTAGE);
    line.at(400);
    line.peer_is_held(ack(2001, 200));
    line.emits(["400 tcp a2001 t400/380 w50000"]);
}

#[test]
fn icmp_is_believed_about_what_is_in_flight_only() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..2);
    line.at(300);
    line.peer_passes(ack(1001, 200));
    let others = [nth(0), nth(2), data(5_000_000, 10)];
    for says in others {
        assert_eq!(line.unreachable(says, UnreachableCode::Net), NOT_BELIEVED);
    }
    for code in [UnreachableCode::Port, UnreachableCode::Other(13)] {
        assert_eq!(line.unreachable(nth(1), code), NOT_BELIEVED);
    }
    assert_eq!((line.status().state, line.counts().not_believed), ("open", 5));
    line.cut(1);
    // What has not left cannot have met a router.
    line.stores(nth(2));
    assert_eq!(line.unreachable(nth(2), UnreachableCode::Net), NOT_BELIEVED);
    line.at(301);
}

/// What was on its way when the router spoke says nothing about the path.
#[test]
fn stragglers_are_no_sign_of_a_path() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(1);
    line.at(300);
    line.peer_passes(ack(1001, 200));
    assert_eq!(line.status().state, "disconnected");
    line.quiet_until(449);
    line.at(450);
    line.emits(["450 net 1001+1000 a1 t200/200"]);
}

/// The repair has lost segment 2 and is told so; without that, three duplicates say it.
#[test]
fn what_is_lost_again_is_sent_again() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(850);
    line.taken();
    line.peer_is_held(ack(2001, 200));
    line.at(864);
    line.peer_is_held(ack(2001, 200).sack(&[(3001, 4001)]));
    line.quiet_until(870);
    // 25 ms, a quarter of a round trip, must lie between: 770 is not far enough from 756.
    line.at(871);
    line.peer_is_held(ack(2001, 200).sack(&[(3001, 5001)]));
    line.quiet_until(872);
    assert_eq!(line.counts().repaired, 0);
    // 600 ms without news: the path is taken to be gone, and probed at once.
    line.at(1471);
    line.emits(["1471 net 2001+1000 a1 t200/400"]);
    line.at(1571);
    line.peer_is_held(ack(5001, 200));
    line.emits(["1571 tcp a5001 t1571/1471 w50000"]);

    let offers = Offers { ecn: true, sack: false };
    let mut line = Line::established_with(config(), offers);
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(849);
    line.taken();
    for at in [857, 864, 871] {
        line.at(at);
        line.peer_is_held(ack(1001, 200));
    }
    line.emits(["871 net 1001+1000 a1 t200/400"]);
    assert_eq!(line.counts().repaired, 1);
    line.at(971);
    line.peer_is_held(ack(5001, 200));
    line.emits(["971 tcp a5001 t971/871 w50000"]);
}

#[test]
fn a_long_flight_is_repaired_by_what_is_reported() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..20);
    line.at(250);
    line.cut(0);
    line.at(450);
    line.emits(["450 net 1+1000 a1 t200/200"]);
    line.at(550);
    line.peer_is_held(ack(1001, 200));
    line.at(649);
    // 20,000 bytes in a round trip: one in 5 ms.
    assert_eq!(line.taken().len(), 19);
    line.at(655);
    line.peer_is_held(ack(1001, 200).sack(&[(2001, 3001)]));
    line.quiet_until(745);
    // Segments 1 and 3 to 9 are lost: they were sent 25 ms or more before the last.
    line.peer_is_held(ack(1001, 200).sack(&[(10_001, 20_001), (2001, 3001)]));
    line.at(840);
    line.emits([
        "745 net 1001+1000 a1 t200/200",
        "750 net 3001+1000 a1 t200/200",
        "755 net 4001+1000 a1 t200/200",
        "760 net 5001+1000 a1 t200/200",
        "765 net 6001+1000 a1 t200/200",
        "770 net 7001+1000 a1 t200/200",
        "775 net 8001+1000 a1 t200/200",
        "780 net 9001+1000 a1 t200/200",
    ]);
    assert_eq!(line.counts().repaired, 8);
    line.peer_is_held(ack(20_001, 200));
    line.emits(["840 tcp a20001 t840/740 w50000"]);
}

#[test]
fn a_second_outage_while_resuming() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(760);
    line.emits(["750 tcp a2 t750/200 w50000", REPAIR[0], REPAIR[1]]);
    line.cut(1);
    // A straggler: its news are not for the local TCP, which knows of one byte.
    line.at(800);
    line.peer_is_held(ack(1001, 200));
    line.at(810);
    assert_eq!(line.local(nth(0).not_capable()), IN_REPAIR);
    assert_eq!(line.local(nth(1).not_capable()), IN_OUTAGE);
    line.at(1000);
    line.emits(["960 net 1001+1000 a1 t200/810"]);
    line.at(1060);
    line.peer_is_held(ack(2001, 200));
    line.at(1160);
    line.emits([
        // It has timed out again since the first undo.
        "1060 tcp a3 t1060/200 w50000",
        "1060 net 2001+1000 a1 t200/810",
        "1066 net 3001+1000 a1 t200/810",
        "1073 net 4001+1000 a1 t400/810 ect",
    ]);
    line.peer_is_held(ack(5001, 400));
    line.emits(["1160 tcp a5001 t1160/1060 w50000"]);
    assert_eq!((line.counts().outages, line.counts().survived), (1, 1));
}

/// The local TCP times out while the repair goes on: that is undone at its end.
#[test]
fn a_timeout_during_repair_is_swallowed_and_undone() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(800);
    line.taken();
    assert_eq!(line.local(data(2, 999).not_capable()), IN_REPAIR);
    answers(&mut line);
    line.emits(["871 tcp a3 t871/200 w50000", "871 tcp a5001 t871/771 w50000"]);
    assert_eq!(line.counts().undo_acks, 2);
}

/// Acknowledgments are held for a second at most; then the local TCP repairs what is left.
#[test]
fn holding_has_an_end() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(849);
    line.taken();
    // Something new now and then, so that the path is not taken to be gone.
    line.at(1200);
    line.peer_is_held(ack(2001, 200).sack(&[(4001, 5001)]));
    line.at(1750);
    line.emits(["1750 tcp a2001 t1200/1650 w50000"]);
    assert_eq!(line.status().state, "open");
    line.at(2000);
    line.passes(nth(3).not_capable());
}

/// A host that only receives: the sender may never have had the last acknowledgment.
#[test]
fn a_receiver_says_that_it_is_back() {
    let mut line = Line::established();
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    line.passes(data(1, 0).not_capable().acking(1001).window(7000));
    line.signal(&Signal::of(SignalKind::RouteFailed));
    line.quiet_until(10_000);
    line.signal(&Signal::of(SignalKind::RouteRestored));
    line.emits(["10000 net a1001 t200/200"]);
    assert_eq!((line.status().state, line.counts().announced), ("open", 1));
    // It is back already.
    line.signal(&Signal::of(SignalKind::RouteRestored));
    line.quiet_until(20_000);
}

/// Where all acknowledgments had arrived before the cut, one must be in hand.
#[test]
fn a_receiver_keeps_two_bytes_in_hand() {
    let mut line = Line::established_by(Config { hold_back: true, ..config() });
    let leaves = |line: &mut Line, number: u32| {
        let says = line.local_now(data(1, 0).not_capable().acking(number));
        let mut bytes = says.bytes(line.now);
        assert_eq!(line.outgoing(&mut bytes), Fate::Pass);
        common::line::show(&bytes)
    };
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a999 t200/200");
    line.at(210);
    line.peer_passes(ack(1, 100).carrying(1001, 1000));
    assert_eq!(leaves(&mut line, 2001), "a1999 t210/210");
    // A duplicate stays one.
    line.at(220);
    assert_eq!(leaves(&mut line, 2001), "a1999 t220/220");
    line.quiet_until(249);
    // 40 ms, and nothing more has arrived: the sender must not time out.
    line.at(1000);
    line.emits(["250 net a2001 t220/220"]);
    assert_eq!(leaves(&mut line, 2001), "a2001 t1000/1000");

    line.peer_passes(ack(1, 100).carrying(2001, 1000));
    assert_eq!(leaves(&mut line, 3001), "a2999 t1000/1000");
    line.signal(&Signal::of(SignalKind::RouteFailed));
    line.quiet_until(9000);
    line.signal(&Signal::of(SignalKind::RouteRestored));
    line.emits(["9000 net a3000 t1000/1000", "9000 net a3001 t1000/1000"]);
    line.quiet_until(9999);

    // A FIN is acknowledged at once.
    line.peer_passes(ack(1, 100).carrying(3001, 10).fin());
    assert_eq!(leaves(&mut line, 3012), "a3012 t9999/9999");
    line.quiet_until(20_000);
}

/// The peer answers, but takes nothing, whatever the reason: after three attempts the local TCP has
/// to see to it itself.
#[test]
fn a_repair_that_is_in_vain_is_left_to_tcp() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(0);
    line.stores(nth(2));
    for at in [550, 1300, 2050] {
        line.at(at);
        assert_eq!(line.status().state, "disconnected");
        line.peer_is_held(ack(1, 100));
        line.at(at + 50);
        assert_eq!(line.local(nth(0)), IN_REPAIR);
    }
    line.at(2649);
    assert_eq!((line.status().state, line.counts().left_to_tcp), ("resuming", 0));
    line.taken();
    line.at(2650);
    line.emits(["2650 tcp a1 t2100/2550 w50000"]);
    assert_eq!((line.status().state, line.counts().left_to_tcp), ("open", 1));
    line.passes(nth(0).not_capable());
    line.passes(nth(2).not_capable());
    line.at(2750);
    line.peer_passes(ack(3001, 2650));
    assert_eq!(line.shim.memory().0, 0);
}

/// A shim that is stopped, and not killed, leaves nothing to wait for.
#[test]
fn what_it_keeps_is_handed_out_when_it_is_let_go() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(751);
    line.taken();
    line.let_go();
    line.emits([
        "751 tcp a1001 t750/651 w50000",
        "751 net 2001+1000 a1 t200/400",
        "751 net 3001+1000 a1 t200/400",
        "751 net 4001+1000 a1 t400/400 ect",
    ]);
    line.passes(nth(1).not_capable());
}

#[test]
fn the_own_link_goes_and_comes_back() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..3);
    line.at(210);
    line.signal(&Signal::of(SignalKind::RouteFailed));
    line.at(410);
    line.emits(["410 net 1+1000 a1 t200/200"]);
    let mut restored = Signal::of(SignalKind::RouteRestored);
    restored.about.destination = Some(THERE.address);
    line.at(500);
    line.signal(&restored);
    line.at(599);
    line.emits([
        "500 net 1+1000 a1 t200/200",
        "506 net 1001+1000 a1 t200/200",
        "513 net 2001+1000 a1 t200/200",
    ]);
    line.at(613);
    line.peer_is_held(ack(3001, 200));
    // The local TCP has not timed out: there is nothing to undo.
    line.emits(["613 tcp a3001 t613/513 w50000"]);
    assert_eq!(line.status().time_to_resume.map(|t| t.as_millis()), Some(113));

    // A signal about a flow must quote what is in flight; about others it says nothing.
    line.at(800);
    line.sends(3..4);
    for seq in [None, Some(nth(2).segment.seq), Some(nth(4).segment.seq)] {
        let mut failed = Signal::of(SignalKind::RouteFailed);
        (failed.about.flow, failed.about.seq) = (Some(FLOW), seq);
        line.signal(&failed);
        assert_eq!(line.status().state, "open");
    }
    let mut elsewhere = Signal::of(SignalKind::RouteFailed);
    elsewhere.about.destination = Some(base::Ipv4Addr::new(10, 0, 0, 3));
    line.signal(&elsewhere);
    line.signal(&Signal::of(SignalKind::SourceQuench));
    assert_eq!(line.status().state, "open");
}

#[test]
fn a_path_that_is_not_back_is_found_out() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(0);
    line.at(300);
    line.signal(&Signal::of(SignalKind::RouteRestored));
    line.at(899);
    line.emits(["300 net 1+1000 a1 t200/200", "306 net 1001+1000 a1 t200/200"]);
    line.at(1200);
    assert_eq!(line.status().state, "disconnected");
    line.emits(["900 net 1+1000 a1 t200/200", "1100 net 1+1000 a1 t200/200"]);
}

/// Off by default; of the same segment, and not those of a burst.
#[test]
fn silence_is_a_sign_if_asked_for() {
    let mut line = Line::established_by(Config { suspect_after: Some(2), ..config() });
    line.at(200);
    line.sends(0..4);
    line.at(300);
    line.passes(nth(3).not_capable());
    line.passes(nth(0).not_capable());
    line.passes(nth(1).not_capable());
    assert_eq!(line.status().state, "open");
    line.at(700);
    line.passes(nth(0).not_capable());
    assert_eq!(line.status().state, "disconnected");
    line.at(900);
    // TSval of the retransmission that has left, or the peer would discard it (RFC 7323 §5).
    line.emits(["900 net 1+1000 a1 t700/700"]);
}

#[test]
fn originals_are_not_older_than_a_retransmission_that_has_left() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..3);
    line.at(240);
    line.passes(nth(0).not_capable());
    line.at(250);
    line.cut(0);
    line.stores(nth(3));
    line.at(450);
    line.emits(["450 net 1+1000 a1 t240/250"]);
    line.at(550);
    line.peer_is_held(ack(1001, 240));
    line.at(640);
    line.emits([
        "550 tcp a2 t550/200 w50000",
        "550 net 1001+1000 a1 t240/250",
        "556 net 2001+1000 a1 t240/250",
        "563 net 3001+1000 a1 t250/250 ect",
    ]);
    line.peer_is_held(ack(4001, 250));
    line.emits(["640 tcp a4001 t640/540 w50000"]);
}

/// A TCP that starts over after a timeout acknowledges from there (SND.NXT): if the peer has come so
/// far, it takes the timestamp for the latest, and refuses older ones.
#[test]
fn originals_are_not_older_than_an_acknowledgment_that_began_among_them() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(760);
    line.passes(data(2001, 0).not_capable().acking(1));
    line.at(840);
    line.emits([
        "750 tcp a2 t750/200 w50000",
        REPAIR[0],
        REPAIR[1],
        "763 net 3001+1000 a1 t760/760",
        "770 net 4001+1000 a1 t760/760 ect",
    ]);
    answers(&mut line);
    line.taken();
}

/// Both ends send: data of the peer passes at once, but says nothing new; what the local TCP has
/// learnt goes along with the originals.
#[test]
fn data_in_both_directions() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    let first = ack(1001, 200).carrying(1, 500).sack(&[(2001, 3001)]).with(TcpFlags::ECE);
    line.peer_becomes(first, "1+500 a1 t750/200 w50000 ECE");
    line.passes(data(5001, 0).not_capable().acking(501));
    line.at(849);
    // Congestion is echoed: nothing is undone. Segment 2 has arrived.
    line.emits([
        "750 net 1001+1000 a1 t200/400",
        "756 net 3001+1000 a501 t200/750",
        "763 net 4001+1000 a501 t400/750 ect",
    ]);
    line.at(863);
    line.peer_becomes(ack(5001, 400).carrying(501, 100), "501+100 a1 t863/400 w50000");
    line.emits(["863 tcp a5001 t863/763 w50000"]);
}

/// The peer's window has closed and opened again while its acknowledgments were held.
#[test]
fn what_the_peer_says_of_its_window_is_not_lost() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200).window(0));
    line.emits(["750 tcp a2 t750/200 w0", REPAIR[0]]);
    line.at(849);
    line.taken();
    answers(&mut line);
    line.emits(["871 tcp a5001 t871/771 w50000"]);

    // Nothing is acknowledged, but the window is another one.
    let mut line = Line::established();
    line.at(200);
    line.sends(0..3);
    line.at(250);
    line.cut(0);
    line.at(350);
    line.peer_is_held(ack(1, 100).window(7000));
    line.at(900);
    line.taken();
    line.peer_is_held(ack(1, 100).sack(&[(1001, 2001)]).window(8000));
    line.at(1350);
    line.emits(["1350 tcp a1 t900/1250 w8000"]);
}

/// With nothing outstanding there is nothing to repair; whatever the peer says, says it all.
#[test]
fn an_outage_with_a_closed_window() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..1);
    line.at(300);
    line.peer_passes(ack(1001, 200).window(0));
    line.signal(&Signal::of(SignalKind::RouteFailed));
    line.at(500);
    line.passes(data(1000, 0).not_capable());
    line.at(600);
    line.peer_passes(ack(1001, 200).window(0));
    assert_eq!(line.status().state, "open");
    line.at(700);
    line.peer_passes(ack(1001, 200).window(9000));
    line.sends(1..2);
    line.emits([]);
}

/// A keep-alive of the peer asks for an answer even during repair.
#[test]
fn the_peers_keep_alives_are_not_held() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.peer_becomes(ack(1001, 200).seq(0), "a2 t750/200 w50000");
    line.at(849);
    line.taken();
    answers(&mut line);
    line.taken();
}

#[test]
fn a_handshake_during_a_cut_is_left_to_tcp() {
    let mut line = Line::new(config());
    line.passes(syn());
    line.signal(&Signal::of(SignalKind::RouteFailed));
    assert_eq!(line.unreachable(syn(), UnreachableCode::Host), NOT_BELIEVED);
    line.at(1000);
    line.passes(syn());
    line.at(1100);
    line.peer_passes(syn_ack());
    assert_eq!((line.status().state, line.counts().flows), ("open", 1));
    // Which of the two was answered is not known.
    assert_eq!(line.status().round_trip, None);
}

#[test]
fn a_fin_during_a_cut_is_carried_like_data() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..1);
    line.at(250);
    line.cut(0);
    line.at(300);
    line.stores(data(1001, 500).fin());
    line.at(400);
    assert_eq!(line.local(nth(0)), IN_OUTAGE);
    assert_eq!(line.local(data(1001, 500).fin()), IN_OUTAGE);
    line.at(450);
    line.emits(["450 net 1+1000 a1 t200/400"]);
    line.at(550);
    line.peer_is_held(ack(1001, 200));
    line.emits(["550 tcp a2 t550/200 w50000", "550 net 1001+500 FIN a1 t300/400 ect"]);
    line.at(650);
    // The peer closes, too.
    line.peer_becomes(ack(1502, 300).fin(), "FIN a2 t650/300 w50000");
    line.emits(["650 tcp a1502 t650/550 w50000"]);
    line.passes(data(1502, 0).not_capable().acking(2));
    assert_eq!(line.shim.flows().count(), 0, "both have closed");
    assert_eq!(line.shim.memory().0, 0);
}

/// A FIN alone has no byte to spare for an undo.
#[test]
fn a_segment_of_one_number_is_not_acknowledged_in_part() {
    for last in [data(1, 0).fin(), data(1, 1)] {
        let mut line = Line::established();
        line.at(200);
        line.passes(last);
        line.at(250);
        line.cut(0);
        line.at(400);
        assert_eq!(line.local(last), IN_OUTAGE);
        line.at(450);
        assert_eq!(line.taken().len(), 1);
        line.at(550);
        line.peer_is_held(ack(2, 200));
        line.emits(["550 tcp a2 t550/450 w50000"]);
    }
}

/// RFC 5961 §3: a reset counts if its number is the one that is expected.
#[test]
fn resets_during_a_cut() {
    let reset = |seq| ack(1, 0).flags(TcpFlags::RST).seq(seq).without_timestamps();
    let mut line = Line::established();
    cut_short(&mut line);
    line.peer_passes(reset(2));
    line.peer_passes(reset(500));
    assert_eq!((line.status().state, line.counts().resets_not_believed), ("disconnected", 2));
    line.peer_passes(reset(1));
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
    line.quiet_until(5000);

    let mut line = Line::established();
    cut_short(&mut line);
    line.passes(data(5001, 0).flags(TcpFlags::RST).not_capable());
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
    line.quiet_until(5000);
    assert_eq!(line.local(nth(0)), Fate::Untouched(Untouched::Older));
}

/// What cannot be stored passes, and the local TCP has to repeat it itself.
#[test]
fn the_store_of_a_flow_has_a_bound() {
    let mut line = Line::established_by(Config { store_per_flow: 5000, ..config() });
    line.at(200);
    line.sends(0..4);
    assert_eq!((line.status().stored_bytes, line.counts().not_stored), (4096, 2));
    line.at(250);
    line.cut(0);
    // Nor may what comes behind it wait: it would be sent in a wrong order, and late.
    line.passes(nth(4));
    line.at(400);
    assert_eq!(line.local(nth(1)), IN_OUTAGE);
    line.passes(nth(2).not_capable());
    line.at(450);
    line.emits(["450 net 1+1000 a1 t400/400"]);
    line.at(550);
    line.peer_is_held(ack(1001, 400));
    line.emits(["550 tcp a2 t550/200 w50000", "550 net 1001+1000 a1 t400/400"]);
    line.at(650);
    // All that was stored is there: the rest is between the ends.
    line.peer_is_held(ack(2001, 400));
    line.emits(["650 tcp a2001 t650/550 w50000"]);
    line.passes(nth(2).not_capable());
    line.at(750);
    // Lost, and not by congestion.
    line.peer_becomes(ack(5001, 650), "a5001 t750/200 w50000");
    assert_eq!(line.shim.memory().0, 0);
}

/// The path takes shorter packets only: the local TCP cuts what it sends again, and the original
/// would never arrive.
#[test]
fn originals_that_are_too_long_for_the_path_are_given_up() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..3);
    line.at(250);
    line.cut(0);
    line.at(300);
    let needed = UnreachableCode::FragmentationNeeded { mtu: 600 };
    assert_eq!(line.unreachable(nth(0), needed), NOT_BELIEVED);
    line.passes(data(1, 500).not_capable());
    line.passes(data(501, 500).not_capable());
    line.quiet_until(600);
    line.at(610);
    line.peer_passes(ack(501, 300));
    line.at(650);
    line.taken();
}

#[test]
fn a_tcp_that_has_given_up_is_forgotten() {
    let mut line = Line::established();
    cut_short(&mut line);
    line.at(300_399);
    let probes = line.taken().len();
    // Five a second for two minutes, then one a second.
    assert!((595 + 175..=595 + 185).contains(&probes), "{probes}");
    assert_eq!(line.status().state, "disconnected");
    line.at(300_400);
    line.taken();
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
    assert_eq!(line.counts().lost_track, 1);

    // Without an outage, too.
    let mut line = Line::established();
    line.at(200);
    line.sends(0..2);
    line.quiet_until(300_199);
    assert_eq!(line.shim.flows().count(), 1);
    line.quiet_until(300_200);
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
}

/// RFC 2018 §8: what was reported is taken back.
#[test]
fn a_peer_that_reneges_gets_everything() {
    let mut line = Line::established();
    line.at(200);
    line.sends(0..4);
    line.at(300);
    line.peer_passes(ack(1, 100).sack(&[(1001, 4001)]));
    line.cut(0);
    line.at(500);
    line.emits(["500 net 1+1000 a1 t200/200"]);
    line.at(600);
    // It has forgotten the other three.
    line.peer_is_held(ack(1001, 200));
    line.at(1200);
    // They are known as lost only once something newer has arrived, or nothing at all: 600 ms.
    line.emits(["1200 net 1001+1000 a1 t200/200"]);
    line.at(1300);
    line.peer_is_held(ack(2001, 200));
    line.at(1400);
    line.emits(["1300 net 2001+1000 a1 t200/200", "1306 net 3001+1000 a1 t200/200"]);
    line.peer_is_held(ack(4001, 200));
    line.emits(["1400 tcp a4001 t1400/1300 w50000"]);
}
