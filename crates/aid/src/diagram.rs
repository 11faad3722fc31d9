//! State diagrams in Graphviz' language.

use alloc::format;
use alloc::string::String;

/// The diagram `name` of a machine that begins in `start`; an arrow is from, to, and its label.
pub(crate) fn dot(
    name: &str,
    start: &str,
    arrows: impl Iterator<Item = (&'static str, &'static str, &'static str)>,
) -> String {
    let head = format!("digraph {name} {{\n    start [shape=point];\n    start -> {start};\n");
    let mut dot = arrows.fold(head, |dot, (from, to, label)| {
        dot + &format!("    {from} -> {to} [label=\"{label}\"];\n")
    });
    dot.push_str("}\n");
    dot
}
