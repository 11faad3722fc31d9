//! `compat = "ns-2"`.

use driftway_link::Priority;
use driftway_scenario::{Arp, DeviationScope, Keyword, Lifetime, Mac, Routing, ns2_deviations};

use super::adhoc;

type Base = [(&'static str, &'static str); 4];

/// Every combination of scopes, and the keys that select it.
fn networks() -> Vec<(Vec<DeviationScope>, Base)> {
    let mut networks = Vec::new();
    for (mac, link) in [
        (r#"{ kind = "dcf" }"#, DeviationScope::Dcf),
        (r#"{ kind = "tdma" }"#, DeviationScope::Tdma),
    ] {
        for (routing, protocols) in [
            (r#"{ protocol = "aodv" }"#, &[DeviationScope::Aodv, DeviationScope::NotDsr][..]),
            (r#"{ protocol = "dsr" }"#, &[DeviationScope::Dsr]),
            (r#"{ protocol = "static" }"#, &[DeviationScope::NotDsr, DeviationScope::Static]),
        ] {
            let mut parts = [&[DeviationScope::Any, DeviationScope::Arp, link], protocols].concat();
            if parts.contains(&DeviationScope::Aodv) && link == DeviationScope::Tdma {
                parts.push(DeviationScope::AodvOverTdma);
            }
            let base = [
                ("network.mac", mac),
                ("network.mobility", r#"{ chain = "20 m" }"#),
                ("network.routing", routing),
                ("network.arp", "{}"),
            ];
            networks.push((parts, base));
        }
    }
    networks
}

/// `compat` is equivalent to writing the listed keys, and each of them can be written individually.
#[test]
fn compat_is_short_for_its_keys() {
    for (parts, base) in networks() {
        let deviations = ns2_deviations();
        let mine = deviations.iter().filter(|deviation| parts.contains(&deviation.scope));
        let keys: Vec<_> = mine.map(|d| (format!("network.{}", d.key), d)).collect();
        let with = |more: &[(&str, &str)]| adhoc(&[&base, more].concat());

        let by_hand: Vec<_> = keys.iter().map(|(key, d)| (key.as_str(), &*d.ns2)).collect();
        let mut by_hand = with(&by_hand);
        let short = with(&[("network.compat", "ns-2")]);
        by_hand.compat = short.compat;
        assert_eq!(short, by_hand);

        let mut undone = vec![("network.compat", "ns-2")];
        undone.extend(keys.iter().map(|(key, d)| (key.as_str(), &*d.standard)));
        let mut undone = with(&undone);
        let standard = with(&[]);
        undone.compat = standard.compat;
        // An absent default equals the written default.
        undone.queue.priority = undone.queue.priority.filter(|p| *p != Keyword(Priority::None));
        undone.queue.count_arriving = undone.queue.count_arriving.filter(|counts| *counts);
        assert_eq!(undone, standard);
    }
}

/// The list contains all deviations in the protocols' configurations, and the defaults are those of
/// the standards.
#[test]
fn the_list_is_complete() {
    for (_, base) in networks() {
        let of = |compat| adhoc(&[&base[..], &[("network.compat", compat)]].concat());
        let (standard, ns2) = (of("standard"), of("ns-2"));
        match &standard.mac {
            Mac::Dcf(_) => {
                let (ours, theirs) =
                    (driftway_radio::DcfConfig::STANDARD, driftway_radio::DcfConfig::NS2);
                assert_eq!((standard.dcf(), ns2.dcf()), (Some(ours), Some(theirs)));
            }
            Mac::Tdma(_) => {
                let (ours, theirs) =
                    (driftway_radio::TdmaConfig::STANDARD, driftway_radio::TdmaConfig::NS2);
                assert_eq!((standard.tdma(), ns2.tdma()), (Some(ours), Some(theirs)));
            }
        }
        match (&standard.routing, &ns2.routing) {
            (Routing::Aodv(ours), Routing::Aodv(theirs)) => {
                let hello = matches!(standard.mac, Mac::Tdma(_))
                    .then_some(driftway_route::HelloConfig::STANDARD);
                let config =
                    driftway_route::AodvConfig { hello, ..driftway_route::AodvConfig::STANDARD };
                assert_eq!(ours.config(), config);
                assert_eq!(theirs.config(), driftway_route::AodvConfig::NS2);
                assert_eq!((standard.queue.limit(), ns2.queue.limit()), (50, 49));
            }
            (Routing::Dsr(ours), Routing::Dsr(theirs)) => {
                assert_eq!(ours.config(), driftway_route::DsrConfig::STANDARD);
                assert_eq!(theirs.config(), driftway_route::DsrConfig::NS2);
                assert_eq!((standard.queue.limit(), ns2.queue.limit()), (50, 50));
            }
            (Routing::Static(ours), Routing::Static(theirs)) => {
                assert_eq!((ours.tcp_padding, theirs.tcp_padding), (0, 20));
            }
            (ours, theirs) => panic!("{ours:?} became {theirs:?}"),
        }
        assert_eq!(standard.radio.config(), driftway_radio::RadioConfig::STANDARD);
        assert_eq!(ns2.radio.config(), driftway_radio::RadioConfig::NS2);
    }
}

/// `ns-2.1b` is `ns-2` with two other defaults of the DCF; written keys take precedence.
#[test]
fn the_old_version_has_other_frame_times() {
    for (_, base) in networks() {
        let of = |more: &[(&str, &str)]| adhoc(&[&base[..], more].concat());
        let old = of(&[("network.compat", "ns-2.1b")]);
        let mut by_hand = match &old.mac {
            Mac::Dcf(_) => of(&[
                ("network.compat", "ns-2"),
                ("network.mac.basic_rate", "2 Mbit/s"),
                ("network.mac.preamble", "96 us"),
            ]),
            Mac::Tdma(_) => of(&[("network.compat", "ns-2")]),
        };
        by_hand.compat = old.compat;
        assert_eq!(old, by_hand);
        if let Mac::Dcf(_) = &old.mac {
            let own = of(&[("network.compat", "ns-2.1b"), ("network.mac.preamble", "192 us")]);
            assert_ne!(own, old);
        }
    }
}

#[test]
fn each_key_makes_a_difference() {
    for deviation in ns2_deviations() {
        let (_, base) =
            networks().into_iter().find(|(parts, _)| parts.contains(&deviation.scope)).unwrap();
        let key = format!("network.{}", deviation.key);
        let with = |value: &str| adhoc(&[&base[..], &[(key.as_str(), value)]].concat());
        assert_ne!(with(&deviation.standard), with(&deviation.ns2), "{key}");
        assert!(!deviation.standard_says.is_empty() && !deviation.ns2_does.is_empty());
    }
}

#[test]
fn written_keys_take_precedence() {
    let own = adhoc(&[("network.feedback", "rfn"), ("network.compat", "ns-2")]);
    assert_eq!(own.feedback, driftway_scenario::Feedback::Rfn);
    assert_eq!(adhoc(&[("network.arp", "false"), ("network.compat", "ns-2")]).arp, Arp::Off);
    let Arp::On(arp) = adhoc(&[("network.arp", "true"), ("network.compat", "ns-2")]).arp else {
        panic!()
    };
    assert_eq!((arp.hold, arp.lifetime), (1, Lifetime::Forever));
}

/// `docs/ns-2.md` is generated from the list with `DRIFTWAY_BLESS=1`.
#[test]
fn the_page_matches_the_list() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ns-2.md");
    let page = page();
    if std::env::var_os("DRIFTWAY_BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap();
    assert_eq!(found, page, "docs/ns-2.md differs from the list; DRIFTWAY_BLESS=1 writes it");
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (part, title) in [
        (DeviationScope::Any, "Every ad hoc network"),
        (DeviationScope::Dcf, "IEEE 802.11-1999: `mac.kind = \"dcf\"`"),
        (DeviationScope::Tdma, "TDMA: `mac.kind = \"tdma\"`"),
        (DeviationScope::Arp, "ARP: `arp = true`"),
        (DeviationScope::NotDsr, "Interface queue, except with DSR"),
        (DeviationScope::Aodv, "AODV (RFC 3561): `routing.protocol = \"aodv\"`"),
        (DeviationScope::AodvOverTdma, "AODV over TDMA"),
        (DeviationScope::Dsr, "DSR (RFC 4728): `routing.protocol = \"dsr\"`"),
        (DeviationScope::Static, "Static routes: `routing.protocol = \"static\"`"),
    ] {
        let mut rows =
            ns2_deviations().into_iter().filter(|deviation| deviation.scope == part).peekable();
        if rows.peek().is_none() {
            continue;
        }
        page += &format!(
            "\n## {title}\n\n| key | standard | rule of the standard | ns-2 | behaviour of ns-2.35 |\n|---|---|---|---|---|\n"
        );
        for row in rows {
            let standard = format!("`{}`", row.standard);
            page += &format!(
                "| `{}` | {standard} | {} | `{}` | {} |\n",
                row.key, row.standard_says, row.ns2, row.ns2_does
            );
        }
    }
    page
}

const INTRODUCTION: &str = "\
# What `compat = \"ns-2\"` changes

An ad hoc network follows the standards by default. With `compat = \"ns-2\"` in `[network]` the keys
below have other defaults, those of ns-2.35: the deviations of that simulator, whether by choice or by
mistake. Each key can also be set individually, and written keys take precedence. In addition, TCP
flows without a preset take the keys that they leave out from `preset = \"ns-2\"`; nothing else
depends on `compat`. (This page is generated from the tables of keys in `crates/scenario/src/adhoc`, and
tested against them.)

## Before 2003: `compat = \"ns-2.1b\"`

ns-2.35 sends RTS, CTS, ACK and broadcasts at 1 Mbit/s, each after a preamble of 192 µs. The versions 2.1b, with the
wireless extensions of CMU, of 1998 to 2002, counted the 24 bytes of preamble and PLCP header as a part of each frame
and sent everything at `bandwidth_`, 2 Mbit/s: control frames twice as fast, after 96 µs. (Recalled from their
mac/mac-802_11.h; mac/mac-tdma.h of ns-2.35 still computes frame times in this way, `ETHER_HDR_LEN` and `DATA_Time`.) Papers of
those years are based on them. `compat = \"ns-2.1b\"` is `\"ns-2\"` with `mac.basic_rate = \"2 Mbit/s\"` and
`mac.preamble = \"96 us\"`; no other difference between the versions is modelled.

A reader who compares with such a paper sees the difference first over one hop. `driftway run
studies/validation/li-chain.toml --set network.compat=ns-2.1b --runs 3`, and the same with `network.nodes=11` and `flow.0.to=10`, where
li-2001 has 1.7 Mbit/s and about 0.25 Mbit/s (with the headers of IP and UDP, 2 % more):

| compat | one hop, Mbit/s | ten hops, Mbit/s |
|---|---|---|
| `\"standard\"` | 1.531 | 0.332 |
| `\"ns-2\"` | 1.535 | 0.217 |
| `\"ns-2.1b\"` | 1.659 | 0.233 |

## DSR and AODV with forty sources

das-2001 has AODV deliver more than DSR with 40 sources among nodes that never pause. Under `compat = \"standard\"` DSR
delivers more. The rules of routing decide the order, and those of the MAC how much it is: with ns-2's DSR and AODV, AODV is level
or ahead over either MAC, with RFC 4728 and RFC 3561 DSR is ahead over either. Delivery ratios, means of four seeds, and the
paired difference with its 90 % interval:

| compat | other keys | AODV | DSR | DSR − AODV |
|---|---|---|---|---|
| `\"standard\"` | | 0.752 | 0.792 | 0.040 ± 0.041 |
| `\"standard\"` | `mac` as in ns-2 | 0.441 | 0.624 | 0.183 ± 0.026 |
| `\"standard\"` | `routing` as in ns-2 | 0.715 | 0.701 | −0.013 ± 0.020 |
| `\"ns-2\"` | `mac` as in the standard | 0.735 | 0.703 | −0.033 ± 0.015 |
| `\"ns-2\"` | `routing` as in the standard | 0.475 | 0.642 | 0.168 ± 0.018 |
| `\"ns-2\"` | | 0.584 | 0.509 | −0.075 ± 0.022 |

Of ns-2's rules of DSR one is enough: with `routing.cache = \"link-max-life\"`, the link cache of RFC 4728 in place of paths that
are kept until they break, it delivers 0.589, 0.081 ± 0.014 more, as much as AODV. The standard's DSR loses 0.026 ± 0.038 by ns-2's
cache alone, and 0.061 ± 0.010 by all other rules of ns-2 without it, which were not taken apart further.

The rows are `driftway run studies/validation/broch-traffic.toml --runs 4`, with `--set` for `network.compat`,
`network.routing.protocol`, `network.mac.rts_threshold='0 B'`, `traffic.0.pairs=40`, `traffic.0.application.cbr.size='512 B'`,
`traffic.0.application.cbr.every='333333333 ns'`, and the keys of the tables below, without `queue` and `arp`.
";
