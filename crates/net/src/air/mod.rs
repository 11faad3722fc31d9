//! Parts of nodes with radios that do not act on the network: the MAC layer of an air, the route probes of a
//! node, and the order of segments in its queue.

pub mod channel;
pub mod counters;
pub mod link_monitor;
pub mod mac_layer;
pub mod medium;
pub mod radio;
pub mod route_prober;
pub mod segment_order;
