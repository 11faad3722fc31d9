//! Names that scenarios know besides those of their types: the built-in ones whose options are declared where they are
//! used, and those that a program adds.

mod taken;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use driftway_aid::registry::AidEntry;
use driftway_base::options::OptionInfo;
use driftway_base::{Entry, Named};
use driftway_radio::mobility::{GaussMarkov, Manhattan, MobilityEntry, ReferencePointGroup};
use driftway_route::RoutingEntry;
use driftway_tcp::ControlKind;
use driftway_tcp::congestion::ControlEntry;

use crate::adhoc::Mobility;
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
    controls: Vec<Arc<ControlEntry>>,
}

/// The routing protocols and mobility models that declare their options themselves. Each is added by a line here.
static BUILT_IN: LazyLock<Registry> = LazyLock::new(|| {
    Registry::new()
        .mobility(MobilityEntry::new::<GaussMarkov>())
        .mobility(MobilityEntry::new::<Manhattan>())
        .mobility(MobilityEntry::new::<ReferencePointGroup>())
});

impl Registry {
    /// A registry without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an aid, a value of a flow's `aid` and `receiver_aid`. Its name is checked when a scenario is loaded.
    #[must_use]
    pub fn aid(mut self, entry: AidEntry) -> Self {
        self.aids.push(Arc::new(entry));
        self
    }

    /// Adds a routing protocol of ad hoc networks, made of declared options ([`Declared`](driftway_base::Declared)) or a
    /// closure.
    #[must_use]
    pub fn routing(mut self, entry: RoutingEntry) -> Self {
        self.routing.push(Arc::new(entry));
        self
    }

    /// Adds a mobility model, made of declared options ([`Declared`](driftway_base::Declared)) or a closure.
    #[must_use]
    pub fn mobility(mut self, entry: MobilityEntry) -> Self {
        self.mobility.push(Arc::new(entry));
        self
    }

    /// Adds a congestion control, made of declared options ([`Declared`](driftway_base::Declared)) or a closure: a value
    /// of the key `growth`. It combines with the recoveries newreno, sack, rack-tlp, and with rack-tlp alone if it has
    /// a model
    /// ([`CongestionControl::has_model`](driftway_tcp::congestion::CongestionControl::has_model)).
    #[must_use]
    pub fn control(mut self, entry: ControlEntry) -> Self {
        self.controls.push(Arc::new(entry));
        self
    }

    /// Checks that each name stands for one thing.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let aids = self.aids.iter().map(|entry| (entry.name, entry.options()));
        check_names("aid", "name", &aid_names(), aids)?;
        let routing = self.routing.iter().map(|entry| (entry.name, entry.options()));
        let built_in = with_entries(&protocol_names(), built_in_protocols());
        check_names("routing protocol", "protocol", &built_in, routing)?;
        let models = self.mobility.iter().map(|entry| (entry.name, entry.options()));
        let built_in = with_entries(Mobility::WORDS, built_in_models());
        check_names("mobility model", "model", &built_in, models)?;
        let controls = self.controls.iter().map(|entry| (entry.name, entry.options()));
        check_names("congestion control", "name", &control_names(), controls)
    }
}

/// The values of the key `protocol` that the types of the file read.
fn protocol_names() -> Vec<&'static str> {
    RoutingKind::ALL.iter().map(|kind| kind.name()).collect()
}

/// The built-in values of the key `growth`.
fn control_names() -> Vec<&'static str> {
    ControlKind::ALL.iter().map(|(name, _)| *name).collect()
}

/// `names`, and those of the built-in entries.
fn with_entries<P, T>(names: &[&'static str], entries: &[Arc<Entry<P, T>>]) -> Vec<&'static str> {
    names.iter().copied().chain(entries.iter().map(|entry| entry.name)).collect()
}

/// The built-in routing protocols that declare their options themselves.
pub(crate) fn built_in_protocols() -> &'static [Arc<RoutingEntry>] {
    &BUILT_IN.routing
}

/// The built-in mobility models that declare their options themselves.
pub(crate) fn built_in_models() -> &'static [Arc<MobilityEntry>] {
    &BUILT_IN.mobility
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
