//! `[network]`: what lies between the ends.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess};
use serde::{Deserialize, Deserializer, Serialize};

use crate::tagged::{self, Tagged};
use crate::{Fault, Link, LinkChange};

/// `[network]`. `kind` says which of these it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Network {
    /// A chain of store-and-forward links.
    Path(Path),
}

/// `kind = "path"`: nodes 0 … `hops` in a chain; hop *k* joins node *k* − 1 and node *k*.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a network")]
pub struct Path {
    /// Number of hops, 1 to 64.
    pub hops: u32,
    /// How packets are spread over several routes to one destination. Default `"round-robin"`.
    #[serde(default)]
    pub spread: Spread,
    /// Every link of the chain.
    pub link: Link,
    /// What is different at one hop: `[[network.override]]`.
    #[serde(default, rename = "override", skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// Further routes beside the chain: `[[network.parallel]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parallel: Vec<Parallel>,
    /// What goes wrong, and when: `[[network.fault]]`.
    #[serde(default, rename = "fault", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Path {
    /// The link of hop `hop` (1 … `hops`), overrides applied in the order of the file.
    pub fn link_of(&self, hop: u32) -> Link {
        let changes = self.overrides.iter().filter(|o| o.hop == hop);
        changes.fold(self.link.clone(), |link, o| o.link.apply_to(link))
    }

    /// The link of every hop of a parallel route.
    pub fn link_beside(&self, route: &Parallel) -> Link {
        route.link.apply_to(self.link.clone())
    }
}

/// `[[network.override]]`: a hop, and any key of `[network.link]`, which replaces that of every
/// link (a `queue` is replaced as a whole).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Override {
    /// Which hop, 1 to `hops`.
    pub hop: u32,
    /// What is different there.
    #[serde(flatten)]
    pub link: LinkChange,
}

/// `[[network.parallel]]`: another route between two nodes of the chain, with nodes and links of
/// its own; any key of `[network.link]` changes its links.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parallel {
    /// The node on the chain where it begins.
    pub from: u32,
    /// The node on the chain where it ends, after `from`.
    pub to: u32,
    /// Its number of hops, 1 to 64.
    pub hops: u32,
    /// What is different from `[network.link]`.
    #[serde(flatten)]
    pub link: LinkChange,
}

/// How packets are spread over several routes to one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// In turn.
    #[default]
    RoundRobin,
    /// Each packet at random, all routes alike.
    Random,
}

macro_rules! keys {
    ($name:ident: $($own:literal),+) => {
        const $name: &[&str] = &[
            $($own,)+ "rate", "delay", "bit_error_rate", "packet_error_rate", "queue", "duplex",
            "order", "mark_loss",
        ];
    };
}
keys!(OVERRIDE_KEYS: "hop");
keys!(PARALLEL_KEYS: "from", "to", "hops");

/// The values of `kind`.
pub(crate) enum Kind {
    Path,
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "path" => Ok(Self::Path),
            "adhoc" => Err(D::Error::custom(
                "this version has no networks of kind \"adhoc\"\nthe kind that exists is \"path\"",
            )),
            other => Err(D::Error::unknown_variant(other, &["path"])),
        }
    }
}

impl<'de> Tagged<'de> for Network {
    const KEY: &'static str = "kind";
    type Kind = Kind;
    fn read<A: MapAccess<'de>>(
        kind: Kind,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error> {
        match kind {
            Kind::Path => Path::deserialize(rest).map(Self::Path),
        }
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Override {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ([hop], link) = tagged::with_counts(deserializer, ["hop"], OVERRIDE_KEYS)?;
        Ok(Self { hop, link })
    }
}

impl<'de> Deserialize<'de> for Parallel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ([from, to, hops], link) =
            tagged::with_counts(deserializer, ["from", "to", "hops"], PARALLEL_KEYS)?;
        Ok(Self { from, to, hops, link })
    }
}
