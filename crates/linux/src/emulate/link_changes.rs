//! Changes of links between two versions of a scenario.

use driftway_base::LinkId;
use driftway_net::LiveChange;
use driftway_scenario::{Link, Network, Scenario};

/// Returns the changes of rates, delays and errors by which the links of one scenario become those of
/// another, which has the same links.
pub fn link_changes(from: &Scenario, to: &Scenario) -> Vec<LiveChange> {
    let both = links(from).into_iter().zip(links(to));
    let links = (0..).map(LinkId::new).zip(both);
    links.flat_map(|(link, (from, to))| changes(link, &from, &to)).collect()
}

fn changes(link: LinkId, from: &Link, to: &Link) -> impl Iterator<Item = LiveChange> + use<> {
    let (old, new) = (from.config(), to.config());
    let rate = (old.rate != new.rate).then_some(LiveChange::Rate { link, rate: new.rate });
    let delay = (old.delay != new.delay).then_some(LiveChange::Delay { link, delay: new.delay });
    let errors =
        (old.errors != new.errors).then_some(LiveChange::Errors { link, errors: new.errors });
    rate.into_iter().chain(delay).chain(errors)
}

/// The links of a scenario, in the order of their numbers.
fn links(scenario: &Scenario) -> Vec<Link> {
    match &scenario.network {
        Network::Path(path) => {
            let hops = (1..=path.hops).map(|hop| path.hop_link(hop));
            let parallel = path
                .parallel
                .iter()
                .flat_map(|route| (0..route.hops).map(move |_| path.parallel_link(route)));
            hops.chain(parallel).collect()
        }
        Network::Adhoc(_) => Vec::new(),
        Network::Mixed(mixed) => mixed.wires.iter().map(|wire| wire.link.clone()).collect(),
    }
}

#[cfg(test)]
mod test {
    use driftway_base::Rate;

    use super::*;

    fn path(sets: &[(&str, &str)]) -> Scenario {
        let text = "name = \"p\"\nduration = \"9 s\"\n[network]\nkind = \"path\"\nhops = 2\n\
                    link = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
                    [[flow]]\nfrom = 0\nto = 2\napplication = \"ftp\"\n";
        let sets: Vec<_> =
            sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::parse("p.toml", text, &sets).unwrap()
    }

    #[test]
    fn each_link_that_differs_is_changed() {
        let (old, new) = (path(&[]), path(&[("network.link.rate", "2 Mbit/s")]));
        assert_eq!(link_changes(&old, &old), []);
        let rate = Rate::from_bps(2_000_000);
        let expected = [0, 1].map(|link| LiveChange::Rate { link: LinkId::new(link), rate });
        assert_eq!(link_changes(&old, &new), expected);
        let lossy = path(&[("network.link.packet_error_rate", "0.1")]);
        assert_eq!(link_changes(&old, &lossy).len(), 2);
    }
}
