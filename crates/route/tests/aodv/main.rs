//! AODV in small networks: exact time lines, and what holds in any network.

mod losses;
mod net;
mod ns2;
mod numbers;
mod properties;
mod standard;
