//! Validation of applications.

use crate::application::{Cbr, OnOff, Poisson, RequestResponse, Times};
use crate::problem::{
    CheckResult, MAX_PROTOCOL_TIME, require, require_at_most, require_positive, require_range,
};
use crate::{Application, Size, Time};

/// RFC 768: an IP datagram without its IP and UDP headers.
const MAX_DATAGRAM_BYTES: u64 = 65_507;

/// The key of an application's table below that of its flow.
pub(super) const fn key(application: &Application) -> &'static str {
    match application {
        Application::Transfer(_) | Application::Ftp => "application",
        Application::Cbr(_) => "application.cbr",
        Application::Poisson(_) => "application.poisson",
        Application::OnOff(_) => "application.on-off",
        Application::RequestResponse(_) => "application.request-response",
    }
}

/// Checks the application of a flow, whose key is `flow`.
pub(super) fn check(flow: &str, application: &Application) -> CheckResult {
    let table = format!("{flow}.{}", key(application));
    let key = |name: &str| format!("{table}.{name}");
    if let Some(Size(bytes)) = application.packet_size() {
        require_range(key("size"), "the packet size in bytes", bytes, 1, MAX_DATAGRAM_BYTES)?;
    }
    match *application {
        Application::Transfer(Size(bytes)) => {
            require(bytes > 0, table.clone(), || "a transfer of 0 B".into())
        }
        Application::Ftp => Ok(()),
        Application::Cbr(Cbr { every, jitter, .. }) => {
            require_positive(key("every"), every)?;
            require((0.0..1.0).contains(&jitter), key("jitter"), || {
                format!(
                    "a jitter of {jitter}\njitter is a fraction of the interval, from 0 to below 1"
                )
            })
        }
        Application::Poisson(Poisson { every, .. }) => check_time(key("every"), every),
        Application::OnOff(OnOff { on, off, every, times, shape, .. }) => {
            check_time(key("every"), every)?;
            check_time(key("on"), on)?;
            require_at_most(key("off"), off, MAX_PROTOCOL_TIME)?;
            require(shape.is_none() || times == Times::Pareto, key("shape"), || {
                "`shape` without times = \"pareto\"\nleave it out".into()
            })?;
            check_shape(key("shape"), shape)
        }
        Application::RequestResponse(RequestResponse { request, response, think, shape }) => {
            for (name, Size(bytes)) in [("request", request), ("response", response)] {
                require(bytes > 0, key(name), || "a size of 0 B".into())?;
            }
            require_at_most(key("think"), think, MAX_PROTOCOL_TIME)?;
            check_shape(key("shape"), shape)
        }
    }
}

fn check_time(key: String, time: Time) -> CheckResult {
    require_positive(key.clone(), time)?;
    require_at_most(key, time, MAX_PROTOCOL_TIME)
}

/// A Pareto distribution has a mean if its shape is above 1.
fn check_shape(key: String, shape: Option<f64>) -> CheckResult {
    require(shape.is_none_or(|shape| shape > 1.0 && shape <= 100.0), key, || {
        let shape = shape.unwrap_or_default();
        format!("a shape of {shape}\nit is above 1, so that there is a mean, and at most 100")
    })
}
