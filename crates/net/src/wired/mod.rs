//! Parts of wired networks that do not act on the network: the topology with its routes.

pub mod chain;
pub mod gateways;
pub mod route_table;
pub mod topology;
pub mod wires;
