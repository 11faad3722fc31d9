//! Validation of mixed networks.

use super::components::Components;
use super::numbers::check_node;
use super::{adhoc, airs, flow, gateway, link};
use crate::error::quoted;
use crate::node_names::MAX_NODES;
use crate::problem::{CheckResult, Problem, require, require_range};
use crate::rules::Table;
use crate::{Air, Flow, Mixed, Network, Route, Wire};

pub(super) fn check(mixed: &Mixed, network: &Network) -> CheckResult {
    let nodes = mixed.nodes.len() as u64;
    require_range("network.nodes".into(), "the number of nodes", nodes, 2, MAX_NODES as u64)?;
    for (i, wire) in mixed.wires.iter().enumerate() {
        let key = format!("network.wire.{i}");
        let [one, other] = wire.between;
        for (end, node) in [one, other].into_iter().enumerate() {
            check_node(format!("{key}.between.{end}"), node, network)?;
        }
        require(one != other, format!("{key}.between.1"), || {
            format!(
                "this wire joins node {} to itself\nthe nodes of `between` must differ",
                network.node_name(one)
            )
        })?;
        wire.link.check_ranges(&key)?;
        link::check_link(&key, &wire.link)?;
    }
    check_routes(mixed, network)?;
    for (air, key) in mixed.airs.iter().zip(mixed.air_keys()) {
        check_air(air, &key, network)?;
    }
    airs::check(mixed, network)?;
    if let Some(of) = &mixed.gateway {
        gateway::check(mixed, of, network)?;
    }
    let radios = mixed.airs.iter().flat_map(|air| &air.radios);
    let mut reached = vec![false; mixed.nodes.len()];
    for node in mixed.wires.iter().flat_map(|wire| &wire.between).chain(radios) {
        if let Some(reached) = reached.get_mut(*node as usize) {
            *reached = true;
        }
    }
    for (i, (name, reached)) in mixed.nodes.iter().zip(reached).enumerate() {
        require(reached, format!("network.nodes.{i}"), || {
            format!(
                "node {} has neither a wire nor a radio\nadd a [[network.wire]] to it, or add it to \
                 network.air.radios",
                quoted(name)
            )
        })?;
    }
    Ok(())
}

/// Checks the routes over wires, and that each wire is of use.
fn check_routes(mixed: &Mixed, network: &Network) -> CheckResult {
    let name = |node: u32| quoted(&network.node_name(node));
    let shortest = Mixed { routes: Vec::new(), ..mixed.clone() }.wire_routes();
    for (i, Route { at, to, via }) in mixed.routes.iter().copied().enumerate() {
        let key = format!("network.route.{i}");
        check_node(format!("{key}.at"), at, network)?;
        check_node(format!("{key}.to"), to, network)?;
        let wires = mixed.wires.len() as u64;
        require_range(format!("{key}.via"), "the number of a wire", via.into(), 1, wires)?;
        require(mixed.wires[via as usize - 1].between.contains(&at), format!("{key}.via"), || {
            let own = (1..).zip(&mixed.wires).filter(|(_, wire)| wire.between.contains(&at));
            let own: Vec<String> = own.map(|(number, _): (u32, _)| number.to_string()).collect();
            let own = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
            format!("wire {via} does not end at node {}\nwires that do: {own}", name(at))
        })?;
        let leads = shortest.next_wire(at as usize, to as usize).is_some();
        require(leads, format!("{key}.to"), || match at == to {
            true => "a node needs no route to itself".to_owned(),
            false => format!(
                "no wire leads from node {} to node {}\nroutes are those over wires; to nodes on the \
                 air routing finds them",
                name(at),
                name(to)
            ),
        })?;
        let is_same = |other: &&Route| (other.at, other.to) == (at, to);
        require(!mixed.routes[..i].iter().any(|other| is_same(&other)), key, || {
            format!("node {} has two routes to node {}", name(at), name(to))
        })?;
    }
    let routes = mixed.wire_routes();
    for (i, Route { at, to, .. }) in mixed.routes.iter().enumerate() {
        let length = routes.length(*at as usize, *to as usize);
        require(length.is_some(), format!("network.route.{i}.via"), || {
            let next = |node: usize| routes.next_node(node, *to as usize);
            let way = std::iter::successors(Some(*at as usize), |node| next(*node));
            let way: Vec<String> = way.take(4).map(|node| name(node as u32)).collect();
            format!("the routes to node {} go in a circle: {} …", name(*to), way.join(" → "))
        })?;
    }
    for (i, wire) in mixed.wires.iter().enumerate() {
        let [one, other] = wire.between;
        let joins = |wire: &Wire| wire.between == [one, other] || wire.between == [other, one];
        let Some(first) = mixed.wires[..i].iter().position(joins) else { continue };
        let is_used = mixed.routes.iter().any(|route| route.via as usize == i + 1);
        require(is_used, format!("network.wire.{i}.between"), || {
            format!(
                "wire {} joins the same nodes as wire {}, and no route uses it\nadd a \
                 [[network.route]] with via = {}, or remove one of them",
                i + 1,
                first + 1,
                i + 1
            )
        })?;
    }
    Ok(())
}

fn check_air(air: &Air, table: &str, network: &Network) -> CheckResult {
    let key = &format!("{table}.radios");
    for (i, node) in air.radios.iter().enumerate() {
        check_node(format!("{key}.{i}"), *node, network)?;
    }
    let radios = air.radios.len();
    require_range(key.clone(), "the number of radios", radios as u64, 2, MAX_NODES as u64)?;
    if let Some(found) = air.adhoc.mobility_nodes() {
        require(found as usize == radios, key, || {
            format!(
                "{radios} radios, but `mobility` has {found} nodes\n\
                 `radios` lists the nodes in the order of `mobility`"
            )
        })?;
    }
    let checked = air.adhoc.check_ranges("network").and_then(|()| adhoc::check(&air.adhoc));
    checked.map_err(|problem| {
        let Problem { key, message } = problem;
        Problem { key: key.replacen("network", table, 1), message }
    })
}

/// Checks that the ends of each flow are connected, and that its packets fit into the frames of the
/// air where they may use it.
pub(super) fn check_flows(mixed: &Mixed, flows: &[Flow], network: &Network) -> CheckResult {
    let mut wired = Components::of_wires(mixed);
    let mut all = wired.clone();
    for air in &mixed.airs {
        air.radios.windows(2).for_each(|pair| all.join(pair[0], pair[1]));
    }
    let mut near_radio = vec![false; mixed.nodes.len()];
    for radio in mixed.airs.iter().flat_map(|air| &air.radios) {
        near_radio[wired.root(*radio)] = true;
    }
    let routes = mixed.wire_routes();
    for (i, flow) in flows.iter().enumerate() {
        let key = format!("flow.{i}");
        require(all.root(flow.from) == all.root(flow.to), format!("{key}.to"), || {
            format!(
                "no wire and no radio connects node {} with node {}\nadd a [[network.wire]], or both to \
                 network.air.radios",
                network.node_name(flow.from),
                network.node_name(flow.to)
            )
        })?;
        let length = |from: u32, to: u32| routes.length(from as usize, to as usize);
        let most = length(flow.from, flow.to).max(length(flow.to, flow.from)).or_else(|| {
            let radios = || mixed.airs.iter().flat_map(|air| &air.radios);
            let nearest = |end| radios().filter_map(|radio| length(end, *radio)).min();
            nearest(flow.from).max(nearest(flow.to))
        });
        let most = most.unwrap_or(0);
        require(most <= MAX_WIRES, format!("{key}.to"), || {
            format!(
                "a packet from node {} to node {} has to cross {most} wires\npackets have a time to \
                 live of 64, which is enough for {MAX_WIRES} wires",
                network.node_name(flow.from),
                network.node_name(flow.to)
            )
        })?;
        if near_radio[wired.root(flow.from)] {
            for air in &mixed.airs {
                flow::check_frame_size(&key, flow, &air.adhoc)?;
            }
        }
    }
    Ok(())
}

/// Number of wires that a packet with the time to live of hosts can cross, as on a path.
const MAX_WIRES: usize = 64;
