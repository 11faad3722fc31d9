//! Properties that hold for any input.

use driftway_scenario::Scenario;
use proptest::prelude::*;

use super::{RIGHT, network, read};

/// The last character boundary at or before `at`.
fn floor(at: usize) -> usize {
    (0..=at).rev().find(|at| RIGHT.is_char_boundary(*at)).unwrap_or(0)
}

proptest! {
    #[test]
    fn modified_scenarios_are_accepted_or_rejected(
        at in 0..RIGHT.len(),
        cut in 0..40_usize,
        put in "[\\[\\]{}=.,\"'a-z0-9 \n#üé-]{0,20}",
    ) {
        let (at, end) = (floor(at), floor((at + cut).min(RIGHT.len())));
        let text = format!("{}{put}{}", &RIGHT[..at], &RIGHT[end.max(at)..]);
        if let Ok(scenario) = Scenario::parse("any", &text, &[]) {
            let shown = scenario.show();
            prop_assert_eq!(Scenario::parse("shown", &shown, &[]), Ok(scenario));
        }
    }

    #[test]
    fn any_list_of_nodes_is_accepted_or_rejected(
        names in prop::collection::vec("[a-c]{0,2}(\\[[0-9]{0,11}-?[0-9]{0,11}\\]?)?", 0..4),
    ) {
        let overrides = [("network.nodes".to_owned(), format!("{names:?}"))];
        let _ = Scenario::parse("any", RIGHT, &overrides);
        let overrides = [("network.air.radios".to_owned(), format!("{names:?}"))];
        let _ = Scenario::parse("any", RIGHT, &overrides);
    }

    #[test]
    fn ranges_have_all_their_names(first in 1..50_u32, more in 0..50_u32) {
        let last = first + more;
        let nodes = format!("[\"server\", \"router\", \"base\", \"m[1-3]\", \"x[{first}-{last}]\"]");
        let radios = format!("[\"base\", \"m[1-3]\", \"x[{first}-{last}]\"]");
        let scenario = read(&[("network.nodes", &nodes), ("network.air.radios", &radios)]);
        let mixed = network(&scenario);
        let names: Vec<_> = (first..=last).map(|number| format!("x{number}")).collect();
        prop_assert_eq!(&mixed.nodes[6..], &names[..]);
        prop_assert_eq!(mixed.airs[0].adhoc.nodes(), more + 5);
    }
}
