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
