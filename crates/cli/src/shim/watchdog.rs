//! Watchdog process, which kills a shim that hangs: this program as `driftway shim watchdog`.

use driftway_linux::{DedicatedUser, Watchdog, current_executable};
use tracing::warn;

use super::args::WatchdogArgs;
use crate::failure::{Failure, failed};

/// Starts the watchdog of this process, which will run as `user`. Without a watchdog the shim still
/// runs: if it hangs, new packets pass, but packets in its queue wait.
pub fn start(user: Option<DedicatedUser>) -> Option<Watchdog> {
    let mut command = current_executable();
    command.args(["shim", "watchdog"]);
    command.args(user.iter().flat_map(DedicatedUser::ids).map(|number| number.to_string()));
    let started = Watchdog::start(command);
    started.inspect_err(|error| warn!(%error, "cannot start the watchdog")).ok()
}

/// Runs as the watchdog, until its shim has ended.
pub fn watch(args: &WatchdogArgs) -> Result<(), Failure> {
    let user = match args.user[..] {
        [user, group] => Some(DedicatedUser::new(user, group)),
        _ => None,
    };
    driftway_linux::run_watchdog(user).map(drop).map_err(|e| failed("monitor the shim", &e))
}
