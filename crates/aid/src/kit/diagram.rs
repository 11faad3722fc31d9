//! State diagram in Graphviz DOT, generated from the transition table.

use alloc::format;
use alloc::string::String;

use driftway_base::Named;

use super::States;

/// The diagram of [`States::next`] with this name.
pub fn diagram<S: States>(name: &str) -> String {
    let start = S::INITIAL.name();
    let mut dot = format!("digraph {name} {{\n    start [shape=point];\n    start -> {start};\n");
    for from in S::ALL {
        for transition in S::Transition::ALL {
            let to = from.next(*transition);
            if to != *from {
                let (from, to, label) = (from.name(), to.name(), transition.name());
                dot.push_str(&format!("    {from} -> {to} [label=\"{label}\"];\n"));
            }
        }
    }
    dot.push_str("}\n");
    dot
}

/// Asserts that the committed diagram `name` is up to date. `DRIFTWAY_BLESS=1 cargo test -p driftway-aid
/// diagram` rewrites it.
#[cfg(test)]
pub(crate) fn assert_diagram_up_to_date<S: States>(name: &str) {
    let path = format!("{}/docs/{name}.dot", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("DRIFTWAY_BLESS").is_some() {
        std::fs::write(&path, diagram::<S>(name)).expect("docs/ is writable");
    }
    let committed = std::fs::read_to_string(&path).expect(&path);
    assert_eq!(committed, diagram::<S>(name));
}
