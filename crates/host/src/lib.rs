//! Linux: TUN devices, network namespaces, the real clock.
//!
//! What drives protocol code without I/O against real kernels. A [`Namespace`] is a network of its
//! own that leaves nothing behind; a [`Tun`] in it is the cable between its kernel and our packets;
//! [`Cable`] is that with what an
//! [`Impairment`] does to packets; [`KernelTcp`] is what the kernel says of a
//! connection; [`RealClock`] is the only clock. [`available`] says whether this machine allows it.
//!
//! Only IPv4, and only Linux.

#![forbid(unsafe_code)]

mod available;
mod cable;
mod clock;
mod diag;
mod driver;
mod impair;
mod namespace;
mod netlink;
mod ring;
mod tun;

pub use available::{Missing, available};
pub use cable::Cable;
pub use clock::RealClock;
pub use diag::{KernelTcp, KernelTimer, kernel_state, kernel_tcp};
pub use driver::{Driver, Strangers};
pub use impair::{Counts, Impairer, Impairment};
pub use namespace::Namespace;
pub use ring::{ByteRing, OutsideRing};
pub use tun::Tun;
