//! `signal = "rfn"`, `[network.routers]` and `standby`: defaults, and that the output parses to the
//! same scenario.

use driftway_scenario::{BufferFlush, Fault, Network, PartitionSignal, Path, Scenario, flatten};

fn scenario(network: &str) -> Scenario {
    let text = format!(
        "name = \"routes\"\nduration = \"9 s\"\n[network]\nkind = \"path\"\nhops = 4\n\
         link = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n{network}\n\
         [[flow]]\nfrom = 0\nto = 4\napplication = \"ftp\"\naid = \"tcp-f\"\n"
    );
    let scenario = Scenario::parse("routes", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(Scenario::parse("shown", &scenario.show(), &[]).as_ref(), Ok(&scenario));
    scenario
}

fn path(scenario: &Scenario) -> &Path {
    let Network::Path(path) = &scenario.network else { panic!() };
    path
}

fn shown(scenario: &Scenario, key: &str) -> Option<String> {
    flatten(scenario).into_iter().find(|(shown, _)| shown == key).map(|(_, value)| value)
}

const RFN: &str = "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"1 s\"\nlasts = \"1 s\"\nsignal = \"rfn\"\n";

#[test]
fn partitions_with_rfn_show_the_routers_defaults() {
    let silent = scenario("");
    assert_eq!(path(&silent).routers, None);
    let notifying = scenario(RFN);
    let [Fault::Partition(cut)] = &path(&notifying).faults[..] else { panic!("{notifying:?}") };
    assert_eq!(cut.signal, PartitionSignal::Rfn);
    let routers = path(&notifying).routers.unwrap();
    assert_eq!((routers.rfn_lifetime.to_string(), routers.buffer), ("20 s".into(), None));
    assert_eq!(shown(&notifying, "network.routers.rfn_lifetime"), Some("20 s".into()));
}

/// A source that retries when its route failure timer expires must find the route usable.
#[test]
fn rfn_lifetime_equals_tcp_fs_timeout() {
    let notifying = scenario(RFN);
    let waits = shown(&notifying, "flow.0.aid.route_failure_timeout");
    assert!(waits.is_some());
    assert_eq!(shown(&notifying, "network.routers.rfn_lifetime"), waits);
}

#[test]
fn buffers_are_flushed_by_any_route_by_default() {
    for (written, flush) in [("", BufferFlush::Route), (", flush = \"rrn\"", BufferFlush::Rrn)] {
        let buffer = format!("routers = {{ buffer = {{ packets = 20{written} }} }}\n{RFN}");
        let buffer = path(&scenario(&buffer)).routers.unwrap().buffer.unwrap();
        assert_eq!((buffer.packets, buffer.flush), (20, flush));
    }
}

#[test]
fn parallel_routes_carry_packets_unless_standby() {
    let route = |more: &str| {
        let text = format!("[[network.parallel]]\nfrom = 1\nto = 3\nhops = 2\n{more}\n");
        path(&scenario(&text)).parallel[0].standby
    };
    assert!(!route("") && !route("standby = false") && route("standby = true"));
    assert!(route("rate = \"2 Mbit/s\"\nstandby = true\norder = \"free\""));
}
