//! Aids in scenarios: each aid of the list can be parsed, printed and created.

use driftway_aid::options::{OptionInfo, OptionKind, OptionValue};
use driftway_aid::registry::{AIDS, AidEntry};
use driftway_base::{Duration, Instant, Known, RecoveryState, Seq, TcpView};
use driftway_scenario::{Aid, Scenario, Time, flatten};
use driftway_wire::{Payload, TcpFlags, TcpSegment};

fn read(aid: &str) -> Result<Scenario, String> {
    let text = format!(
        "name = \"aids\"\nduration = \"1 s\"\n\
         [network]\nkind = \"path\"\nhops = 1\nlink = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n\
         [[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\naid = {aid}\n"
    );
    Scenario::parse("aids", &text, &[]).map_err(|error| error.to_string())
}

/// Some valid values of the option, as scenarios write them.
fn values(kind: &OptionKind) -> Vec<String> {
    match kind {
        OptionKind::Duration(least, most) => {
            let long = (*most).min(Duration::from_secs(3));
            [*least, long].map(|span| format!("\"{}\"", Time(span))).to_vec()
        }
        OptionKind::Count(least, most) => vec![least.to_string(), most.to_string()],
        OptionKind::Number(unit, ..) => panic!("no aid has a number of {unit:?}"),
        OptionKind::Flag => vec!["true".into(), "false".into()],
        OptionKind::Choice(words) => words.iter().map(|(word, _)| format!("\"{word}\"")).collect(),
    }
}

fn of(scenario: &Scenario) -> &Aid {
    &scenario.flows[0].aid
}

fn each_option(mut check: impl FnMut(&'static AidEntry, &OptionInfo)) {
    for listed in AIDS {
        listed.options().iter().for_each(|option| check(listed, option));
    }
}

/// liu-singh-2001 §III-A: with data in both directions, the layer is at both ends, unless the file
/// specifies otherwise.
#[test]
fn the_receiver_has_the_senders_aid_with_bidirectional_data() {
    let atcp = "{ name = \"atcp\", tick = \"100 ms\" }";
    for (more, name) in [
        ("", None),
        ("\nback = \"ftp\"", Some("atcp")),
        ("\nback = \"ftp\"\nreceiver_aid = \"none\"", None),
        ("\nback = \"ftp\"\nreceiver_aid = \"tcp-f\"", Some("tcp-f")),
    ] {
        let flow = &read(&format!("{atcp}{more}")).unwrap().flows[0];
        let receiver = flow.receiver_aid.as_ref().unwrap();
        assert_eq!(receiver.name(), name, "{more}");
        assert!(name != Some("atcp") || *receiver == flow.aid, "with its options");
    }
}

#[test]
fn every_aid_round_trips_with_its_defaults() {
    for listed in AIDS {
        let scenario = read(&format!("\"{}\"", listed.name)).unwrap();
        let aid = of(&scenario);
        assert_eq!(aid.name(), Some(listed.name));
        let built = aid.build(Duration::ZERO).expect(listed.name);
        assert_eq!(built.name(), listed.name);

        let defaults: Vec<_> = listed
            .options()
            .iter()
            .filter_map(|option| option.default.map(|value| (option.name, value)))
            .collect();
        assert_eq!(aid.options(), defaults);
        let shown = flatten(&scenario);
        for (name, _) in defaults {
            let key = format!("flow.0.aid.{name}");
            assert!(shown.iter().any(|(shown, _)| *shown == key), "{key}");
        }
        assert_eq!(Scenario::parse("shown", &scenario.show(), &[]), Ok(scenario));
    }
}

#[test]
fn every_option_accepts_its_values() {
    each_option(|listed, option| {
        for value in values(&option.kind) {
            // A duration that would exceed the option which it must not exceed.
            let long = listed.ordered_options.iter().find(|(short, _)| *short == option.name);
            let long = long.map_or(String::new(), |(_, long)| format!(", {long} = \"1 h\""));
            let short = listed.ordered_options.iter().find(|(_, long)| *long == option.name);
            let least = |name: &str| {
                let options = listed.options();
                let of = options.iter().find(|o| o.name == name).map(|o| o.kind);
                let Some(OptionKind::Duration(least, _)) = of else { panic!("{name}") };
                Time(least)
            };
            let short = short.map_or(String::new(), |(s, _)| format!(", {s} = \"{}\"", least(s)));
            let name = option.name;
            let aid = format!("{{ name = \"{}\", {name} = {value}{long}{short} }}", listed.name);
            let scenario = read(&aid).unwrap_or_else(|error| panic!("{error}"));
            let shown = (format!("flow.0.aid.{name}"), value.trim_matches('"').to_owned());
            assert!(flatten(&scenario).contains(&shown), "{shown:?}");
            assert!(of(&scenario).build(Duration::ZERO).is_some());
            assert_eq!(Scenario::parse("shown", &scenario.show(), &[]), Ok(scenario));
        }
    });
}

#[test]
fn options_reject_values_of_other_kinds() {
    each_option(|listed, option| {
        let (name, aid) = (option.name, listed.name);
        let says = |value: &str| read(&format!("{{ name = \"{aid}\", {name} = {value} }}"));
        let place =
            format!("aids:11:{}: ", format!("aid = {{ name = \"{aid}\", {name} = ").len() + 1);
        let expected = match &option.kind {
            OptionKind::Duration(..) => {
                "expected a time with its unit, such as \"20 ms\"".to_owned()
            }
            OptionKind::Count(least, most) => {
                for wrong in [u64::from(*least) - 1, u64::from(*most) + 1] {
                    let range = format!("{place}`{name}` of {wrong} out of range {least}–{most}");
                    assert_eq!(says(&wrong.to_string()), Err(range));
                }
                for (wrong, found) in [("true", "true"), ("-1", "the bare number -1")] {
                    let error = says(wrong).unwrap_err();
                    let expected = format!("{place}expected a whole number, found {found}");
                    assert_eq!(error, expected);
                }
                return;
            }
            OptionKind::Number(unit, ..) => panic!("no aid has a number of {unit:?}"),
            OptionKind::Flag => "expected true or false".to_owned(),
            OptionKind::Choice(words) => {
                let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                format!("expected one of \"{}\"", words.join("\", \""))
            }
        };
        assert_eq!(says("3"), Err(format!("{place}{expected}, found the bare number 3")));
        if !matches!(option.kind, OptionKind::Flag) {
            assert_eq!(says("true"), Err(format!("{place}{expected}, found true")));
        }
        assert!(says("\"no such word\"").is_err_and(|error| error.starts_with(&place)));
    });
}

#[test]
fn none_is_no_aid() {
    for none in ["\"none\"", "{ name = \"none\" }"] {
        let scenario = read(none).unwrap();
        assert_eq!(of(&scenario), &Aid::default());
        assert_eq!(of(&scenario).name(), None);
        assert!(of(&scenario).build(Duration::ZERO).is_none());
        assert!(flatten(&scenario).contains(&("flow.0.aid".into(), "none".into())));
    }
}

/// First timeout of the scenario's ATCP, with outstanding data.
fn first_look(aid: &str, clock_phase: Duration) -> Option<Instant> {
    let mut atcp = of(&read(aid).unwrap()).build(clock_phase).unwrap();
    let (snd_una, snd_nxt) = (Known::Exact(Seq(1)), Known::Exact(Seq(101)));
    let view = TcpView {
        is_synchronized: true,
        snd_una,
        snd_nxt,
        snd_max: snd_nxt,
        retransmission_deadline: Known::Exact(Some(Instant::from_secs(3))),
        recovery: Known::Exact(RecoveryState::Open),
        ..TcpView::default()
    };
    let segment = TcpSegment {
        source_port: 1024,
        destination_port: 1024,
        seq: Seq(1),
        ack: Seq(1),
        flags: TcpFlags::ACK,
        window: 1000,
        urgent: 0,
        options: Default::default(),
        payload: Payload { len: 100, ..Default::default() },
    };
    atcp.on_down(Instant::ZERO, &segment, &view);
    atcp.next_timeout()
}

#[test]
fn an_aids_clock_has_the_phase_of_its_host_by_default() {
    let phase = Duration::from_millis(120);
    assert_eq!(first_look("\"atcp\"", phase), Some(Instant::from_millis(120)));
    let set = "{ name = \"atcp\", tick_phase = \"70 ms\" }";
    assert_eq!(first_look(set, phase), Some(Instant::from_millis(70)));

    let scenario = read("\"atcp\"").unwrap();
    assert!(!scenario.show().contains("tick_phase"));
    let shown = read(set).unwrap().show();
    assert!(shown.contains("tick_phase = \"70 ms\""));
}

#[test]
fn options_reach_the_aid() {
    // The next tick after the current one.
    let set = "{ name = \"atcp\", tick = \"200 ms\" }";
    assert_eq!(first_look(set, Duration::ZERO), Some(Instant::from_millis(200)));
    assert_eq!(first_look("\"atcp\"", Duration::ZERO), Some(Instant::from_millis(500)));
    let tick = OptionValue::Duration(Duration::from_millis(200));
    assert!(of(&read(set).unwrap()).options().contains(&("tick", tick)));
}
