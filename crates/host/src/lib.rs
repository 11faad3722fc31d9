//! Linux: TUN devices, network namespaces, the real clock.
//!
//! Drivers of protocol code without I/O against real kernels. A [`Namespace`] is an isolated
//! network that leaves nothing behind; a [`Tun`] connects its kernel with driftway's packets;
//! [`ImpairedTun`] adds an [`Impairment`]; [`KernelTcp`] is the kernel's state of a connection;
//! [`Emulation`] joins two namespaces by a path of the simulator; [`ShimDaemon`] runs the shim
//! below a kernel's own TCP, [`Watchdog`] kills it if it hangs, [`NamespaceReaper`] ends processes
//! in namespaces after their owner; [`RealClock`] is the only clock, and
//! [`enable_realtime_scheduling`] keeps a thread on time. [`check_requirements`] checks that this
//! machine allows it.
//!
//! Only IPv4, and only Linux.

#![forbid(unsafe_code)]

mod available;
mod cable;
mod clock;
mod companion;
mod diag;
mod doubts;
mod driver;
mod emulate;
mod field;
mod guardian;
mod impair;
mod namespace;
mod netlink;
mod ring;
mod tun;
mod urgent;
mod watchdog;

pub use available::{Missing, available};
pub use cable::Cable;
pub use clock::RealClock;
pub use companion::this_program;
pub use diag::{KernelTcp, KernelTimer, kernel_state, kernel_tcp};
pub use doubts::doubts;
pub use driver::{Driver, Strangers};
pub use emulate::{Account, Carried, Emulation, End, Lateness, Medium, Report, Running};
pub use field::{
    Account as FieldAccount, Asker, Field, OwnUser, Settings, Snapshot, Unseen, come_first,
    keep_what_is_needed, lacks, owner,
};
pub use guardian::{Guardian, guard};
pub use impair::{Counts, Impairer, Impairment};
pub use namespace::Namespace;
pub use ring::{ByteRing, OutsideRing};
pub use tun::Tun;
pub use urgent::urgent;
pub use watchdog::{Heart, Watchdog, watch};
