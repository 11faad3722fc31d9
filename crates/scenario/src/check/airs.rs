//! Validation of several airs in a mixed network.

use driftway_base::{Instant, StationId};
use driftway_radio::Positions;

use super::components::Components;
use crate::error::quoted;
use crate::problem::{CheckResult, require};
use crate::{Adhoc, Mixed, Network, Routing};

/// Returns true if two airs have the same value of a key.
type IsEqual = fn(&Adhoc, &Adhoc) -> bool;

/// The keys that are those of a node, not of one of its radios.
const KEYS_OF_NODES: &[(&str, IsEqual)] = &[
    ("queue", |one, other| one.queue == other.queue),
    ("arp", |one, other| one.arp == other.arp),
    ("routing", |one, other| one.routing == other.routing),
    ("feedback", |one, other| one.feedback == other.feedback),
    ("icmp_rate", |one, other| one.icmp_rate == other.icmp_rate),
    ("route_probe", |one, other| one.route_probe == other.route_probe),
];

pub(super) fn check(mixed: &Mixed, network: &Network) -> CheckResult {
    let [first, others @ ..] = mixed.airs.as_slice() else { return Ok(()) };
    if others.is_empty() {
        return Ok(());
    }
    for (i, air) in mixed.airs.iter().enumerate() {
        let key = format!("network.air.{i}");
        let same = mixed.airs[..i].iter().any(|other| other.name == air.name);
        require(!same, format!("{key}.name"), || {
            format!("two airs are called `{}`\nnames are unique", quoted(&air.name))
        })?;
        for (name, is_equal) in KEYS_OF_NODES {
            require(is_equal(&first.adhoc, &air.adhoc), format!("{key}.{name}"), || {
                format!(
                    "`{name}` differs from that of air `{}`\nit is a key of nodes, which have radios \
                     on several airs",
                    quoted(&first.name)
                )
            })?;
        }
        for (name, is_set) in [
            ("link_signals", air.adhoc.link_signals.is_some()),
            ("link_retry", air.adhoc.link_retry.is_some()),
            ("routing.avoid_fading", avoids_fading(&air.adhoc.routing)),
        ] {
            require(!is_set, format!("{key}.{name}"), || {
                format!("`{name}` in a network with several airs\nit works with one air only")
            })?;
        }
    }
    check_joined(mixed)?;
    check_positions(mixed, network)
}

/// Checks that nodes with several radios join all airs.
fn check_joined(mixed: &Mixed) -> CheckResult {
    let mut joined = Components::of_nodes(mixed);
    for air in &mixed.airs {
        air.radios.windows(2).for_each(|pair| joined.join(pair[0], pair[1]));
    }
    let first = mixed.airs.first().and_then(|air| air.radios.first());
    for (i, air) in mixed.airs.iter().enumerate() {
        let (Some(first), Some(radio)) = (first, air.radios.first()) else { continue };
        require(
            joined.root(*first) == joined.root(*radio),
            format!("network.air.{i}.radios"),
            || {
                "no node has a radio on this air and on another one\nrouting over the air needs a node \
             that joins them"
                .into()
            },
        )?;
    }
    Ok(())
}

/// The times at which positions on several airs are compared (s).
const COMPARED_AT: [u64; 8] = [0, 1, 3, 10, 30, 100, 300, 1000];

/// Checks that a node is at the same place on all its airs, whenever they are compared.
fn check_positions(mixed: &Mixed, network: &Network) -> CheckResult {
    let mut places = vec![[None; COMPARED_AT.len()]; mixed.nodes.len()];
    for (i, air) in mixed.airs.iter().enumerate() {
        // What is wrong with it has been refused.
        let Ok(mobility) = air.adhoc.mobility(Mixed::air_seed(1, i)) else { continue };
        let mut positions = Positions::new(mobility, f64::MAX);
        for (time, seconds) in COMPARED_AT.into_iter().enumerate() {
            for (station, node) in (0..).map(StationId::new).zip(&air.radios) {
                let (x, y) = positions.position(station, Instant::from_secs(seconds));
                let place = &mut places[*node as usize][time];
                let (other_x, other_y): (f64, f64) = *place.get_or_insert((x, y));
                let is_same = (x - other_x).abs() < 1e-6 && (y - other_y).abs() < 1e-6;
                require(is_same, format!("network.air.{i}.mobility"), || {
                    format!(
                        "node {} is at ({x} m, {y} m) here after {seconds} s, but at ({other_x} m, \
                         {other_y} m) on another air\na node with several radios is at one place",
                        quoted(&network.node_name(*node))
                    )
                })?;
            }
        }
    }
    Ok(())
}

/// Returns true if routing uses the received power of neighbours.
fn avoids_fading(routing: &Routing) -> bool {
    match routing {
        Routing::Aodv(keys) => keys.config().avoid_fading.is_some(),
        Routing::Dsr(keys) => keys.config().avoid_fading.is_some(),
        Routing::Static(_) | Routing::None(_) | Routing::Registered(_) => false,
    }
}
