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

mod clock;
mod connection_driver;
mod diag;
mod emulate;
mod helper_process;
mod impair;
mod impaired_tun;
mod namespace;
mod namespace_reaper;
mod netlink;
mod realtime;
mod requirements;
mod ring;
mod shim_daemon;
mod tun;
mod warnings;
mod watchdog;

pub use clock::RealClock;
pub use connection_driver::{ConnectionDriver, UnmatchedPackets};
pub use diag::{KernelTcp, KernelTimer, kernel_state, kernel_tcp};
pub use emulate::{
    DirectionCounts, EmulatedPath, Emulation, EmulationCounts, EmulationReport, LatenessHistogram,
    PathEnd, RunningEmulation,
};
pub use helper_process::current_executable;
pub use impair::{Impairer, Impairment, ImpairmentCounts};
pub use impaired_tun::ImpairedTun;
pub use namespace::Namespace;
pub use namespace_reaper::{NamespaceReaper, reap_namespaces};
pub use realtime::enable_realtime_scheduling;
pub use requirements::{MissingRequirement, check_requirements};
pub use ring::{ByteRing, OutsideWindow};
pub use shim_daemon::{
    DaemonCounts as FieldAccount, DedicatedUser, ShimDaemon, ShimSettings, ShimSnapshot,
    StatusHandle, UnseenCounts, drop_privileges, missing_capability, owning_process,
    raise_priority,
};
pub use tun::Tun;
pub use warnings::startup_warnings;
pub use watchdog::{Heartbeat, Watchdog, run_watchdog};
