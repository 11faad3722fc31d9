//! The tables `[[flow]]`: traffic flows and their transports.

use serde::{Deserialize, Serialize, Serializer};

use crate::keys::keys;
use crate::{Aid, Application, Tcp, Time};

keys! {
    /// A flow, `[[flow]]`.
    pub struct Flow expecting "a table with the keys of a flow" {
        /// Name, in results and for a study's measures; several flows may have the same.
        name: Option<String> => "none",
        /// Sending node: its number, or its name in a mixed network or in a movement file.
        #[schemars(with = "crate::node_reference::NodeReference")]
        from: u32,
        /// Receiving node: its number, or its name in a mixed network or in a movement file.
        #[schemars(with = "crate::node_reference::NodeReference")]
        to: u32,
        /// Number of identical flows, each with its own connection; when the scenario is loaded
        /// they are expanded.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        #[schemars(extend("default" = 1))]
        copies: u32 [range("the number of copies", 1..=MAX_FLOWS)],
        /// Start time of the application.
        start: Time = default,
        /// Application: `{ transfer = "1 MB" }`, `"ftp"`,
        /// `{ cbr = { every = "0.25 s", size = "512 B" } }`, `{ poisson = { … } }`,
        /// `{ on-off = { … } }` or `{ request-response = { … } }`.
        application: Application,
        /// Application of the receiving node on the same TCP connection, which starts when the
        /// connection is established there: a transfer or `"ftp"`. Both ends then send data, with
        /// piggybacked acknowledgments, and the flow ends when both directions are complete. The
        /// flow's results are those of `flow.application`, its sender and its aid; the results of
        /// this direction have the prefix `back_`. TCP only; not available in
        /// `driftway paper --kernel`, and without effect in `driftway emulate`, where programs send
        /// what they like.
        back: Option<Application> => "none",
        /// Transport protocol: `"tcp"` or `"udp"`.
        transport: Transport = default,
        /// TCP configuration of both ends.
        #[schemars(with = "Option<crate::schema::TcpOrPreset>")]
        tcp: Option<Tcp> => "the defaults of all keys",
        /// Aid to the sender's TCP.
        aid: Aid = default,
        /// Aid to the receiver's TCP.
        receiver_aid: Option<Aid> =>
            "with `flow.back` the aid of the sender (liu-singh-2001 §III-A has the layer at both \
             ends), else `\"none\"`",
        /// Times, in ascending order, at which the sender's host is notified that the destination
        /// is unreachable, as if by an ICMP message of a router (westin-2003 §4.8). A time at which
        /// no data is outstanding is skipped. TCP and simulation only.
        unreachable_at: Vec<Time> => "none",
        /// Time until which every link failure at the sender's own node, with a packet to the
        /// flow's destination, notifies the sender's host that the destination is unreachable. It
        /// yields the same times as the iteration of westin-2003 §4.8 (run, add the first failure
        /// to `flow.unreachable_at`, run again), because a notification changes nothing before it.
        /// Senders with a radio, TCP and simulation only.
        unreachable_until: Option<Time> => "none",
        /// Index of the `[[traffic]]` that it is of; `None`: it is a flow of the file.
        #[serde(skip)]
        traffic: Option<usize>,
    }
}

/// Writes the flows that the file lists, but not those of `[[traffic]]`.
pub(crate) fn serialize_listed<S: Serializer>(flows: &[Flow], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(flows.iter().filter(|flow| flow.traffic.is_none()))
}

/// Returns whether the file lists no flow.
pub(crate) fn are_none_listed(flows: &[Flow]) -> bool {
    flows.iter().all(|flow| flow.traffic.is_some())
}

/// Each flow has its own port, from 1024 on.
pub(crate) const MAX_FLOWS: u64 = 60_000;

fn one() -> u32 {
    1
}

fn is_one(copies: &u32) -> bool {
    *copies == 1
}

/// Transport protocol of a flow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP (RFC 9293).
    #[default]
    Tcp,
    /// UDP (RFC 768).
    Udp,
}
