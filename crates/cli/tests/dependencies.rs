//! Dependencies against `deny.toml`: licences, sources, and the crates that may use `rand`. This is the
//! part of cargo-deny that needs no database, so that `make test` need not build it; `make audit` runs
//! cargo-deny itself.

use std::collections::BTreeMap;
use std::process::Command;

use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    name: String,
    wrappers: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    license: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

fn read() -> (Deny, Metadata) {
    let deny = std::fs::read_to_string(format!("{ROOT}/deny.toml")).unwrap();
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1", "--all-features"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    (toml::from_str(&deny).unwrap(), serde_json::from_slice(&metadata.stdout).unwrap())
}

/// Returns true if a licence expression is satisfied by the allowed licences.
fn allows(allowed: &[Licensee], license: &str) -> bool {
    Expression::parse_mode(license, ParseMode::LAX)
        .is_ok_and(|terms| terms.evaluate(|term| allowed.iter().any(|one| one.satisfies(term))))
}

#[test]
fn dependencies_are_allowed() {
    let (deny, metadata) = read();
    let allowed: Vec<_> =
        deny.licenses.allow.iter().map(|name| Licensee::parse(name).unwrap()).collect();
    assert!(metadata.packages.len() > 100, "too few packages");
    for package in &metadata.packages {
        let Package { name, license, source, .. } = package;
        assert!(
            license.as_ref().is_some_and(|license| allows(&allowed, license)),
            "{name} is under {license:?}, which deny.toml does not allow"
        );
        // Packages of this repository have no source.
        let known = source.as_ref().is_none_or(|from| from.starts_with("registry+"));
        assert!(known, "{name} comes from {source:?}, which is no registry");
    }

    let names: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (&package.id, &package.name)).collect();
    for node in &metadata.resolve.nodes {
        let user = names[&node.id];
        for used in node.dependencies.iter().filter_map(|id| names.get(id)) {
            for ban in deny.bans.deny.iter().filter(|ban| ban.name == **used) {
                assert!(ban.wrappers.contains(user), "{user} must not depend on {used}");
            }
        }
    }
}

#[test]
fn a_licence_expression_is_evaluated_as_a_whole() {
    let allowed = [Licensee::parse("MIT").unwrap(), Licensee::parse("Unicode-3.0").unwrap()];
    for (license, may) in [
        ("MIT/Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("Apache-2.0", false),
        ("MIT AND GPL-3.0-only", false),
        ("anything", false),
    ] {
        assert_eq!(allows(&allowed, license), may, "{license}");
    }
}
