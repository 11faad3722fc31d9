//! The tables `[[flow]]`: traffic flows and their transports.

use driftway_base::Duration;
use serde::{Deserialize, Serialize};

use crate::{Aid, Size, Tcp, Time};

/// A flow, `[[flow]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a flow")]
pub struct Flow {
    /// Sending node: its number, or its name in a mixed network.
    #[schemars(with = "crate::schema::NodeReference")]
    pub from: u32,
    /// Receiving node: its number, or its name in a mixed network.
    #[schemars(with = "crate::schema::NodeReference")]
    pub to: u32,
    /// Number of identical flows, each with its own connection; when the scenario is loaded they
    /// are expanded. 1 to 60000. Default 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub copies: u32,
    /// Start time of the application. Default 0 s.
    #[serde(default)]
    pub start: Time,
    /// Application: `{ transfer = "1 MB" }`, `"ftp"` or
    /// `{ cbr = { every = "0.25 s", size = "512 B" } }`.
    pub application: Application,
    /// Application of the receiving node on the same TCP connection, which starts when the
    /// connection is established there: a transfer or `"ftp"`. Both ends then send data, with
    /// piggybacked acknowledgments, and the flow ends when both directions are complete. The flow's
    /// results are those of `flow.application`, its sender and its aid; the results of this
    /// direction have the prefix `back_`. TCP only; not available in `driftway paper --kernel`, and
    /// without effect in `driftway emulate`, where programs send what they like. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Application>,
    /// Transport protocol: `"tcp"` or `"udp"`. Default `"tcp"`.
    #[serde(default)]
    pub transport: Transport,
    /// TCP configuration of both ends. Default: the defaults of all keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::schema::TcpOrPreset>")]
    pub tcp: Option<Tcp>,
    /// Aid to the sender's TCP. Default `"none"`.
    #[serde(default)]
    pub aid: Aid,
    /// Aid to the receiver's TCP. Default: with `flow.back` the aid of the sender (liu-singh-2001
    /// §III-A has the layer at both ends), else `"none"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_aid: Option<Aid>,
    /// Times, in ascending order, at which the sender's host is notified that the destination is
    /// unreachable, as if by an ICMP message of a router (westin-2003 §4.8). A time at which no
    /// data is outstanding is skipped. TCP and simulation only. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable_at: Vec<Time>,
    /// Time until which every link failure at the sender's own node, with a packet to the flow's
    /// destination, notifies the sender's host that the destination is unreachable. It yields the
    /// same times as the iteration of westin-2003 §4.8 (run, add the first failure to
    /// `flow.unreachable_at`, run again), because a notification changes nothing before it. Senders
    /// with a radio, TCP and simulation only. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable_until: Option<Time>,
}

fn one() -> u32 {
    1
}

fn is_one(copies: &u32) -> bool {
    *copies == 1
}

/// Traffic pattern of an application.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "{ transfer = \"1 MB\" }, \"ftp\" or { cbr = { every = \"0.25 s\", size = \"512 B\" } }"
)]
pub enum Application {
    /// `{ transfer = "1 MB" }`: a transfer of this size.
    Transfer(Size),
    /// `"ftp"`: unlimited data until the end of the run.
    Ftp,
    /// `{ cbr = { … } }`: packets of constant size at a constant mean rate.
    Cbr(Cbr),
}

/// Constant bit rate, `{ every = "0.25 s", size = "512 B" }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `every`, `size` and `jitter`")]
pub struct Cbr {
    /// Interval between two packets.
    pub every: Time,
    /// Payload of each packet. 1 B to 65507 B.
    pub size: Size,
    /// Jitter of the intervals as a fraction of `flow.application.cbr.every`, from 0 to below 1:
    /// with 0.5 each interval is uniform between 0.5 and 1.5 times that (ns-2's `random_ 1`).
    /// Default 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: f64,
}

impl Cbr {
    /// Minimum and maximum interval between two packets.
    pub fn bounds(&self) -> (Duration, Duration) {
        let Time(every) = self.every;
        let reach = Duration::from_nanos((every.as_nanos() as f64 * self.jitter) as u64);
        (every.saturating_sub(reach), every + reach)
    }
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
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
