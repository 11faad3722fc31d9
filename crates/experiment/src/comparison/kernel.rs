//! The arms of a comparison that a kernel's own TCP has: as it is, with a limit on its retransmission timeout, and with
//! the shim below it.

use driftway_scenario::{Application, Flow, Network, Scenario, Time};

use super::arms::{NO_AID, arms};
use super::cells::cell_of;
use super::document::CompareCell;
use super::holm::holm;
use super::network::ComparedNetwork;
use super::runs::RunSample;

/// The limit on the retransmission timeout (ms), the least that Linux takes.
pub const RTO_MAX_MS: u32 = 1000;

/// Largest rate of the narrowest link of a network of the list that is run with the kernel (bit/s).
pub const FASTEST_BPS: f64 = 10.5e6;
/// Longest run of such a network (s).
pub const LONGEST_S: f64 = 200.0;

/// A kernel's TCP, and the name by which scenarios know its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTcp {
    /// The preset of scenarios.
    pub preset: &'static str,
    /// The kernel's name of the congestion control.
    pub congestion_control: &'static str,
}

/// The TCPs: of those that are compared the ones that Linux has.
pub const KERNEL_TCPS: [KernelTcp; 2] = [
    KernelTcp { preset: "linux", congestion_control: "cubic" },
    KernelTcp { preset: "linux-bbr", congestion_control: "bbr" },
];

/// An addition to a kernel's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelAid {
    /// Nothing.
    None,
    /// A limit on the retransmission timeout, [`RTO_MAX_MS`], and no limit on the number of timeouts.
    RtoMax,
    /// The shim, with its default aid.
    Shim,
}

impl KernelAid {
    /// All, first without.
    pub const ALL: [Self; 3] = [Self::None, Self::RtoMax, Self::Shim];

    /// Its name in cells.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => NO_AID,
            Self::RtoMax => "tcp-rto-max",
            Self::Shim => "shim",
        }
    }

    /// Its description for readers.
    pub const fn says(self) -> &'static str {
        match self {
            Self::None => "the kernel's TCP as it is",
            Self::RtoMax => "the kernel's TCP with a retransmission timeout of at most 1 s",
            Self::Shim => "the kernel's TCP as it is, over driftway shim at the sender",
        }
    }
}

/// A kernel's TCP with what is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelArm {
    /// The TCP.
    pub tcp: KernelTcp,
    /// The addition.
    pub aid: KernelAid,
}

impl KernelArm {
    /// Its name: `linux/shim`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.tcp.preset, self.aid.name())
    }
}

/// All arms: of each TCP first the one without anything.
pub fn kernel_arms() -> Vec<KernelArm> {
    let of_tcp = |tcp| KernelAid::ALL.map(move |aid| KernelArm { tcp, aid });
    KERNEL_TCPS.into_iter().flat_map(of_tcp).collect()
}

/// The scenario of a network with Linux's TCP without an aid, which the kernel takes the place of.
pub fn kernel_scenario(network: &ComparedNetwork) -> &Scenario {
    let arms = arms();
    let preset = KERNEL_TCPS[0].preset;
    let plain = arms.iter().position(|arm| arm.tcp.name == preset && arm.aid.is_none());
    &network.jobs[plain.unwrap_or(0)].scenario
}

/// Returns why a network cannot be run with the kernel; `None`: it can.
pub fn not_emulated(network: &ComparedNetwork) -> Option<String> {
    let scenario = kernel_scenario(network);
    let no = |what: &str| Some(what.to_owned());
    if !matches!(scenario.network, Network::Path(_)) {
        return no(
            "it has radios or several ways, and kernels are compared over the links of a path",
        );
    }
    let own = scenario.flows.get(network.flow)?;
    let is_bulk = |flow: &Flow| {
        matches!(flow.application, Application::Transfer(_) | Application::Ftp)
            && flow.tcp.is_some()
    };
    match scenario.flows.iter().find(|flow| !is_bulk(flow) || flow.back.is_some()) {
        Some(_) => no("a flow is no bulk transfer of TCP in one direction"),
        None if scenario.flows.iter().any(|of| (of.from, of.to) != (own.from, own.to)) => {
            no("its flows have different ends")
        }
        None => None,
    }
}

/// Returns whether a network of the list is among those that are run with the kernel: it can be, the narrowest link on the
/// way of the compared flow has at most [`FASTEST_BPS`] in the mean, and a run takes at most [`LONGEST_S`].
pub fn is_in_kernel_part(network: &ComparedNetwork) -> bool {
    let scenario = kernel_scenario(network);
    let (Network::Path(path), Time(duration)) = (&scenario.network, scenario.duration) else {
        return false;
    };
    let is_forward = scenario.flows.get(network.flow).is_some_and(|flow| flow.from < flow.to);
    let rate = |hop: u32| {
        let link = path.hop_link(hop);
        let link = if is_forward { link } else { link.reversed() };
        link.mean_rate().as_bps() as f64
    };
    let narrowest = (1..=path.hops).map(rate).fold(f64::INFINITY, f64::min);
    not_emulated(network).is_none()
        && narrowest <= FASTEST_BPS
        && duration.as_secs_f64() <= LONGEST_S
}

/// The runs of an arm over a network, one for each seed; `None` where none counts, because its packets were late or
/// there was no time for it.
pub type KernelRuns = Vec<Option<RunSample>>;

/// The cells of all networks, with probabilities adjusted for all of them. `runs` has for each network those of each of
/// [`kernel_arms`]. An arm without runs has no cell.
pub fn kernel_cells(networks: &[&ComparedNetwork], runs: &[Vec<KernelRuns>]) -> Vec<CompareCell> {
    let (mut cells, mut probabilities) = (Vec::new(), Vec::new());
    let per_tcp = KernelAid::ALL.len();
    for (network, of_network) in networks.iter().zip(runs) {
        for (arms, runs) in kernel_arms().chunks(per_tcp).zip(of_network.chunks(per_tcp)) {
            for (arm, own) in arms.iter().zip(runs) {
                if own.iter().all(Option::is_none) {
                    continue;
                }
                let is_plain = arm.aid == KernelAid::None;
                let (cell, p) = cell_of(network, own, &runs[0], is_plain);
                cells.push(CompareCell {
                    tcp: arm.tcp.preset.to_owned(),
                    aid: arm.aid.name().to_owned(),
                    kernel: true,
                    ..cell
                });
                probabilities.push(p);
            }
        }
    }
    for (cell, p) in cells.iter_mut().zip(holm(&probabilities)) {
        cell.p_holm = p;
    }
    cells
}

#[cfg(test)]
mod test {
    use super::super::networks::{ListPart, listed_networks};
    use super::*;

    fn listed(name: &str) -> ComparedNetwork {
        listed_networks(ListPart::Named(&[name.to_owned()])).unwrap().networks.remove(0)
    }

    #[test]
    fn paths_with_bulk_transfers_are_emulated() {
        for name in ["simple-silent", "simple-beside", "drive-down", "train"] {
            assert_eq!(not_emulated(&listed(name)), None, "{name}");
        }
        for name in ["adhoc-dsr", "handoff-up"] {
            assert!(not_emulated(&listed(name)).unwrap().contains("links of a path"), "{name}");
        }
        let network = listed("simple-silent");
        assert!(kernel_scenario(&network).flows[0].aid.name().is_none());
    }

    #[test]
    fn a_cell_is_paired_with_the_same_tcp_as_it_is() {
        let networks = [listed("simple-silent")];
        let run = |throughput_bps: f64| {
            Some(RunSample {
                throughput_bps,
                completion_s: None,
                available_s: 9.0,
                neighbours_bps: None,
                neighbour_share: None,
            })
        };
        let plain = vec![run(10.0), run(11.0), run(9.0)];
        // The second was late.
        let shim = vec![run(20.0), None, run(19.0)];
        let of_tcp = [plain, vec![None; 3], shim];
        let runs = [[of_tcp.clone(), of_tcp].concat()];
        let cells = kernel_cells(&[&networks[0]], &runs);
        let names: Vec<_> = cells.iter().map(|of| (of.tcp.as_str(), of.aid.as_str())).collect();
        assert_eq!(
            names,
            [("linux", "none"), ("linux", "shim"), ("linux-bbr", "none"), ("linux-bbr", "shim")]
        );
        assert!(cells.iter().all(|of| of.kernel && of.reading.is_none()));
        assert_eq!((cells[0].relative, cells[0].p_holm, cells[0].n), (Some(1.0), None, 3));
        assert_eq!((cells[1].relative, cells[1].n), (Some(39.0 / 19.0), 2));
        assert!(cells[1].p_holm.is_some() && cells[1].ci90.is_some());
        assert_eq!((cells[1].completed, cells[1].neighbour_share), (None, None));
    }
}
