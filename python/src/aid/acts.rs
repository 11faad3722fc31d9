//! Arguments of acts.

use driftway::base::{Assign, Duration, HeldTimers, Release, Retransmit, RouteProbe};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A value from words, with a message that lists them.
fn word<T: Copy>(what: &str, found: &str, words: &[(&str, T)]) -> PyResult<T> {
    let known = words.iter().find(|(name, _)| *name == found);
    known.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = words.iter().map(|(name, _)| format!("{name:?}")).collect();
        PyValueError::new_err(format!("{what}: {found:?} is none of {}", names.join(", ")))
    })
}

/// A duration in seconds.
pub fn seconds(what: &str, found: f64) -> PyResult<Duration> {
    // As in scenarios: up to some hundred years.
    const LONGEST: f64 = 1e10;
    if !(0.0..=LONGEST).contains(&found) {
        return Err(PyValueError::new_err(format!("{what}: {found} s is no time from 0 s on")));
    }
    Ok(Duration::from_nanos((found * 1e9).round() as u64))
}

/// An assignment: `None` keeps the value, `"initial"` is that of a new connection.
pub fn bytes(what: &str, found: Option<&Bound<'_, PyAny>>) -> PyResult<Assign<u32>> {
    let Some(found) = found else { return Ok(Assign::Keep) };
    if let Ok(text) = found.extract::<String>() {
        return word(what, &text, &[("initial", Assign::Initial)]);
    }
    let wrong = |_| PyTypeError::new_err(format!("{what}: a number of bytes, \"initial\" or None"));
    found.extract().map(Assign::Value).map_err(wrong)
}

/// Treatment of timers during a hold.
pub fn timers(found: &str) -> PyResult<HeldTimers> {
    let words = [
        ("stop", HeldTimers::Stop),
        ("freeze", HeldTimers::Freeze),
        ("keep-retransmission", HeldTimers::KeepRetransmission),
    ];
    word("timers", found, &words)
}

/// The end of a hold.
pub fn release(found: &str) -> PyResult<Release> {
    word("release", found, &[("any-ack", Release::AnyAck), ("resume", Release::Resume)])
}

/// Data that a timeout retransmits.
pub fn retransmit(found: &str) -> PyResult<Retransmit> {
    let words = [
        ("loss-recovery", Retransmit::LossRecovery),
        ("oldest", Retransmit::Oldest),
        ("newest", Retransmit::Newest),
        ("nothing", Retransmit::Nothing),
    ];
    word("retransmit", found, &words)
}

/// The way to probe a route.
pub fn route_probe(found: &str) -> PyResult<RouteProbe> {
    let words = [
        ("repeated", RouteProbe::Repeated),
        ("single", RouteProbe::Single),
        ("off", RouteProbe::Off),
    ];
    word("how", found, &words)
}
