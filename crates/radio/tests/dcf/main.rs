//! The DCF driven from outside.

mod air;
mod contention;
mod enabled;
mod exchange;
mod properties;
mod reservation;
mod saturation;
