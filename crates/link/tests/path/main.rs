//! A hop of a path: time lines of each rule, and what holds whatever is done to it.

mod bench;
mod properties;
mod timeline;
