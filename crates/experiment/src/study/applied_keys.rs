//! The overrides of readings that could be applied to an arm.

use std::collections::{BTreeMap, BTreeSet};

use driftway_scenario::{Error as Wrong, TomlFile};

use super::check::keys;
use super::format::Study;

/// The overrides of readings that were applied to an arm, and why others were not.
#[derive(Debug, Default)]
pub struct AppliedKeys {
    pub(super) applied: BTreeSet<(String, String)>,
    pub(super) refused: BTreeMap<(String, String), Wrong>,
}

impl AppliedKeys {
    /// Checks that each override of a reading can be applied to an arm.
    ///
    /// # Errors
    ///
    /// The first one that cannot, with the reason.
    pub fn check(&self, file: &TomlFile, study: &Study) -> Result<(), Wrong> {
        for (number, reading) in study.readings.iter().enumerate() {
            let exceptions = reading.except.iter().enumerate().map(|(at, exception)| {
                (keys!["reading", number, "except", at, "set"].to_vec(), &exception.set)
            });
            let own = (keys!["reading", number, "set"].to_vec(), &reading.set);
            for (mut place, set) in std::iter::once(own).chain(exceptions) {
                for key in set.keys() {
                    let name = (reading.name.clone(), key.clone());
                    if self.applied.contains(&name) {
                        continue;
                    }
                    let because = match self.refused.get(&name) {
                        Some(error) => error.message().to_owned(),
                        None => "no statement is judged in this reading".to_owned(),
                    };
                    place.push(key.clone());
                    let message = format!("`{key}` applies to no arm: {because}");
                    return Err(file.error(&place, &message));
                }
            }
        }
        Ok(())
    }
}
