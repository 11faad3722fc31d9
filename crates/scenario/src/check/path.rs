//! Validation of paths.

use super::link;
use super::numbers::{check_hop, check_path_node};
use crate::Path;
use crate::problem::{CheckResult, require, require_positive, require_range};

pub(super) fn check(path: &Path) -> CheckResult {
    require_range("network.hops".into(), "the number of hops", path.hops.into(), 1, 64)?;
    if let Some(routers) = path.routers {
        require_positive("network.routers.rfn_lifetime".into(), routers.rfn_lifetime)?;
        if let Some(buffer) = routers.buffer {
            let key = "network.routers.buffer.packets".into();
            require_range(key, "the number of packets", buffer.packets.into(), 1, 1_000_000)?;
        }
    }
    link::check_link("network.link", &path.link)?;
    for (i, change) in path.overrides.iter().enumerate() {
        let key = format!("network.override.{i}");
        check_hop(format!("{key}.hop"), change.hop, path.hops)?;
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
        require_range(format!("{key}.hops"), "the number of hops", route.hops.into(), 1, 64)?;
        link::check_override(&key, &route.link)?;
        link::check_together(&key, &path.parallel_link(route))?;
    }
    Ok(())
}
