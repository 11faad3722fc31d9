//! Segments that do not leave the host.

use driftway_base::Instant;

use super::control_block::Connection;
use crate::send_state::RecoveryPhase;

impl Connection {
    /// Handles that the host's own interface has dropped a segment of this connection, because it has no carrier.
    ///
    /// Linux responds to the first one as to a mark of congestion, in proportion to what is delivered, but keeps nothing
    /// that could undo it; nor can a timeout that follows be undone then, though it may be found spurious. The
    /// window stays at what it has grown to since, although all that was in flight still is.
    pub fn on_local_drop(&mut self, now: Instant) {
        if !self.config.local_drops || !self.state.is_synchronized() {
            return;
        }
        let snd = &mut self.snd;
        if snd.send_state.phase() == RecoveryPhase::Open && !snd.send_state.is_reducing() {
            snd.send_state.reduce_for_ecn(now);
            snd.undo_state = None;
            snd.on_cwnd_reduced();
        }
        snd.send_state.congestion.make_reduction_final();
    }
}
