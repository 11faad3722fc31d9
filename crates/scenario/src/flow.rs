//! `[[flow]]`: who sends what to whom, and over which transport.

use driftway_base::Duration;
use serde::{Deserialize, Serialize};

use crate::{Aid, Size, Tcp, Time};

/// `[[flow]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a flow")]
pub struct Flow {
    /// The node that sends.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// How many alike there are, each with a connection of its own; once the scenario is read,
    /// each stands for itself. Default 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub copies: u32,
    /// When the application starts. Default 0 s.
    #[serde(default)]
    pub start: Time,
    /// What it sends.
    pub application: Application,
    /// What the receiving node's application writes on the same connection, from the moment at which it
    /// is open there: the words of `application`, but for `cbr`. Both ends then send data, and
    /// acknowledge with it; the flow goes on until both directions are complete. Its results are those
    /// of `application`, its sender and its aid; those of this direction begin with `back_`. Only over
    /// TCP. Not for `driftway paper --kernel`; under `driftway emulate` programs send what they like, as
    /// always. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Application>,
    /// What carries it. Default `"tcp"`.
    #[serde(default)]
    pub transport: Transport,
    /// The TCP at both ends; `Some` if `transport = "tcp"`, once the scenario is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::schema::TcpOrPreset>")]
    pub tcp: Option<Tcp>,
    /// What helps the sender's TCP. Default `"none"`.
    #[serde(default)]
    pub aid: Aid,
    /// What helps the receiver's TCP; `Some` once the scenario is read. Default: with `back` what
    /// helps the sender's (`liu-singh-2001` §III-A has a layer at both ends), else `"none"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_aid: Option<Aid>,
    /// When the sender's host gets the signal "destination unreachable", as if a router had sent it by
    /// ICMP (`westin-2003` §4.8): in ascending order. A time at which nothing is outstanding is passed
    /// over. Only over TCP, and only in the lab. Default: never.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable_at: Vec<Time>,
    /// Ad hoc networks only: until this time the sender's host gets that signal at each failure of a
    /// link at its own node, with a packet to the flow's destination. What `westin-2003` §4.8 finds step
    /// by step (run, add the first failure to `unreachable_at`, run again) ends with the same times,
    /// as a signal changes nothing before it. Only over TCP, and only in the lab. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable_until: Option<Time>,
}

fn one() -> u32 {
    1
}

fn is_one(copies: &u32) -> bool {
    *copies == 1
}

/// What an application sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "{ transfer = \"1 MB\" }, \"ftp\" or { cbr = { every = \"0.25 s\", size = \"512 B\" } }"
)]
pub enum Application {
    /// `{ transfer = "1 MB" }`: so many bytes, then it is complete.
    Transfer(Size),
    /// `"ftp"`: as much as goes, until the end of the run.
    Ftp,
    /// `{ cbr = { … } }`: the same amount again and again.
    Cbr(Cbr),
}

/// `{ every = "0.25 s", size = "512 B" }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `every`, `size` and `spread`")]
pub struct Cbr {
    /// From one packet to the next.
    pub every: Time,
    /// Payload of each packet.
    pub size: Size,
    /// How far each gap may be from `every`, as a share of it: 0.5 is any from half to one and a
    /// half times as long (what ns-2 calls `random_ 1`). Default 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spread: f64,
}

impl Cbr {
    /// The shortest and the longest gap between two packets.
    pub fn bounds(&self) -> (Duration, Duration) {
        let Time(every) = self.every;
        let reach = Duration::from_nanos((every.as_nanos() as f64 * self.spread) as u64);
        (every.saturating_sub(reach), every + reach)
    }
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// What carries a flow.
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
