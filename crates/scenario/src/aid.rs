//! `aid = …`: what helps a flow's TCP.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Time;
use crate::tagged::{Tagged, read_tagged};

/// `aid = "atcp"`, or `{ name = "atcp", … }` with options.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Aid {
    /// `"none"`: TCP alone.
    #[default]
    None,
    /// `"atcp"`.
    Atcp(Atcp),
}

impl Aid {
    /// As scenarios write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Atcp(_) => "atcp",
        }
    }
}

/// The options of ATCP (`liu-singh-2001`), each a place where the paper leaves something open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table with the options of ATCP")]
pub struct Atcp {
    /// How often its timers are looked at. Default 500 ms.
    pub tick: Time,
    /// When they are looked at first; the others follow at whole ticks from it. Default 0 s.
    pub tick_phase: Time,
    /// The first gap between persist probes. Default 2 s.
    pub persist_min: Time,
    /// The longest gap between persist probes. Default 60 s.
    pub persist_max: Time,
    /// What is sent again in the loss state. Default `"first"`.
    pub resend: Resend,
    /// Where a retransmission goes in the sender's own queue. Default `"ahead"`.
    pub retransmission: Retransmission,
    /// What ends the loss state. Default `"ack"`.
    pub leave_loss: LeaveLoss,
    /// Whether ATCP's own retransmission timer doubles. Default true.
    pub backoff: bool,
    /// What ends the congested state. Default `"segment"`.
    pub congested_until: CongestedUntil,
}

impl Default for Atcp {
    fn default() -> Self {
        Self {
            tick: Time::from_millis(500),
            tick_phase: Time::default(),
            persist_min: Time::from_secs(2),
            persist_max: Time::from_secs(60),
            resend: Resend::First,
            retransmission: Retransmission::Ahead,
            leave_loss: LeaveLoss::Ack,
            backoff: true,
            congested_until: CongestedUntil::Segment,
        }
    }
}

/// What is sent again in ATCP's loss state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resend {
    /// The first segment that is not acknowledged.
    First,
    /// All of them.
    All,
}

/// Where a retransmission goes in the sender's own interface queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retransmission {
    /// To its head.
    Ahead,
    /// To its end.
    Behind,
}

/// What ends ATCP's loss state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeaveLoss {
    /// An acknowledgment of something new.
    Ack,
    /// That, or new data from the other end.
    AckOrData,
}

/// What ends ATCP's congested state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CongestedUntil {
    /// Any segment that TCP sends.
    Segment,
    /// A segment with data that was never sent before.
    NewData,
}

/// The values of `name`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Name {
    None,
    Atcp,
}

/// `{ name = "none" }`, which has no options.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

impl Serialize for Aid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'a> {
            name: &'static str,
            #[serde(flatten)]
            options: &'a Atcp,
        }
        match self {
            Self::None => serializer.serialize_str(self.name()),
            Self::Atcp(options) => Named { name: self.name(), options }.serialize(serializer),
        }
    }
}

impl<'de> Tagged<'de> for Aid {
    const KEY: &'static str = "name";
    type Kind = Name;
    fn read<A: MapAccess<'de>>(
        name: Name,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error> {
        match name {
            Name::None => NoOptions::deserialize(rest).map(|NoOptions {}| Self::None),
            Name::Atcp => Atcp::deserialize(rest).map(Self::Atcp),
        }
    }
}

impl<'de> Deserialize<'de> for Aid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Aid;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the name of an aid (\"none\" or \"atcp\"), or a table with the key `name`",
                )
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Aid, E> {
                Ok(match Name::deserialize(StrDeserializer::new(name))? {
                    Name::None => Aid::None,
                    Name::Atcp => Aid::Atcp(Atcp::default()),
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Aid, A::Error> {
                read_tagged(map)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
