//! Changes of links between two versions of a scenario.

use driftway_base::LinkId;
use driftway_link::{Capacity, DelayProcess};
use driftway_net::LiveChange;
use driftway_scenario::{Link, Network, Scenario};

/// Returns the changes of rates, delays and errors by which the links of one scenario become those of another, which has
/// the same links.
///
/// # Errors
/// For a link with a change that cannot be made while the network runs: of one direction alone, of measured capacity, or
/// of delays that are correlated or in steps.
pub fn link_changes(from: &Scenario, to: &Scenario) -> Result<Vec<LiveChange>, UnchangeableLink> {
    let both = links(from).into_iter().zip(links(to));
    let links = (0..).map(LinkId::new).zip(both);
    let changes: Result<Vec<_>, _> =
        links.map(|(link, (from, to))| changes(link, &from, &to)).collect();
    Ok(changes?.into_iter().flatten().collect())
}

/// A link with a change that cannot be made while the network runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnchangeableLink(pub LinkId);

fn changes(link: LinkId, from: &Link, to: &Link) -> Result<Vec<LiveChange>, UnchangeableLink> {
    let unchangeable = UnchangeableLink(link);
    let (old, new) = (from.config(), to.config());
    if old == new {
        return Ok(Vec::new());
    }
    let (old, new, back) = (old.forward, new.forward, new.backward);
    let is_one_sided =
        (&new.capacity, &new.delay, new.errors) != (&back.capacity, &back.delay, back.errors);
    if is_one_sided {
        return Err(unchangeable);
    }
    let mut changes = Vec::new();
    match (&old.capacity, new.capacity) {
        (old, new) if *old == new => {}
        (Capacity::Rate(_), Capacity::Rate(rate)) => changes.push(LiveChange::Rate { link, rate }),
        _ => return Err(unchangeable),
    }
    match (&old.delay, new.delay) {
        (old, new) if *old == new => {}
        (DelayProcess::Independent(_), DelayProcess::Independent(delay)) => {
            changes.push(LiveChange::Delay { link, delay });
        }
        _ => return Err(unchangeable),
    }
    if old.errors != new.errors {
        changes.push(LiveChange::Errors { link, errors: new.errors });
    }
    Ok(changes)
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
        assert_eq!(link_changes(&old, &old), Ok(vec![]));
        let rate = Rate::from_bps(2_000_000);
        let expected = [0, 1].map(|link| LiveChange::Rate { link: LinkId::new(link), rate });
        assert_eq!(link_changes(&old, &new), Ok(expected.to_vec()));
        let lossy = path(&[("network.link.packet_error_rate", "0.1")]);
        assert_eq!(link_changes(&old, &lossy).unwrap().len(), 2);
        let one_sided = path(&[("network.link.reverse", "{ rate = \"2 Mbit/s\" }")]);
        assert_eq!(link_changes(&old, &one_sided), Err(UnchangeableLink(LinkId::new(0))));
    }
}
