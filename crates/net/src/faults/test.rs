//! Faults by time line.

use driftway_base::LinkId;
use driftway_base::{Duration, Instant};
use driftway_link::Side;
use driftway_scenario::{Link, Network, Scenario};
use typed_index_collections::{TiSlice, TiVec};

use super::active::ActiveFault;
use super::*;

fn faults(text: &str, seed: u64) -> Vec<ActiveFault> {
    let text = format!(
        r#"
        name = "faults"
        duration = "100 s"
        [[flow]]
        from = 0
        to = 1
        application = "ftp"
        [network]
        kind = "path"
        hops = 4
        link = {{ rate = "1 Mbit/s", delay = "10 ms" }}
        {text}
        "#
    );
    let scenario = Scenario::parse("faults.toml", &text, &[]).unwrap();
    let Network::Path(path) = &scenario.network else { panic!("the network is a path") };
    let hops: TiVec<LinkId, Link> = (1..=path.hops).map(|hop| path.hop_link(hop)).collect();
    let duration = scenario.duration;
    active_faults(&FaultPlan { faults: &path.faults, hops: &hops, duration, seed })
}

fn fault(kind: &str, more: &str) -> ActiveFault {
    let mut all = faults(&format!("[[network.fault]]\nkind = \"{kind}\"\n{more}"), 1);
    assert_eq!((all.len(), all[0].kind().name()), (1, kind));
    all.remove(0)
}

/// Actions of its next `count` instants, and their times (ms). Time never goes back.
fn run_turns(fault: &mut ActiveFault, count: usize) -> Vec<(u64, String)> {
    let mut fired = Vec::new();
    let mut last = Instant::ZERO;
    for _ in 0..count {
        let Some(at) = fault.next_instant() else { break };
        assert!(at >= last, "{at:?} after {last:?}");
        last = at;
        let mut actions = Vec::new();
        fault.fire(at, &mut actions);
        assert!((1..=2).contains(&actions.len()), "{actions:?}");
        fired.extend(actions.iter().map(|action| (at.as_millis(), brief(action))));
    }
    fired
}

fn saw(seen: bool) -> &'static str {
    if seen { " seen" } else { "" }
}

fn brief(action: &FaultAction) -> String {
    match action {
        FaultAction::RadioDown { node, drops_queue, signals } => {
            format!("down {node} {drops_queue}{}", saw(*signals))
        }
        FaultAction::RadioUp { node, signals } => format!("up {node}{}", saw(*signals)),
        FaultAction::SignalRadioFading { node, lead } => {
            format!("fade radio {node} {}", lead.as_millis())
        }
        FaultAction::Cut { link, queue, signals } => {
            format!("cut {link} {queue:?}{}", saw(*signals))
        }
        FaultAction::Heal { link, signals } => format!("heal {link}{}", saw(*signals)),
        FaultAction::SignalFading { link, lead } => format!("fade {link} {}", lead.as_millis()),
        FaultAction::MoveToFront { link, side, frames } => {
            format!("reorder {link} {side:?} {frames}")
        }
        FaultAction::CrossTraffic { link, side, bytes } => {
            format!("foreign {link} {side:?} {bytes}")
        }
        FaultAction::Rate { link, rate } => format!("rate {link} {}", rate.as_bps()),
        FaultAction::Delay { link, delay } => format!("delay {link} {delay:?}"),
        FaultAction::Reverse { link, side, frames, max_wait: at_most } => {
            format!("reverse {link} {side:?} {frames} {}", at_most.as_millis())
        }
        FaultAction::Flood { link, begins, marks: false, .. } => {
            format!("flood {link} {begins}")
        }
        FaultAction::Flood { link, side, begins, .. } => {
            format!("marking {link} {side:?} {begins}")
        }
    }
}

fn expect(found: &[(u64, String)], expected: &[(u64, &str)]) {
    let found: Vec<_> = found.iter().map(|(at, what)| (*at, what.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_cut_starts_after_its_period_unless_first_is_set() {
    let mut cut = fault("partition", "hop = 2\nevery = \"30 s\"\nlasts = \"5 s\"");
    expect(
        &run_turns(&mut cut, 3),
        &[(30_000, "cut 1 Wait"), (35_000, "heal 1"), (60_000, "cut 1 Wait")],
    );
    let more =
        "hop = 4\nevery = \"30 s\"\nfirst = \"1 s\"\nlasts = \"5 s\"\ncount = 2\nqueue = \"drop\"";
    let mut cut = fault("partition", more);
    expect(
        &run_turns(&mut cut, 9),
        &[(1_000, "cut 3 Drop"), (6_000, "heal 3"), (31_000, "cut 3 Drop"), (36_000, "heal 3")],
    );
    assert_eq!(cut.next_instant(), None);
}

#[test]
fn overlapping_random_cuts_are_sequential() {
    let more = "hop = \"random\"\ncount = 20\nlasts = \"5 s\"";
    let mut cut = fault("partition", more);
    let fired = run_turns(&mut cut, 100);
    assert_eq!(fired.len(), 40);
    for pair in fired.chunks(2) {
        assert_eq!(pair[1].0 - pair[0].0, 5_000);
        let link = pair[0].1.strip_prefix("cut ").unwrap().strip_suffix(" Wait").unwrap();
        assert_eq!(pair[1].1, format!("heal {link}"));
    }
}

#[test]
fn only_the_fault_that_cuts_a_link_notifies() {
    let notification = |more: &str| {
        let mut cut =
            fault("partition", &format!("hop = 2\nfirst = \"1 s\"\nlasts = \"5 s\"\n{more}"));
        let before = cut.draw_notification(LinkId::new(1));
        run_turns(&mut cut, 1);
        let (during, elsewhere) =
            (cut.draw_notification(LinkId::new(1)), cut.draw_notification(LinkId::new(0)));
        run_turns(&mut cut, 1);
        assert_eq!((before, elsewhere, cut.draw_notification(LinkId::new(1))), (None, None, None));
        during
    };
    assert_eq!(notification(""), Some(PartitionNotification::HostUnreachable));
    assert_eq!(notification("signal_loss = 1"), Some(PartitionNotification::MessageLost));
    assert_eq!(notification("signal = \"none\""), Some(PartitionNotification::Silent));
    assert_eq!(
        notification("signal = \"rfn\"\nsignal_loss = 1"),
        Some(PartitionNotification::RouteFailure)
    );
}

#[test]
fn losses_of_rfns_and_rrns_are_independent() {
    let more = "hop = 2\nfirst = \"1 s\"\nlasts = \"5 s\"\nsignal = \"rfn\"\nsignal_loss = 0.5";
    let losses = |restored: &[bool], of: bool| {
        let mut cut = fault("partition", more);
        let drawn =
            restored.iter().map(|r| (*r, cut.draw_notice_loss(LinkId::new(1), *r).unwrap()));
        drawn.filter(|(r, _)| *r == of).map(|(_, lost)| lost).collect::<Vec<_>>()
    };
    let alone = losses(&[false; 100], false);
    assert_eq!(losses(&[[false, true]; 100].concat(), false), alone);
    let lost = alone.iter().filter(|lost| **lost).count();
    assert!((30..=70).contains(&lost), "four standard deviations off: {lost}");
    assert_ne!(losses(&[true; 100], true), alone);
    // Another hop; another signal; any hop.
    assert_eq!(fault("partition", more).draw_notice_loss(LinkId::new(2), false), None);
    let silent = more.replace("rfn", "none");
    assert_eq!(fault("partition", &silent).draw_notice_loss(LinkId::new(1), false), None);
    let random = more.replace("hop = 2", "hop = \"random\"").replace("0.5", "1.0");
    assert_eq!(fault("partition", &random).draw_notice_loss(LinkId::new(3), true), Some(true));
    assert_eq!(
        fault("partition", &random).draw_notice_loss(LinkId::new(4), true),
        None,
        "on a parallel route"
    );
}

#[test]
fn signals_are_lost_with_their_probability() {
    let more = "hop = 2\nfirst = \"1 s\"\nlasts = \"5 s\"\nsignal_loss = 0.2";
    let mut cut = fault("partition", more);
    run_turns(&mut cut, 1);
    let lost = (0..10_000)
        .filter(|_| {
            cut.draw_notification(LinkId::new(1)) == Some(PartitionNotification::MessageLost)
        })
        .count();
    assert!((1840..=2160).contains(&lost), "four standard deviations off: {lost}");
}

#[test]
fn the_ends_of_a_hop_are_signalled_a_cut_and_its_lead() {
    let more = "hop = 2\nevery = \"10 s\"\nlasts = \"8 s\"\nsignal = \"link\"";
    let seen = [(10_000, "cut 1 Wait seen"), (18_000, "heal 1 seen")];
    expect(&run_turns(&mut fault("partition", more), 2), &seen);
    let ahead = |lead| run_turns(&mut fault("partition", &format!("{more}\nlead = \"{lead}\"")), 5);
    let [cut, heal] = seen;
    let next = (20_000, "cut 1 Wait seen");
    expect(&ahead("1 s"), &[(9_000, "fade 1 1000"), cut, heal, (19_000, "fade 1 1000"), next]);
    // A cut sooner than the lead time is signalled as early as possible.
    expect(&ahead("99 s"), &[(0, "fade 1 10000"), cut, heal, (18_000, "fade 1 2000"), next]);
}

/// A cut is signalled at the link where it happens, and random hops are those of cuts without
/// signals.
#[test]
fn random_cuts_are_where_they_were_signalled() {
    let cut = "hop = \"random\"\nevery = \"10 s\"\nlasts = \"1 s\"";
    let places = |more: &str, what: &str| {
        let fired = run_turns(&mut fault("partition", &format!("{cut}\n{more}")), 24);
        let place = |(_, action): &(u64, String)| action.split(' ').nth(1).unwrap().to_owned();
        let of = fired.iter().filter(|(_, action)| action.starts_with(what));
        of.take(8).map(place).collect::<Vec<_>>()
    };
    let seen = "signal = \"link\"\nlead = \"2 s\"";
    assert_eq!(places(seen, "fade"), places(seen, "cut"));
    assert_eq!(places(seen, "cut"), places("", "cut"));
}

/// 250 bytes at twice 1 Mbit/s: a packet per millisecond.
#[test]
fn a_flood_has_twice_the_rate_of_its_hop() {
    let more = "hop = 3\nfirst = \"1 s\"\nevery = \"10 s\"\nlasts = \"3 ms\"\nsize = \"250 B\"";
    let mut flood = fault("congestion", more);
    expect(
        &run_turns(&mut flood, 5),
        &[
            (1_000, "flood 2 true"),
            (1_000, "foreign 2 A 250"),
            (1_001, "foreign 2 A 250"),
            (1_002, "foreign 2 A 250"),
            (1_003, "flood 2 false"),
            (11_000, "flood 2 true"),
            (11_000, "foreign 2 A 250"),
        ],
    );
    let mut slow = fault("congestion", &format!("{more}\nrate = \"1 Mbit/s\""));
    expect(
        &run_turns(&mut slow, 3)[1..],
        &[(1_000, "foreign 2 A 250"), (1_002, "foreign 2 A 250"), (1_003, "flood 2 false")],
    );
}

#[test]
fn reordering_recurs() {
    let mut fault = fault("reordering", "hop = 2\nevery = \"10 s\"");
    expect(&run_turns(&mut fault, 2), &[(10_000, "reorder 1 A 4"), (20_000, "reorder 1 A 4")]);
}

#[test]
fn reordering_in_reverse_has_a_time_limit() {
    let more = "hop = 2\nevery = \"10 s\"\npackets = 3\nhow = \"reverse\"";
    let fault_of = |more: &str| run_turns(&mut fault("reordering", more), 1);
    expect(&fault_of(more), &[(10_000, "reverse 1 A 3 5000")]);
    expect(
        &fault_of(&format!("{more}\nat_most = \"2 s\"\ndirection = \"both\"")),
        &[(10_000, "reverse 1 A 3 2000"), (10_000, "reverse 1 B 3 2000")],
    );
}

#[test]
fn a_marking_flood_marks_from_start_to_end() {
    let more = "hop = 3\nfirst = \"1 s\"\nlasts = \"1 ms\"\nsize = \"250 B\"\nmarks = true\n\
                direction = \"backward\"";
    expect(
        &run_turns(&mut fault("congestion", more), 3),
        &[(1_000, "marking 2 B true"), (1_000, "foreign 2 B 250"), (1_001, "marking 2 B false")],
    );
}

#[test]
fn interference_has_one_stream_per_hop_and_direction() {
    let links = |more: &str| {
        let text =
            format!("[[network.fault]]\nkind = \"interference\"\nevery = \"10 ms\"\n{more}\n");
        let streams = faults(&text, 1);
        let places = streams.iter().map(|stream| match stream {
            ActiveFault::Interference(stream) => (stream.link.number(), stream.side),
            _ => unreachable!("{}", stream.kind()),
        });
        places.collect::<Vec<_>>()
    };
    assert_eq!(links("hop = 1"), [(0, Side::A)]);
    assert_eq!(links("hop = 4\ndirection = \"backward\""), [(3, Side::B)]);
    assert_eq!(
        links("hop = \"intermediate\"\ndirection = \"both\""),
        [(0, Side::B), (1, Side::A), (1, Side::B), (2, Side::A), (2, Side::B), (3, Side::A)]
    );
}

#[test]
fn streams_start_unsynchronized_and_keep_their_gap() {
    let text = "[[network.fault]]\nkind = \"interference\"\nevery = \"10 ms\"\n\
                hop = \"intermediate\"\nsize = \"77 B\"\n";
    let mut streams = faults(text, 1);
    let mut begins: Vec<_> = streams.iter().map(|stream| stream.next_instant().unwrap()).collect();
    let first = begins[0];
    begins.sort();
    begins.dedup();
    assert_eq!(begins.len(), 3);
    let fired = run_turns(&mut streams[0], 3);
    assert!(fired.iter().all(|(_, what)| what == "foreign 1 A 77"), "{fired:?}");
    assert_eq!(streams[0].next_instant(), Some(first + Duration::from_millis(30)));
}

#[test]
fn poisson_gaps_have_the_configured_mean() {
    let more = "every = \"10 ms\"\nhop = 2\nspacing = \"poisson\"";
    let mut stream = fault("interference", more);
    run_turns(&mut stream, 10_000);
    let end = stream.next_instant().unwrap().as_millis();
    assert!((96_000..=104_000).contains(&end), "four standard deviations off: {end}");
}

#[test]
fn a_timed_change_happens_once() {
    let more = "hop = 2\nat = \"5 s\"\nrate = [\"1 Mbit/s\", \"2 Mbit/s\"]\ndelay = [\"10 ms\"]";
    let mut change = fault("change", more);
    let mut actions = Vec::new();
    change.on_healed(LinkId::new(1), &mut actions);
    assert!(actions.is_empty(), "it is not triggered by a partition");
    expect(&run_turns(&mut change, 1), &[(5_000, "rate 1 2000000")]);
    assert_eq!(change.next_instant(), None);
}

#[test]
fn a_change_after_partitions_picks_another_value_each_time() {
    let text = "[[network.fault]]\nkind = \"partition\"\nhop = 2\nevery = \"10 s\"\nlasts = \"1 s\"\n\
                [[network.fault]]\nkind = \"change\"\nhop = 2\nafter = \"partition\"\n\
                rate = [\"1 Mbit/s\", \"2 Mbit/s\", \"3 Mbit/s\"]\n";
    let mut change = faults(text, 1).remove(1);
    assert_eq!(change.next_instant(), None);
    let mut actions = Vec::new();
    change.on_healed(LinkId::new(0), &mut actions);
    assert!(actions.is_empty(), "another hop");
    let mut present = 1_000_000;
    let mut picked = Vec::new();
    for _ in 0..100 {
        change.on_healed(LinkId::new(1), &mut actions);
        let [FaultAction::Rate { link, rate }] = actions[..] else { panic!("{actions:?}") };
        assert_eq!(link, LinkId::new(1));
        assert_ne!(rate.as_bps(), present);
        present = rate.as_bps();
        picked.push(present);
        actions.clear();
    }
    picked.sort_unstable();
    picked.dedup();
    assert_eq!(picked, [1_000_000, 2_000_000, 3_000_000]);
}

/// Random draws are independent for each fault, and depend on the seed.
#[test]
fn random_cuts_depend_on_seed_and_fault() {
    let cut =
        "[[network.fault]]\nkind = \"partition\"\nhop = \"random\"\ncount = 9\nlasts = \"1 s\"\n";
    let mut one = faults(cut, 1);
    let mut two = faults(&format!("{cut}{cut}"), 1);
    let mut other = faults(cut, 2);
    let first = run_turns(&mut one[0], 20);
    assert_eq!(run_turns(&mut two[0], 20), first);
    assert_ne!(run_turns(&mut two[1], 20), first);
    assert_ne!(run_turns(&mut other[0], 20), first);
}

/// A fault of node 1 of an ad hoc network.
fn radio_fault(kind: &str, more: &str) -> ActiveFault {
    let text = format!(
        r#"
        name = "faults of radios"
        duration = "100 s"
        [[flow]]
        from = 0
        to = 1
        application = "ftp"
        [network]
        kind = "adhoc"
        nodes = 2
        mobility = {{ chain = "100 m" }}
        routing = {{ protocol = "aodv" }}
        [[network.fault]]
        kind = "{kind}"
        node = 1
        {more}
        "#
    );
    let scenario = Scenario::parse("faults.toml", &text, &[]).unwrap();
    let (faults, duration) = (scenario.network.faults(), scenario.duration);
    active_faults(&FaultPlan { faults, hops: TiSlice::from_ref(&[]), duration, seed: 1 }).remove(0)
}

#[test]
fn the_outages_of_a_radio_follow_their_schedule() {
    let more = "every = \"10 s\"\nfirst = \"4 s\"\nlasts = \"2 s\"\ncount = 2\n";
    let mut silent = radio_fault("radio-down", more);
    expect(
        &run_turns(&mut silent, 9),
        &[(4_000, "down 1 false"), (6_000, "up 1"), (14_000, "down 1 false"), (16_000, "up 1")],
    );
    let more = format!("{more}queue = \"drop\"\nsignal = \"link\"\nlead = \"500 ms\"");
    expect(
        &run_turns(&mut radio_fault("radio-down", &more), 4),
        &[
            (3_500, "fade radio 1 500"),
            (4_000, "down 1 true seen"),
            (6_000, "up 1 seen"),
            (13_500, "fade radio 1 500"),
        ],
    );
    let unwarned = format!("{more}\nsignal_loss = 1");
    expect(
        &run_turns(&mut radio_fault("radio-down", &unwarned), 2),
        &[(4_000, "down 1 true seen"), (6_000, "up 1 seen")],
    );
    let late = format!("{more}\njitter = \"3 s\"");
    let fired = run_turns(&mut radio_fault("radio-down", &late), 3);
    assert!(fired[1].0 > 4_000 && fired[1].0 <= 7_000, "{fired:?}");
}

/// A partition's jitter moves its cuts and neither the draws of its hops nor those of other faults.
#[test]
fn jitter_shifts_no_other_draw() {
    let cut = "hop = \"random\"\nevery = \"10 s\"\nlasts = \"1 s\"";
    let plain = run_turns(&mut fault("partition", cut), 20);
    let late = run_turns(&mut fault("partition", &format!("{cut}\njitter = \"8 s\"")), 20);
    assert_eq!(late.len(), plain.len());
    for (late, plain) in late.iter().zip(&plain) {
        assert_eq!(late.1, plain.1);
        assert!((plain.0..=plain.0 + 8_000).contains(&late.0), "{late:?}");
    }
    assert_ne!(late[0].0 - plain[0].0, late[2].0 - plain[2].0);
}

/// Cuts are always signalled, and their warnings only with some probability.
#[test]
fn a_cut_without_its_warning_is_signalled() {
    let more = "hop = 2\nevery = \"10 s\"\nlasts = \"8 s\"\nsignal = \"link\"\nlead = \"1 s\"";
    let mut cut = fault("partition", &format!("{more}\nsignal_loss = 1"));
    expect(&run_turns(&mut cut, 2), &[(10_000, "cut 1 Wait seen"), (18_000, "heal 1 seen")]);
    let mut cut = fault("partition", &format!("{more}\nsignal_loss = 0.5"));
    let fired = run_turns(&mut cut, 1000);
    let count = |what| fired.iter().filter(|(_, action)| action.starts_with(what)).count();
    // Four standard deviations.
    assert!(
        count("fade").abs_diff(count("cut") / 2) <= 40,
        "{} of {}",
        count("fade"),
        count("cut")
    );
}

#[test]
fn false_warnings_follow_their_schedule() {
    let more = "every = \"10 s\"\nfirst = \"4 s\"\ncount = 2\nlead = \"300 ms\"";
    let mut of_hop = fault("fading", &format!("hop = 3\n{more}"));
    expect(&run_turns(&mut of_hop, 9), &[(4_000, "fade 2 300"), (14_000, "fade 2 300")]);
    assert_eq!(of_hop.next_instant(), None);
    let mut of_radio = radio_fault("fading", more);
    expect(
        &run_turns(&mut of_radio, 9),
        &[(4_000, "fade radio 1 300"), (14_000, "fade radio 1 300")],
    );
    let mut late = radio_fault("fading", &format!("{more}\njitter = \"5 s\""));
    let fired = run_turns(&mut late, 9);
    assert!(fired[0].0 > 4_000 && fired[0].0 <= 9_000, "{fired:?}");
    assert!(fired[1].0 > 14_000 && fired[1].0 <= 19_000, "{fired:?}");
}
