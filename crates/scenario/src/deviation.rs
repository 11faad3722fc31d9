//! A deviation of ns-2.35 from the standards.

use std::borrow::Cow;

use serde::Serialize;
use toml::Table as TomlTable;

use crate::file_value::FileValue;
use crate::rules::{Rule, Table};

/// A key whose default depends on `compat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Dotted key, relative to `[network]`, or to `[network.air]` in a mixed network.
    pub key: Cow<'static, str>,
    /// Networks in which the key exists.
    pub scope: DeviationScope,
    /// Default by the standard, as TOML.
    pub standard: Cow<'static, str>,
    /// Value in ns-2.35, as TOML.
    pub ns2: Cow<'static, str>,
    /// Rule of the standard, with its section.
    pub standard_says: &'static str,
    /// Behaviour of ns-2.35, with its source file.
    pub ns2_does: &'static str,
}

/// Networks in which a key exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviationScope {
    /// Every ad hoc network.
    Any,
    /// Networks with ARP.
    Arp,
    /// `mac.kind = "dcf"`.
    Dcf,
    /// `mac.kind = "tdma"`.
    Tdma,
    /// Every `routing.protocol` but `"dsr"`.
    NotDsr,
    /// `routing.protocol = "aodv"`.
    Aodv,
    /// `routing.protocol = "aodv"` and `mac.kind = "tdma"`.
    AodvOverTdma,
    /// `routing.protocol = "dsr"`.
    Dsr,
    /// `routing.protocol = "static"`.
    Static,
}

/// The deviations in a table of the file, which has the key `table`: those that its keys declare, with
/// the values of the configuration of ns-2.35.
pub(crate) fn in_table<T, C>(scope: DeviationScope, table: &str, ns2: C) -> Vec<Deviation>
where
    T: Table + FileValue<C> + Serialize + Default,
{
    // Tables have string keys and values that TOML can represent.
    let written = |values: &T| TomlTable::try_from(values).unwrap_or_default();
    let values = [written(&T::default()), written(&T::from_config(ns2))];
    let mut deviations = Vec::new();
    for (name, rules) in T::rules() {
        for rule in rules {
            let Rule::Ns2([standard_says, ns2_does]) = rule else { continue };
            let [standard, ns2] = values
                .each_ref()
                .map(|values| values.get(name).map_or(String::new(), ToString::to_string).into());
            let key = format!("{table}.{name}").into();
            deviations.push(Deviation { key, scope, standard, ns2, standard_says, ns2_does });
        }
    }
    deviations
}
