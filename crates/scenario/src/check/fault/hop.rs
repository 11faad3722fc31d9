//! The hop of a fault.

use driftway_link::Duplex;

use crate::Network;
use crate::check::numbers::check_hop;
use crate::file_value::Keyword;
use crate::problem::{CheckResult, require};

/// Number of hops: in a mixed network, of wires.
pub(super) fn hop_count(network: &Network) -> u32 {
    match network {
        Network::Path(path) => path.hops,
        Network::Adhoc(_) => 0,
        Network::Mixed(mixed) => mixed.wires.len().try_into().unwrap_or(u32::MAX),
    }
}

/// Checks the number of a hop, `{key}.hop`.
pub(super) fn check(key: &str, found: u32, network: &Network) -> CheckResult {
    let hops = hop_count(network);
    let key = format!("{key}.hop");
    match network {
        Network::Mixed(_) if hops == 0 => require(false, key, || {
            "this network has no wires\nadd a [[network.wire]], or remove the fault".into()
        }),
        Network::Mixed(_) => require((1..=hops).contains(&found), key, || {
            format!("hop {found} out of range 1–{hops}\nhop 1 is the first [[network.wire]]")
        }),
        _ => check_hop(key, found, hops),
    }
}

/// Cross traffic and reordering have an effect only where packets queue for the link.
pub(super) fn require_shared_rate(key: &str, hop: u32, network: &Network) -> CheckResult {
    let duplex = match network {
        Network::Path(path) => Some(path.hop_link(hop).duplex),
        Network::Adhoc(_) => None,
        Network::Mixed(mixed) => mixed.hop_link(hop).map(|link| link.duplex),
    };
    require(duplex != Some(Keyword(Duplex::PerPacket)), format!("{key}.hop"), || {
        format!(
            "packets on hop {hop} do not queue for the link (duplex = \"per-packet\"), so this fault \
             would have no effect\nuse a hop with duplex = \"full\" or \"shared\", or remove the fault"
        )
    })
}
