//! DCF, driven from outside.

mod air;
mod exchange;
mod properties;
