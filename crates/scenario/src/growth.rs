//! The key `tcp.growth`: a congestion control, built in or of a registry.

use std::borrow::Cow;

use driftway_tcp::congestion::{CongestionControl, ControlOptions};
use driftway_tcp::{ControlKind, RecoveryKind};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::file_value::{Keyword, Keywords};
use crate::registered::Registered;

/// A congestion control: the name of a built-in one, or a name of the [`Registry`](crate::Registry) with which the
/// scenario is loaded, alone or in a table with its options, `{ name = "…", … }`.
#[derive(Clone, Debug, PartialEq)]
pub enum Growth {
    /// One of [`ControlKind`].
    BuiltIn(ControlKind),
    /// One of a [`Registry`](crate::Registry).
    Registered(RegisteredControl),
}

/// A registered congestion control with its options.
pub type RegisteredControl = Registered<ControlOptions, Box<dyn CongestionControl>>;

impl Keywords for ControlKind {
    const ALL: &'static [(&'static str, Self)] = Self::ALL;
}

impl Growth {
    /// Name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Self::BuiltIn(kind) => kind.name(),
            Self::Registered(control) => control.name(),
        }
    }

    /// Returns whether it comes from a [`Registry`](crate::Registry).
    pub const fn is_registered(&self) -> bool {
        matches!(self, Self::Registered(_))
    }

    /// The built-in control; for a registered one, the default of a connection, in whose place
    /// [`Growth::build`] stands.
    pub(crate) fn kind(&self) -> ControlKind {
        match self {
            Self::BuiltIn(kind) => *kind,
            Self::Registered(_) => ControlKind::Reno,
        }
    }

    /// Creates a registered control; `None` for a built-in one, which a connection makes itself.
    pub fn build(&self, options: &ControlOptions) -> Option<Box<dyn CongestionControl>> {
        match self {
            Self::BuiltIn(_) => None,
            // Never an error: the options of a loaded scenario are valid.
            Self::Registered(control) => control.build(options).ok(),
        }
    }

    /// Returns whether it can be combined with this loss recovery.
    pub(crate) fn combines_with(&self, recovery: RecoveryKind) -> bool {
        match self {
            Self::BuiltIn(kind) => recovery.controls().any(|one| one == *kind),
            Self::Registered(_) => {
                let control = self.build(&ControlOptions::default());
                recovery.combines_with_registered(control.is_some_and(|one| one.has_model()))
            }
        }
    }
}

impl Serialize for Growth {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::BuiltIn(kind) => Keyword(*kind).serialize(serializer),
            Self::Registered(control) => control.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Growth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Keyword::deserialize(deserializer).map(|Keyword(kind)| Self::BuiltIn(kind))
    }
}

impl JsonSchema for Growth {
    fn schema_name() -> Cow<'static, str> {
        Keyword::<ControlKind>::schema_name()
    }
    fn inline_schema() -> bool {
        Keyword::<ControlKind>::inline_schema()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Keyword::<ControlKind>::json_schema(generator)
    }
}
