//! Warnings about senders whose queue is shorter than TCP's window, under an aid that takes the
//! overflow for bit errors.

use driftway_scenario::{Flow, Network, Scenario};

/// Aids that restore the window after a loss without congestion, and take a drop for one
/// (`papers/liu-singh-2001`, reading `queue-50`).
const AIDS: [&str; 2] = ["atcp", "atcp-partial"];

/// A warning for each such flow.
pub fn notes(scenario: &Scenario) -> Vec<String> {
    scenario.flows.iter().filter_map(|flow| note(scenario, flow)).collect()
}

fn note(scenario: &Scenario, flow: &Flow) -> Option<String> {
    let aid = flow.aid.name().filter(|name| AIDS.contains(name))?;
    let tcp = flow.tcp.as_ref()?;
    let window = tcp.window_bytes() / tcp.mss.0.max(1);
    let queue = queue_packets(&scenario.network, flow)?;
    (window > u64::from(queue)).then(|| {
        format!(
            "{} → {}: the window of {window} segments is longer than the sender's queue of {queue} \
             packets, and {aid} takes its overflow for bit errors",
            scenario.node_name(flow.from),
            scenario.node_name(flow.to),
        )
    })
}

/// Limit of the queue in which the flow's packets wait at the sender; `None` if it has no wire and
/// the network has no common queue.
fn queue_packets(network: &Network, flow: &Flow) -> Option<u32> {
    match network {
        Network::Path(path) => Some(path.link.queue.packets),
        Network::Adhoc(adhoc) => Some(adhoc.queue.packets),
        Network::Mixed(mixed) => {
            let mut wires = mixed.wires.iter();
            let own = wires.find(|wire| wire.between.contains(&flow.from))?;
            Some(own.link.queue.packets)
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn found(set: &[(&str, &str)]) -> Vec<String> {
        let file =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/liu-singh-2001/figure-8.toml");
        let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        notes(&Scenario::load(std::path::Path::new(file), &set).unwrap())
    }

    #[test]
    fn a_queue_shorter_than_the_window_is_reported_under_atcp() {
        let short = ("network.link.queue.packets", "50");
        assert_eq!(found(&[("flow.0.aid", "atcp")]), [""; 0], "a queue of 300 packets");
        assert_eq!(found(&[short]), [""; 0], "no aid");
        assert_eq!(found(&[("flow.0.aid", "tcp-f"), short]), [""; 0]);
        let note = "0 → 4: the window of 160 segments is longer than the sender's queue of 50 \
                    packets, and atcp takes its overflow for bit errors";
        assert_eq!(found(&[("flow.0.aid", "atcp"), short]), [note]);
        let enough = [("flow.0.aid", "atcp"), short, ("flow.0.tcp.window", "4 kB")];
        assert_eq!(found(&enough), [""; 0]);
    }
}
