//! The table `radio.energy`: what a radio draws in each of its states.

use std::str::FromStr;

use driftway_base::Named;
use driftway_radio::RadioPower;
use serde::Deserializer;

use crate::Power;
use crate::error::{nearest, quoted};
use crate::keys::keys;
use crate::value_or::{self, TextOrTable};

keys! {
    /// Power that a radio draws in each of its states. It is measured, not limited: no node runs out of
    /// energy.
    #[derive(Copy)]
    pub struct Energy expecting "a table with the keys `transmit`, `receive`, `idle` and `off`" {
        /// Power while the radio transmits.
        transmit: Power [real("a power of {}", 0.0.., "it is at least 0 W")],
        /// Power while it senses a signal and does not transmit, whether or not it can decode it.
        receive: Power [real("a power of {}", 0.0.., "it is at least 0 W")],
        /// Power while it is on and does neither.
        idle: Power [real("a power of {}", 0.0.., "it is at least 0 W")],
        /// Power while it is off, in a fault of kind `"radio-down"`.
        #[serde(default = "nothing")]
        #[schemars(extend("default" = "0 W"))]
        off: Power [real("a power of {}", 0.0.., "it is at least 0 W")],
    }
}

const fn nothing() -> Power {
    Power::Watts(0.0)
}

driftway_base::named! {
    /// Name of a radio whose power is known.
    #[derive(schemars::JsonSchema)]
    pub(crate) enum EnergyPreset {
        /// `"ns-2"`: ns-2.35 where a script sets no power: 660 mW, 395 mW, and nothing while idle.
        #[schemars(rename = "ns-2")]
        Ns2 = "ns-2",
        /// `"wavelan"`: the 2 Mbit/s Lucent WaveLAN card of feeney-2001: 1327 mW, 967 mW and 844 mW.
        #[schemars(rename = "wavelan")]
        Wavelan = "wavelan",
    }
}

impl Energy {
    /// Powers in watts.
    pub fn power(&self) -> RadioPower {
        let Self { transmit, receive, idle, off } = *self;
        let [transmit, receive, idle, off] = [transmit, receive, idle, off].map(Power::watts);
        RadioPower { transmit, receive, idle, off }
    }

    const fn of(power: RadioPower) -> Self {
        let RadioPower { transmit, receive, idle, off } = power;
        Self {
            transmit: Power::Watts(transmit),
            receive: Power::Watts(receive),
            idle: Power::Watts(idle),
            off: Power::Watts(off),
        }
    }
}

impl TextOrTable for Energy {
    const EXPECTING: &'static str = "\"ns-2\", \"wavelan\", or a table with the keys `transmit`, \
        `receive`, `idle` and `off`";
}

impl FromStr for Energy {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match EnergyPreset::from_name(text) {
            Some(EnergyPreset::Ns2) => Ok(Self::of(RadioPower::NS2)),
            Some(EnergyPreset::Wavelan) => Ok(Self::of(RadioPower::WAVELAN)),
            None => {
                let names = || EnergyPreset::ALL.iter().map(|preset| preset.name());
                let near = nearest(text, names());
                let near = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
                Err(format!(
                    "`{}` is no radio whose energy is known\n{near}known: {}; or a table with the \
                     keys transmit, receive, idle and off",
                    quoted(text),
                    names().collect::<Vec<_>>().join(", ")
                ))
            }
        }
    }
}

/// Reads the key.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Energy>, D::Error> {
    value_or::text_or_table(from).map(Some)
}
