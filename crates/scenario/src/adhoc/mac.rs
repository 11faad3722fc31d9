//! The table `mac`: medium access control.

use driftway_base::Probability;
use driftway_radio::dcf::{CaptureModel, Phy, ResponseTimeout};
use driftway_radio::{DcfConfig, TdmaConfig, dcf_options, tdma_options};
use serde::{Deserialize, Serialize};

use crate::file_value::{Keyword, mirrors};
use crate::rules::RuledValue;
use crate::table::table;
use crate::tagged::tagged;
use crate::{BitRate, Size, Time};

tagged! {
    /// Medium access control; the key `kind` selects the variant.
    pub enum Mac by "kind",
    /// Values of `kind`.
    pub enum MacKind {
        /// The distributed coordination function of IEEE 802.11.
        Dcf(Dcf) = "dcf",
        /// Time division: each node has its own slot.
        Tdma(Tdma) = "tdma",
    }
}

dcf_options! { table! {
    /// IEEE 802.11-1999 DCF with the DSSS physical layer: the table `mac` with `kind = "dcf"`.
    /// Defaults are those of the standard. The deviations of ns-2.35 are listed in `docs/ns-2.md`.
    pub struct Dcf of DcfConfig = DcfConfig::STANDARD, "a table with the keys of a DCF";
    given frame_error = no_errors;
} }

/// Timeout for a CTS or ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "\"preamble\" or { whole-frame = \"4 us\" }")]
pub enum MacTimeout {
    /// `"preamble"`: until its preamble should have been received.
    Preamble,
    /// `{ whole-frame = "4 us" }`: until it should have ended, with this allowance for the
    /// propagation delay of both directions.
    WholeFrame(Time),
}

/// The DCF and TDMA of an air have the errors of its radios.
fn no_errors<T>(_: &T) -> Probability {
    Probability::NEVER
}

mirrors! {
    MacTimeout of ResponseTimeout {
        Preamble = Preamble,
        WholeFrame(Time(propagation)) = WholeFrame { propagation },
    }
}

impl RuledValue for MacTimeout {
    fn time(&self) -> Option<Time> {
        match self {
            Self::Preamble => None,
            Self::WholeFrame(time) => Some(*time),
        }
    }
}

tdma_options! { table! {
    /// Time division multiple access: the table `mac` with `kind = "tdma"`. Nodes transmit in turn
    /// in the order of their numbers, wherever they are. There are no acknowledgments, so that no
    /// link failures are reported to the routing protocol: by default AODV sends hello messages,
    /// and DSR requires static nodes or `confirm = "network-layer"`.
    pub struct Tdma of TdmaConfig = TdmaConfig::STANDARD, "a table with the keys of a TDMA";
    given frame_error = no_errors;
} }

impl Default for Mac {
    fn default() -> Self {
        Self::Dcf(Dcf::default())
    }
}
