//! Tests of the scenario file: values, defaults, errors.

mod adhoc;
mod aids;
mod defaults;
mod examples;
mod files;
mod mixed;
mod presets;
mod properties;
mod refusals;
mod renamed;
mod routers;
mod traces;
mod traffic;
