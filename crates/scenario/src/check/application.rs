//! Validation of applications.

use crate::application::Times;
use crate::problem::{CheckResult, require};
use crate::rules::Table;
use crate::{Application, Size};

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
    match application {
        Application::Transfer(Size(bytes)) => {
            require(*bytes > 0, table, || "a transfer of 0 B".into())
        }
        Application::Ftp => Ok(()),
        Application::Cbr(cbr) => cbr.check_ranges(&table),
        Application::Poisson(poisson) => poisson.check_ranges(&table),
        Application::OnOff(bursts) => {
            let has_shape = bursts.shape.is_none() || bursts.times == Times::Pareto;
            require(has_shape, format!("{table}.shape"), || {
                "`shape` without times = \"pareto\"\nleave it out".into()
            })?;
            bursts.check_ranges(&table)
        }
        Application::RequestResponse(requests) => requests.check_ranges(&table),
    }
}
