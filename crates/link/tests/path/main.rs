//! A hop of a path: time lines of each rule, and properties of any sequence of operations.

mod bench;
mod properties;
mod timeline;
mod traces;
