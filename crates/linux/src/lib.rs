//! Linux: TUN devices, network namespaces, the real clock.
//!
//! Drivers of protocol code without I/O against real kernels. A [`Namespace`] is an isolated
//! network that leaves nothing behind, and with [`Namespace::isolate`] a node with files and
//! processes of its own; a [`Tun`] connects its kernel with driftway's packets;
//! [`ImpairedTun`] adds an [`Impairment`]; [`KernelTcp`] is the kernel's state of a connection,
//! [`SocketMonitor`] that of all connections of a namespace;
//! [`Emulation`] joins namespaces by a network of the simulator; [`ShimDaemon`] runs the shim
//! below a kernel's own TCP, [`Watchdog`] kills it if it hangs, [`NamespaceReaper`] ends processes
//! in namespaces after their owner; [`RealClock`] is the only clock, and
//! [`enable_realtime_scheduling`] keeps a thread on time. [`check_requirements`] checks that this
//! machine allows it.
//!
//! # What is not modelled
//!
//! | item | here |
//! |---|---|
//! | IPv6 | an emulated network carries it over links and static routes; the shim passes it on |
//! | systems other than Linux | not supported |
//! | the wait of a packet before it is read from a device | not measured; an overflow of a device's queue is reported |
//! | exact times | a packet leaves late if the thread is delayed; the lateness is measured ([`LatenessHistogram`]) |
//! | multicast beyond neighbours | not forwarded |
//! | several interfaces of a node | one device for all its links and radios |
//! | the carrier of an attached interface | stays, whatever happens to the links |
//! | routers before an [`Uplink`] in a traceroute beyond it | their errors quote other addresses |
//! | errors about fragments and unknown protocols of IPv4 | routers of an emulated network send none, but for unknown addresses |
//! | the length of errors about IPv6 packets | that of ICMP until they arrive |
//! | several connections over one [`ImpairedTun`] | a [`ConnectionDriver`] has one |
//!
//! The crate `shim` lists the limits of the shim.

#![forbid(unsafe_code)]

mod attachment;
mod clock;
mod connection_driver;
mod diag;
mod emulate;
mod helper_process;
mod isolation;
mod namespace;
mod namespace_reaper;
mod netlink;
mod realtime;
mod requirements;
mod ring;
mod shim_daemon;
mod socket_monitor;
mod tun;
mod uplink;
mod warnings;
mod watchdog;

pub use clock::RealClock;
pub use connection_driver::{
    ConnectionDriver, ImpairedTun, Impairer, Impairment, ImpairmentCounts, UnmatchedPackets,
};
pub use diag::{KernelTcp, KernelTimer, kernel_state, kernel_tcp};
pub use driftway_net::{
    Event as NetworkEvent, FaultPlace, ImpossibleChange, LiveChange, Network as ObservedNetwork,
};
pub use emulate::{
    ChangeOutcome, DepartingPacket, EmulatedNetwork, EmulatedNodes, Emulation, EmulationControl,
    EmulationCounts, EmulationReport, FaultRecord, KernelCounts, LatenessHistogram, LinkStatus,
    NetworkObserver, NetworkStatus, NodeStatus, PathEnd, RunningEmulation, Tolerance,
    UnchangeableLink, end_nodes, ipv6_refusal, link_changes, node_count, not_emulated,
};
pub use helper_process::{current_executable, detach as detach_helper, spawn as spawn_helper};
pub use isolation::{NodeFiles, run_node_init};
pub use namespace::Namespace;
pub use namespace_reaper::{NamespaceReaper, reap_namespaces};
pub use realtime::enable_realtime_scheduling;
pub use requirements::{MissingRequirement, check_requirements};
pub use ring::{ByteRing, OutsideWindow};
pub use shim_daemon::{
    DaemonCounts, DedicatedUser, ShimDaemon, ShimSettings, ShimSnapshot, StatusHandle,
    UnseenCounts, drop_all_privileges, drop_privileges, missing_capability, owning_process,
    raise_priority,
};
pub use socket_monitor::{ConnectionSnapshot, SocketMonitor};
pub use tun::Tun;
pub use uplink::{Uplink, stop_forwarding};
pub use warnings::startup_warnings;
pub use watchdog::{Heartbeat, Watchdog, run_watchdog};
