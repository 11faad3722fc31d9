//! The table `[network.gateway]` of a mixed network: what its gateway does with TCP connections.

use crate::keys::keys;
use crate::{Aid, Size, Tcp};

keys! {
    /// Gateway of a mixed network, `[network.gateway]`: the node between air and wires, if it does more
    /// than forward.
    pub struct Gateway expecting "a table with the keys of a gateway" {
        /// The gateway: a node with a radio and a wire.
        #[schemars(with = "crate::node_reference::NodeReference")]
        node: u32,
        /// The gateway splits every TCP connection that passes it between the air and the wires
        /// into two conjugated ones, a wireless and a wired leg, each with its own loss recovery,
        /// congestion window and ECN (liu-singh-2001 §III-A, for wires that do not implement ECN;
        /// similar to I-TCP). It ends each leg in the name of the far end, answers a SYN once the
        /// other leg is established, and passes on data, FINs and resets. Acknowledgments are then
        /// no longer end to end: one shows that the gateway has the data, not that the receiver has
        /// them, and what the gateway has acknowledged is lost if the other leg fails. Connections
        /// of the gateway's own host are not split. Only in a network with one gateway; not
        /// available in `driftway emulate`.
        split: bool = default,
        /// Room for the data of one direction of a split connection that the receiving end has not
        /// acknowledged. When it is full the gateway stops reading, and the sender is stopped by
        /// its window. At least one segment.
        #[serde(default = "default_buffer")]
        buffer: Size [range("a buffer in bytes of", 1..=1 << 30)],
        /// The gateway's end of wireless legs: `{ tcp = …, aid = … }`.
        #[schemars(extend("x-default" = "the defaults of both keys"))]
        wireless: GatewayLeg = default,
        /// The gateway's end of wired legs: `{ tcp = …, aid = … }`.
        #[schemars(extend("x-default" = "the defaults of both keys"))]
        wired: GatewayLeg = default,
    }
}

keys! {
    /// The gateway's end of a leg of split connections, `{ tcp = { … }, aid = "atcp" }`.
    #[derive(Default)]
    pub struct GatewayLeg expecting "a table with the keys `tcp` and `aid`" {
        /// TCP configuration, as in `flow.tcp`.
        #[schemars(with = "Option<crate::schema::TcpOrPreset>")]
        tcp: Option<Tcp> => "that of the flow",
        /// Aid, as in `flow.aid`, whose flow is the leg. Reports of lost packets (`routing.elfn`,
        /// `routing.epln`) do not reach it, because routing sends them to nodes on the air only.
        aid: Aid = default,
    }
}

fn default_buffer() -> Size {
    Size(64_000)
}

impl Gateway {
    /// Its legs, with their keys.
    pub(crate) fn legs(&self) -> [(&'static str, &GatewayLeg); 2] {
        [("wireless", &self.wireless), ("wired", &self.wired)]
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        for leg in [&mut self.wireless, &mut self.wired] {
            if let Some(tcp) = &mut leg.tcp {
                tcp.resolve();
            }
        }
    }
}
