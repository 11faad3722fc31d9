//! Linux: TUN devices, network namespaces, the real clock.
//!
//! What drives protocol code without I/O against real kernels. A [`Namespace`] is a network of its
//! own that leaves nothing behind; a [`Tun`] in it is the cable between its kernel and our packets;
//! [`Cable`] is that with what an [`Impairment`] does to packets; [`KernelTcp`] is what the kernel
//! says of a connection; [`Emulation`] is two namespaces with a path of the lab between them;
//! [`Field`] is the shim below a kernel's own TCP, [`Watchdog`] ends it if it hangs, [`Guardian`] clears
//! up namespaces after their owner; [`RealClock`] is the only clock, and [`urgent`]
//! makes a thread keep to it. [`available`] says whether this machine allows it.
//!
//! Only IPv4, and only Linux.

#![forbid(unsafe_code)]

mod requirements;
mod impaired_tun;
mod clock;
mod helper_process;
mod diag;
mod warnings;
mod connection_driver;
mod emulate;
mod shim_daemon;
mod namespace_reaper;
mod impair;
mod namespace;
mod netlink;
mod ring;
mod tun;
mod realtime;
mod watchdog;

pub use requirements::{MissingRequirement, check_requirements};
pub use impaired_tun::ImpairedTun;
pub use clock::RealClock;
pub use helper_process::current_executable;
pub use diag::{KernelTcp, KernelTimer, kernel_state, kernel_tcp};
pub use warnings::startup_warnings;
pub use connection_driver::{ConnectionDriver, UnmatchedPackets};
pub use emulate::{EmulationCounts, DirectionCounts, Emulation, PathEnd, LatenessHistogram, EmulatedPath, EmulationReport, RunningEmulation};
pub use shim_daemon::{
    DaemonCounts as FieldAccount, StatusHandle, ShimDaemon, DedicatedUser, ShimSettings, ShimSnapshot, UnseenCounts, raise_priority,
    drop_privileges, missing_capability, owning_process,
};
pub use namespace_reaper::{NamespaceReaper, reap_namespaces};
pub use impair::{ImpairmentCounts, Impairer, Impairment};
pub use namespace::Namespace;
pub use ring::{ByteRing, OutsideWindow};
pub use tun::Tun;
pub use realtime::enable_realtime_scheduling;
pub use watchdog::{Heartbeat, Watchdog, run_watchdog};
