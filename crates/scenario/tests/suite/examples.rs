//! The example scenarios.

use std::path::{Path, PathBuf};

use driftway_aid::options::OptionValue;
use driftway_base::Duration;
use driftway_scenario::{LinkDelay, Network, Scenario, flatten};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

#[test]
fn all_examples_load_and_have_a_header() {
    let files = files();
    assert!(files.len() >= 9, "{files:?}");
    for path in files {
        let scenario = Scenario::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&path).unwrap();
        let head = text.lines().take_while(|line| line.starts_with("# ")).count();
        assert_eq!(head, 2, "{}", path.display());
        assert!(!scenario.flows.is_empty());
    }
}

#[test]
fn output_round_trips() {
    for path in files() {
        let scenario = Scenario::load(&path, &[]).unwrap();
        let shown = scenario.show();
        let again =
            Scenario::parse("shown", &shown, &[]).unwrap_or_else(|e| panic!("{e}\n{shown}"));
        assert_eq!(again, scenario, "{shown}");
        assert_eq!(again.show(), shown);
    }
}

#[test]
fn the_examples_of_figure_8_differ_only_in_name_aid_and_reference() {
    let read = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        flatten(&Scenario::load(folder.join(name), &[]).unwrap())
    };
    let (tcp, atcp) = (read("figure-8-tcp.toml"), read("figure-8-atcp.toml"));
    let only = |a: &[(String, String)], b: &[(String, String)]| -> Vec<String> {
        let own = a.iter().filter(|pair| !b.contains(pair));
        own.map(|(key, _)| key.clone()).filter(|key| !key.starts_with("reference.")).collect()
    };
    assert_eq!(only(&tcp, &atcp), ["name", "flow.0.aid"]);
    let aid = only(&atcp, &tcp);
    assert_eq!(aid[..2], ["name", "flow.0.aid"]);
    assert!(aid[2..].iter().all(|key| key.starts_with("flow.0.aid.")));
    assert!(tcp.contains(&("network.link.delay.mean".into(), "10 ms".into())));
}

#[test]
fn overrides_change_nested_keys() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let set = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let overrides = set(&[
        ("network.link.delay.mean", "50 ms"),
        ("flow.*.tcp.recovery", "sack"),
        ("flow.0.aid.persist_min", "5 s"),
        ("network.link.queue.packets", "7"),
        ("description", "\"quoted\""),
    ]);
    let scenario = Scenario::load(folder.join("figure-8-atcp.toml"), &overrides).unwrap();
    let Network::Path(path) = &scenario.network else { panic!() };
    let Some(LinkDelay::MeanSpread(delay)) = &path.link.delay else { panic!() };
    assert_eq!((delay.mean.to_string().as_str(), delay.spread), ("50 ms", 0.5));
    assert_eq!(path.link.queue.packets, 7);
    assert_eq!(scenario.description.as_deref(), Some("quoted"));
    let flow = &scenario.flows[0];
    assert_eq!(flow.tcp.as_ref().unwrap().recovery.name(), "sack");
    let five = OptionValue::Duration(Duration::from_secs(5));
    assert!(flow.aid.name() == Some("atcp") && flow.aid.options().contains(&("persist_min", five)));
}

#[test]
fn copies_are_expanded_to_flows() {
    let three = [("flow.0.copies".to_owned(), "3".to_owned())];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lossy-path.toml");
    let one = Scenario::load(path, &[]).unwrap();
    let copied = Scenario::load(path, &three).unwrap();
    assert_eq!(copied.flows, vec![one.flows[0].clone(); 3]);
}
