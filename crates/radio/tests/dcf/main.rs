//! The DCF driven from outside.

mod air;
mod contention;
mod enabled;
mod exchange;
mod ofdm;
mod properties;
mod reservation;
mod saturation;
