//! Validation of paths.

use super::link;
use super::numbers::{check_hop, check_path_node};
use crate::Path;
use crate::problem::{CheckResult, require};
use crate::rules::Table;

pub(super) fn check(path: &Path) -> CheckResult {
    link::check_link("network.link", &path.link)?;
    for (i, change) in path.overrides.iter().enumerate() {
        let key = format!("network.override.{i}");
        check_hop(format!("{key}.hop"), change.hop, path.hops)?;
        change.link.check_ranges(&key)?;
        link::check_override(&key, &change.link)?;
        link::check_together(&key, &path.hop_link(change.hop))?;
    }
    for (i, route) in path.parallel.iter().enumerate() {
        let key = format!("network.parallel.{i}");
        check_path_node(format!("{key}.from"), route.from, path.hops)?;
        check_path_node(format!("{key}.to"), route.to, path.hops)?;
        require(route.from < route.to, format!("{key}.to"), || {
            format!(
                "this route goes from node {} to node {}\n`from` comes before `to`",
                route.from, route.to
            )
        })?;
        route.check_ranges(&key)?;
        route.link.check_ranges(&key)?;
        link::check_override(&key, &route.link)?;
        link::check_together(&key, &path.parallel_link(route))?;
    }
    Ok(())
}
