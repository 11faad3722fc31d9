//! A gateway between a client and a server, with driftway's TCP at both ends.

mod closing;
mod icmp;
mod opening;
mod properties;
mod relay;
mod rig;
