//! Options of aids.
//!
//! An aid declares its options with [`options!`](driftway_base::options!), and what else a scenario has to
//! know of it with [`AidOptions`].

use alloc::boxed::Box;

pub use driftway_base::options::{
    OptionError, OptionField, OptionInfo, OptionKind, OptionValue, Options,
};

use crate::Aid;

/// Options type of an aid.
pub trait AidOptions: Options {
    /// Name of the aid in scenarios.
    const NAME: &'static str;
    /// One-line summary with the aid's source.
    const SUMMARY: &'static str;
    /// Name and description of each state of [`Aid::state`], for the reference and replays of built-in aids.
    const STATES: &'static [(&'static str, &'static str)];
    /// Pairs of durations of which the first must not exceed the second. Scenarios that violate this are
    /// rejected.
    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] = &[];
    /// Creates the aid for one connection.
    fn build(self) -> Box<dyn Aid>;
}

#[cfg(test)]
mod test {
    use alloc::vec::Vec;

    use driftway_base::Named;

    use super::*;
    use crate::atcp::{AtcpOptions, LossRetransmission};
    use crate::elfn::{ElfnOptions, FreezeOn};

    #[test]
    fn defaults_are_those_of_the_options() {
        let of = |name| AtcpOptions::OPTIONS.iter().find(|o| o.name == name).expect(name).default;
        let default = AtcpOptions::default();
        assert_eq!(of("tick"), Some(OptionValue::Duration(default.tick)));
        assert_eq!(of("persist_max"), Some(OptionValue::Duration(default.persist_max)));
        assert_eq!(of("backoff"), Some(OptionValue::Flag(default.backoff)));
        assert_eq!(of("congested_until"), Some(OptionValue::Choice("segment")));
        assert_eq!(of("tick_phase"), None);
    }

    #[test]
    fn errors_contain_the_index() {
        let good = ("backoff", OptionValue::Flag(false));
        let error =
            |settings: &[(&str, OptionValue<'_>)]| AtcpOptions::with_settings(settings).err();
        assert_eq!(
            error(&[good, ("perist_min", OptionValue::Flag(true))]),
            Some(OptionError::UnknownOption { index: 1 })
        );
        let expected = OptionKind::Choice(LossRetransmission::DESCRIPTIONS);
        assert_eq!(
            error(&[("resend", OptionValue::Choice("some")), good]),
            Some(OptionError::InvalidValue { index: 0, expected })
        );
    }

    #[test]
    fn options_of_a_part_come_first_and_are_set_like_others() {
        let names: Vec<_> = ElfnOptions::OPTIONS.iter().map(|option| option.name).collect();
        assert_eq!(names, ["probe_interval", "after", "default_rto", "default_cwnd", "freeze_on"]);
        let options = ElfnOptions::with_settings(&[
            ("default_cwnd", OptionValue::Count(4)),
            ("freeze_on", OptionValue::Choice("packet-loss")),
        ]);
        let mut expected = ElfnOptions { freeze_on: FreezeOn::PacketLoss, ..Default::default() };
        expected.standby.default_cwnd = 4;
        assert_eq!(options, Ok(expected));
    }
}
