//! `compat = "ns-2"`.

use scenario::{Arp, DEVIATIONS, Lifetime, Part, Priority};

use super::adhoc;

const PROTOCOLS: [(&str, Part); 3] = [
    (r#"{ protocol = "aodv" }"#, Part::Aodv),
    (r#"{ protocol = "dsr" }"#, Part::Dsr),
    (r#"{ protocol = "static" }"#, Part::Any),
];

fn is_of(part: Part, protocol: Part) -> bool {
    part == protocol || matches!(part, Part::Any | Part::Arp | Part::Dcf)
}

/// The list is closed, and each key of it can be written by itself.
#[test]
fn compat_is_short_for_its_keys() {
    for (routing, protocol) in PROTOCOLS {
        let base = ("network.routing", routing);
        let mine = || DEVIATIONS.iter().filter(|deviation| is_of(deviation.of, protocol));
        let keys: Vec<_> = mine().map(|d| (format!("network.{}", d.key), d)).collect();

        let mut by_hand = vec![base];
        by_hand.extend(keys.iter().map(|(key, d)| (key.as_str(), d.ns2)));
        let mut by_hand = adhoc(&by_hand);
        let short = adhoc(&[base, ("network.compat", "ns-2")]);
        by_hand.compat = short.compat;
        assert_eq!(short, by_hand, "{routing}");

        let mut undone = vec![base, ("network.compat", "ns-2")];
        undone.extend(keys.iter().map(|(key, d)| (key.as_str(), d.standard)));
        let mut undone = adhoc(&undone);
        let standard = adhoc(&[base]);
        undone.compat = standard.compat;
        // A default that is not written is the same as the default.
        undone.queue.priority = undone.queue.priority.filter(|p| *p != Priority::None);
        assert_eq!(undone, standard, "{routing}");
    }
}

#[test]
fn each_key_makes_a_difference() {
    for deviation in DEVIATIONS {
        let (routing, _) = PROTOCOLS.into_iter().find(|(_, p)| is_of(deviation.of, *p)).unwrap();
        let key = format!("network.{}", deviation.key);
        let base = ("network.routing", routing);
        let with = |value: &str| adhoc(&[base, (key.as_str(), value)]);
        assert_ne!(with(deviation.standard), with(deviation.ns2), "{key}");
        assert!(!deviation.standard_says.is_empty() && !deviation.ns2_does.is_empty());
    }
}

#[test]
fn what_is_written_wins() {
    let own = adhoc(&[("network.feedback", "rfn"), ("network.compat", "ns-2")]);
    assert_eq!(own.feedback, scenario::Feedback::Rfn);
    assert_eq!(adhoc(&[("network.arp", "false"), ("network.compat", "ns-2")]).arp, Arp::Off);
    let Arp::On(arp) = adhoc(&[("network.arp", "true"), ("network.compat", "ns-2")]).arp else {
        panic!()
    };
    assert_eq!((arp.hold, arp.lifetime), (1, Lifetime::Forever));
}

/// `docs/ns-2.md` is made from the list; `DRIFTWAY_BLESS=1` writes it.
#[test]
fn the_page_says_what_the_list_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ns-2.md");
    let page = page();
    if std::env::var_os("DRIFTWAY_BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap();
    assert_eq!(found, page, "docs/ns-2.md is not the list's; DRIFTWAY_BLESS=1 writes it anew");
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (part, title) in [
        (Part::Any, "Every ad hoc network"),
        (Part::Dcf, "802.11: `mac.kind = \"dcf\"`"),
        (Part::Arp, "ARP: unless `arp = false`"),
        (Part::Aodv, "AODV: `routing.protocol = \"aodv\"`"),
        (Part::Dsr, "DSR: `routing.protocol = \"dsr\"`"),
    ] {
        let mut rows = DEVIATIONS.iter().filter(|deviation| deviation.of == part).peekable();
        if rows.peek().is_none() {
            continue;
        }
        page += &format!(
            "\n## {title}\n\n| key | standard | the standard says | ns-2 | ns-2.35 does |\n|---|---|---|---|---|\n"
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

An ad hoc network does what the standards say. With `compat = \"ns-2\"` in `[network]` the keys below
have other defaults, those of ns-2.35: what that simulator does otherwise, whether by choice or by
mistake. Each key can be written by itself, and what is written wins. Nothing else depends on
`compat`. (This page is made from the list in `crates/scenario/src/adhoc/compat.rs`, and tested
against it.)
";
