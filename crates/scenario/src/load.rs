//! Loading of scenarios from files and text.

use std::path::Path;
use std::sync::Arc;

use crate::adhoc::compat;
use crate::adhoc::movement::{self, MovementFileError};
use crate::adhoc::movement_names;
use crate::error::{Diagnostic, Error};
use crate::measurements::{self, TraceError};
use crate::regular_file::{ReadFailure, read_bytes};
use crate::traffic::FIRST_SEED;
use crate::tree::{Node, Value};
use crate::{MovementFile, Registry, Scenario, check, node_names, overrides, preset, reader};

/// Maximum size of a scenario file in bytes.
const MAX_BYTES: u64 = 16 << 20;

impl Scenario {
    /// Parses `text`, the content of the file `name_of_file` (whose directory is the base of the
    /// names of movement files and traces) or that of a study with a table `scenario`, applies
    /// `overrides` (dotted key and value, see [`Scenario::load`]) in order, checks the scenario and
    /// fills in its defaults.
    ///
    /// # Errors
    ///
    /// The first error and its location.
    pub fn parse(
        name_of_file: &str,
        text: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, Error> {
        Self::parse_with(name_of_file, text, overrides, &Registry::new())
    }

    /// Does the same as [`Scenario::parse`], with the names of a registry besides the built-in ones.
    ///
    /// # Errors
    ///
    /// The first error and its location; also a registry with a name, of an entry or an option, that is invalid
    /// (other than letters, digits, `-`, `_`), built in or not unique.
    pub fn parse_with(
        name_of_file: &str,
        text: &str,
        overrides: &[(String, String)],
        registry: &Registry,
    ) -> Result<Self, Error> {
        registry.check()?;
        let placed = |fault: Diagnostic| Error::new(fault, name_of_file, text, overrides);
        let help = "a scenario has at least name, duration, [network] and a [[flow]]";
        let mut tree = own_scenario(parse_tree(name_of_file, text, help)?);
        for (number, (key, value)) in overrides.iter().enumerate() {
            overrides::apply_override(&mut tree, number, key, value).map_err(placed)?;
        }
        node_names::resolve(&mut tree).map_err(placed)?;
        let load_movement = |tree: &Node, table: &str, named: &MovementFile| {
            movement::load_first(named, name_of_file).map_err(|missing| match missing {
                MovementFileError::Unreadable(message) => {
                    let origin = tree.origin_of(&format!("{table}.mobility.file"));
                    placed(Diagnostic::new(&message).at(origin))
                }
                MovementFileError::Invalid(error) => error,
            })
        };
        let mut loaded = None;
        if let Some(named) = movement_names::file_if_used(&mut tree).map_err(placed)? {
            let first = load_movement(&tree, "network", &named)?;
            movement_names::resolve(&mut tree, &first.movement).map_err(placed)?;
            loaded = Some(first);
        }
        let taken = registry.take(&mut tree).map_err(placed)?;
        preset::expand(&mut tree).map_err(placed)?;
        compat::expand(&mut tree).map_err(placed)?;
        let mut scenario: Self = reader::read(&tree).map_err(placed)?;
        taken.put(&mut scenario, &mut tree);
        let files = scenario.network.movement_files();
        let tables = scenario.network.radio_network_keys();
        for ((adhoc, named), table) in scenario.network.radio_networks_mut().zip(files).zip(tables)
        {
            let Some(named) = named else { continue };
            let first = loaded.take().map_or_else(|| load_movement(&tree, &table, &named), Ok)?;
            if first.seed.is_some() {
                adhoc.movement_seed = first.seed;
                adhoc.movement_base = name_of_file.to_owned();
            }
            adhoc.movement = Some(Arc::new(first.movement));
        }
        measurements::load(&mut scenario.network, name_of_file).map_err(
            |(key, error)| match error {
                TraceError::Unreadable(message) => {
                    placed(Diagnostic::new(&message).at(tree.origin_of(&key)))
                }
                TraceError::Invalid(error) => error,
            },
        )?;
        scenario.add_traffic_flows();
        scenario.resolve();
        scenario.draw_traffic(FIRST_SEED);
        check::check(&scenario).map_err(|problem| placed(problem.locate(&tree)))?;
        scenario.expand_copies();
        Ok(scenario)
    }

    /// Loads the file at `path`. `overrides` are the options `--set KEY=VALUE` of a command line: a
    /// dotted key (`network.link.rate`, `flow.0.aid`, `flow.*.tcp.recovery`), and a value as in the
    /// file, where text needs no quotes. A value replaces the whole value of its key: an aid with its options.
    ///
    /// # Errors
    ///
    /// The first error and its location; also a file that is missing, not regular, over 16 MiB or
    /// not UTF-8.
    pub fn load(path: impl AsRef<Path>, overrides: &[(String, String)]) -> Result<Self, Error> {
        Self::load_with(path, overrides, &Registry::new())
    }

    /// Does the same as [`Scenario::load`], with the names of a registry besides the built-in ones.
    ///
    /// # Errors
    ///
    /// Those of [`Scenario::load`]; also a registry with a name that is built in or not unique.
    pub fn load_with(
        path: impl AsRef<Path>,
        overrides: &[(String, String)],
        registry: &Registry,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let text = read_text(path, &name)?;
        Self::parse_with(&name, &text, overrides, registry)
    }
}

/// The table `scenario` of a study that has its scenario in its own file; else the file as it is.
fn own_scenario(tree: Node) -> Node {
    match tree.get("scenario") {
        Some(table) if matches!(table.value, Value::Table(_)) => table.clone(),
        _ => tree,
    }
}

/// Parses the text of a file; `help` is the hint for an empty file.
pub(crate) fn parse_tree(name: &str, text: &str, help: &str) -> Result<Node, Error> {
    if text.len() as u64 > MAX_BYTES {
        return Err(too_large(name));
    }
    if text.contains('\0') {
        let help = "a scenario is a TOML file";
        return Err(Error::in_file(name, "this is a binary file", help));
    }
    let tree = Node::parse(text).map_err(|fault| Error::new(fault, name, text, &[]))?;
    if matches!(&tree.value, Value::Table(entries) if entries.is_empty()) {
        return Err(Error::in_file(name, "this file is empty", help));
    }
    Ok(tree)
}

fn too_large(name: &str) -> Error {
    Error::in_file(name, "this file is larger than 16 MiB", "scenarios have a few hundred lines")
}

pub(crate) fn read_text(path: &Path, name: &str) -> Result<String, Error> {
    let bytes = read_bytes(path, MAX_BYTES).map_err(|unreadable| match unreadable {
        ReadFailure::TooLarge(_) => too_large(name),
        ReadFailure::Directory => {
            Error::in_file(name, &unreadable.to_string(), "specify a scenario file in it")
        }
        _ => Error::in_file(name, &unreadable.to_string(), ""),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("this is not UTF-8 text: byte {} of the file", at + 1);
        Error::in_file(name, &message, "a scenario is a TOML file")
    })
}
