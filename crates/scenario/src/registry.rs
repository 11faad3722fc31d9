//! Additions of a program to the names that scenarios know.

mod taken;

use std::collections::BTreeSet;
use std::sync::Arc;

use driftway_aid::registry::AidEntry;
use driftway_base::Named;
use driftway_base::options::OptionInfo;
use driftway_radio::mobility::MobilityEntry;
use driftway_route::RoutingEntry;

use crate::adhoc::mobility::MODELS;
use crate::adhoc::routing::RoutingKind;
use crate::aid::aid_names;
use crate::error::{Error, quoted};

/// Additions of a program to the names that scenarios know: a value, which it passes to
/// [`Scenario::load_with`](crate::Scenario::load_with). Empty by default.
///
/// A registered name stands in a scenario, in its overrides and in messages like a built-in one, with its
/// options. A loaded scenario keeps the entries that it names.
#[derive(Clone, Default)]
pub struct Registry {
    aids: Vec<Arc<AidEntry>>,
    routing: Vec<Arc<RoutingEntry>>,
    mobility: Vec<Arc<MobilityEntry>>,
}

impl Registry {
    /// A registry without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an aid.
    #[must_use]
    pub fn aid(mut self, entry: AidEntry) -> Self {
        self.aids.push(Arc::new(entry));
        self
    }

    /// Adds a routing protocol of ad hoc networks.
    #[must_use]
    pub fn routing(mut self, entry: RoutingEntry) -> Self {
        self.routing.push(Arc::new(entry));
        self
    }

    /// Adds a mobility model.
    #[must_use]
    pub fn mobility(mut self, entry: MobilityEntry) -> Self {
        self.mobility.push(Arc::new(entry));
        self
    }

    /// Checks that each name stands for one thing.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let aids = self.aids.iter().map(|entry| (entry.name, entry.options()));
        check_names("aid", "name", &aid_names(), aids)?;
        let routing = self.routing.iter().map(|entry| (entry.name, entry.options()));
        check_names("routing protocol", "protocol", &protocol_names(), routing)?;
        let models = self.mobility.iter().map(|entry| (entry.name, entry.options()));
        check_names("mobility model", "model", &MODELS, models)
    }
}

/// The built-in values of the key `protocol`.
fn protocol_names() -> Vec<&'static str> {
    RoutingKind::ALL.iter().map(|kind| kind.name()).collect()
}

/// Checks the names of one kind of entries, and those of their options. `tag` is the key that gives the name in
/// a scenario, so that no option has it.
fn check_names(
    kind: &str,
    tag: &str,
    built_in: &[&str],
    entries: impl Iterator<Item = (&'static str, &'static [OptionInfo])>,
) -> Result<(), Error> {
    let wrong = |message: String, help: &str| Err(Error::in_file("registry", &message, help));
    let mut known: BTreeSet<&str> = built_in.iter().copied().collect();
    for (name, options) in entries {
        let entry = format!("the {kind} `{}`", quoted(name));
        let help = "names consist of letters, digits, `-` and `_`";
        if !is_name(name) {
            return wrong(format!("{entry} cannot be named in a scenario"), help);
        }
        if !known.insert(name) {
            let help = format!("register it under another name than {}", built_in.join(", "));
            return wrong(format!("{entry} is built in, or registered twice"), &help);
        }
        let mut keys = BTreeSet::from([tag]);
        for option in options {
            let option = option.name;
            if !is_name(option) {
                return wrong(format!("{entry} has an option `{}`", quoted(option)), help);
            }
            if !keys.insert(option) {
                let help = format!("options differ from each other and from `{tag}`");
                return wrong(format!("{entry} cannot have the option `{option}`"), &help);
            }
        }
    }
    Ok(())
}

/// Returns whether a scenario can have this name as a bare key, and a list of names can show it.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(fits)
}
