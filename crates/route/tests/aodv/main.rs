//! AODV in small networks: exact time lines, and properties of any network.

mod gateway;
mod losses;
mod net;
mod ns2;
mod numbers;
mod properties;
mod standard;
