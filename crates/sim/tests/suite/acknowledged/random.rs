//! Random scenarios: networks, faults and flows, as text, so that a failing run can be repeated by
//! hand.

use proptest::collection::vec;
use proptest::prelude::*;

/// The duration of runs (s).
const DURATION: u32 = 40;

fn one_of<T: Copy + std::fmt::Debug + 'static>(values: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(values)
}

/// A scenario and a seed.
pub fn scenario() -> impl Strategy<Value = (String, u64)> {
    (1_u32..=5).prop_flat_map(|hops| {
        let parts = (
            link(SHARING),
            one_of(&["round-robin", "random"]),
            vec(override_of(hops), 0..3),
            vec(parallel(hops), 0..2),
            vec(fault(hops), 0..5),
            vec(flow(hops), 1..5),
            any::<u64>(),
        );
        parts.prop_map(move |(link, multipath, overrides, parallel, faults, flows, seed)| {
            let tables = [overrides.concat(), parallel.concat(), faults.concat(), flows.concat()];
            let text = format!(
                "name = \"random\"\nduration = \"{DURATION} s\"\n[network]\nkind = \"path\"\n\
                 hops = {hops}\nmultipath = \"{multipath}\"\n[network.link]\n{link}\n{}",
                tables.concat()
            );
            (text, seed)
        })
    })
}

fn rate() -> impl Strategy<Value = &'static str> {
    one_of(&["16 kbit/s", "32 kbit/s", "64 kbit/s", "256 kbit/s", "1 Mbit/s"])
}

fn errors() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just(String::new()),
        1 => (0.0..5e-5).prop_map(|rate: f64| format!("bit_error_rate = {rate:?}\n")),
        1 => (0.0..0.2).prop_map(|rate: f64| format!("packet_error_rate = {rate:?}\n")),
    ]
}

fn queue() -> impl Strategy<Value = String> {
    let red = "discipline = \"red\", min_threshold = 2, max_threshold = 6, weight = 0.1";
    prop_oneof![
        (1_u32..60).prop_map(|packets| format!("packets = {packets}")),
        (1_u32..30).prop_map(|mark| format!("packets = {}, ecn_threshold = {mark}", mark * 2)),
        one_of(&[true, false]).prop_map(move |ecn| format!(
            "packets = 30, {red}, max_probability = 0.2, ecn = {ecn}"
        )),
        (1_u32..80, one_of(&[true, false])).prop_map(|(target, ecn)| format!(
            "packets = 40, discipline = \"codel\", target = \"{target} ms\", interval = \"100 ms\", \
             ecn = {ecn}"
        )),
    ]
}

/// The duplex modes that work with every fault.
const SHARING: &[&str] = &["full", "shared"];

fn link(duplex: &'static [&'static str]) -> impl Strategy<Value = String> {
    let mark_loss = prop_oneof![Just(0.0), 0.0..1.0_f64];
    let parts = (
        rate(),
        0_u32..80,
        0.0..1.0_f64,
        errors(),
        queue(),
        one_of(duplex),
        one_of(&["fifo", "free"]),
        mark_loss,
    );
    parts.prop_map(|(rate, delay, spread, errors, queue, duplex, order, mark_loss)| {
        format!(
            "rate = \"{rate}\"\ndelay = {{ mean = \"{delay} ms\", spread = {spread:?} }}\n{errors}\
             queue = {{ {queue} }}\nduplex = \"{duplex}\"\norder = \"{order}\"\n\
             mark_loss = {mark_loss:?}\n"
        )
    })
}

fn override_of(hops: u32) -> impl Strategy<Value = String> {
    (1..=hops, link(SHARING))
        .prop_map(|(hop, link)| format!("[[network.override]]\nhop = {hop}\n{link}"))
}

fn parallel(hops: u32) -> impl Strategy<Value = String> {
    (0..hops, 1_u32..=hops, 1_u32..4, link(&["full", "shared", "per-packet"])).prop_map(
        move |(from, more, own, link)| {
            let to = (from + more).min(hops);
            format!("[[network.parallel]]\nfrom = {from}\nto = {to}\nhops = {own}\n{link}")
        },
    )
}

fn fault(hops: u32) -> impl Strategy<Value = String> {
    let hop = 1..=hops;
    let cut = (
        hop.clone(),
        (1_u32..20, 100_u32..9_000, one_of(&["wait", "drop"])),
        one_of(&["icmp-unreachable", "none"]),
        prop_oneof![Just(0.0), 0.0..1.0_f64],
    );
    let cut = cut.prop_map(|(hop, (every, lasts, queue), signal, loss)| {
        let lasts = lasts.min(every * 1000 - 1);
        format!(
            "[[network.fault]]\nkind = \"partition\"\nhop = {hop}\nevery = \"{every} s\"\n\
             lasts = \"{lasts} ms\"\nqueue = \"{queue}\"\nsignal = \"{signal}\"\n\
             signal_loss = {loss:?}\n"
        )
    });
    let random = (1_u32..10, 1_u32..4_000).prop_map(|(count, lasts)| {
        format!(
            "[[network.fault]]\nkind = \"partition\"\nhop = \"random\"\ncount = {count}\n\
             lasts = \"{lasts} ms\"\n"
        )
    });
    let flood = (hop.clone(), 2_u32..20, 100_u32..1_999, 28_u32..1_500, any::<bool>());
    let flood = flood.prop_map(|(hop, every, lasts, size, marks)| {
        format!(
            "[[network.fault]]\nkind = \"congestion\"\nhop = {hop}\nevery = \"{every} s\"\n\
             lasts = \"{lasts} ms\"\nsize = \"{size} B\"\nmarks = {marks}\n"
        )
    });
    let how = prop_oneof![
        Just("how = \"front\"".to_owned()),
        (1_u32..20_000).prop_map(|ms| format!("how = \"reverse\"\nat_most = \"{ms} ms\"")),
    ];
    let reordering = (hop.clone(), 100_u32..9_000, 1_u32..10, how);
    let reordering = reordering.prop_map(|(hop, every, packets, how)| {
        format!(
            "[[network.fault]]\nkind = \"reordering\"\nhop = {hop}\nevery = \"{every} ms\"\n\
             packets = {packets}\n{how}\n"
        )
    });
    let interference = (
        hop.clone(),
        10_u32..500,
        28_u32..500,
        one_of(&["constant", "poisson"]),
        one_of(&["forward", "backward", "both"]),
    );
    let interference = interference.prop_map(|(hop, every, size, spacing, direction)| {
        format!(
            "[[network.fault]]\nkind = \"interference\"\nhop = {hop}\nevery = \"{every} ms\"\n\
             size = \"{size} B\"\nspacing = \"{spacing}\"\ndirection = \"{direction}\"\n"
        )
    });
    let change = (hop, 0_u32..DURATION, rate(), 0_u32..200).prop_map(|(hop, at, rate, delay)| {
        format!(
            "[[network.fault]]\nkind = \"change\"\nhop = {hop}\nat = \"{at} s\"\n\
             rate = [\"{rate}\", \"128 kbit/s\"]\ndelay = [\"{delay} ms\"]\n"
        )
    });
    prop_oneof![2 => cut, 1 => random, 1 => flood, 1 => reordering, 1 => interference, 1 => change]
}

fn aid() -> impl Strategy<Value = String> {
    let persist = (1_u32..5_000, 0_u32..60_000);
    let options = (
        one_of(&["1 ms", "10 ms", "200 ms", "500 ms"]),
        persist,
        one_of(&["first", "all"]),
        one_of(&["ahead", "behind"]),
        one_of(&["ack", "ack-or-data"]),
        any::<bool>(),
        one_of(&["segment", "new-data"]),
    );
    let atcp = options.prop_map(|(tick, (min, more), resend, place, leave, backoff, until)| {
        format!(
            "{{ name = \"atcp\", tick = \"{tick}\", persist_min = \"{min} ms\", \
             persist_max = \"{} ms\", resend = \"{resend}\", retransmission = \"{place}\", \
             leave_loss = \"{leave}\", backoff = {backoff}, congested_until = \"{until}\" }}",
            min + more
        )
    });
    prop_oneof![1 => Just("\"none\"".to_owned()), 3 => atcp]
}

fn tcp() -> impl Strategy<Value = String> {
    let pairs: Vec<(&str, &str)> = driftway_tcp::recovery_control_pairs()
        .map(|(recovery, growth)| (recovery.name(), growth.name()))
        .collect();
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let parts = (
        prop::sample::select(pairs),
        64_u32..1_460,
        1_u32..40,
        one_of(&["1 ms", "10 ms", "100 ms", "500 ms"]),
        flags,
        1_u32..12,
        one_of(&["200 ms", "1 s"]),
    );
    parts.prop_map(|((recovery, growth), mss, window, tick, flags, first, rto)| {
        let (delayed_ack, ecn, timestamps, nagle, source_quench) = flags;
        format!(
            "[flow.tcp]\nrecovery = \"{recovery}\"\ngrowth = \"{growth}\"\nmss = \"{mss} B\"\n\
             window = {window}\ntick = \"{tick}\"\ndelayed_ack = {delayed_ack}\necn = {ecn}\n\
             timestamps = {timestamps}\nnagle = {nagle}\nsource_quench = {source_quench}\n\
             initial_window = {first}\nmin_rto = \"{rto}\"\n"
        )
    })
}

fn flow(hops: u32) -> impl Strategy<Value = String> {
    let application = prop_oneof![
        3 => (1_u32..200_000).prop_map(|bytes| format!("{{ transfer = \"{bytes} B\" }}")),
        1 => Just("\"ftp\"".to_owned()),
        1 => (10_u32..2_000, 1_u32..1_200).prop_map(|(every, size)| {
            format!("{{ cbr = {{ every = \"{every} ms\", size = \"{size} B\" }} }}")
        }),
    ];
    let back = prop_oneof![
        2 => Just(String::new()),
        1 => (1_u32..200_000).prop_map(|bytes| format!("back = {{ transfer = \"{bytes} B\" }}")),
        1 => Just("back = \"ftp\"".to_owned()),
    ];
    let from = 0..=hops;
    let parts = (from, 1..=hops, 0_u32..10_000, application, back, aid(), aid(), tcp());
    parts.prop_map(move |(from, further, start, application, back, aid, receiver_aid, tcp)| {
        let to = (from + further) % (hops + 1);
        format!(
            "[[flow]]\nfrom = {from}\nto = {to}\nstart = \"{start} ms\"\n\
             application = {application}\n{back}\naid = {aid}\nreceiver_aid = {receiver_aid}\n{tcp}"
        )
    })
}
