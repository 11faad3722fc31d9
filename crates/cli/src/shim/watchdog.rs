//! Watchdog process, which kills a shim that hangs: this program as `driftway shim watchdog`.

use driftway_host::{OwnUser, Watchdog, this_program};
use tracing::warn;

use super::args::WatchdogArgs;
use super::failed;
use crate::failure::Failure;

/// Starts the watchdog of this process, which will run as `user`. Without a watchdog the shim still
/// runs: if it hangs, new packets pass, but packets in its queue wait.
pub fn start(user: Option<OwnUser>) -> Option<Watchdog> {
    let mut command = this_program();
    command.args(["shim", "watchdog"]);
    command.args(user.iter().flat_map(OwnUser::numbers).map(|number| number.to_string()));
    let started = Watchdog::start(command);
    started.inspect_err(|error| warn!(%error, "can't start the watchdog")).ok()
}

/// Runs as the watchdog, until its shim has ended.
pub fn watch(args: &WatchdogArgs) -> Result<(), Failure> {
    let user = match args.user[..] {
        [user, group] => Some(OwnUser::new(user, group)),
        _ => None,
    };
    driftway_host::watch(user).map(drop).map_err(|e| failed("monitor the shim", &e))
}
