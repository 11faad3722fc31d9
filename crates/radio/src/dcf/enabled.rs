//! Stations that are disabled: off the air, as a host that has lost its power or left.

use driftway_base::{Instant, StationId};

use super::Dcf;
use super::access_state::{AccessState, DISABLED, PROMISCUOUS, Phase, RX_FAILED};
use crate::{FailReason, MacReport, OutgoingPacket};

impl Dcf {
    /// Disables or enables a station; all are enabled at first. Nothing happens if it already is.
    ///
    /// A disabled station neither transmits nor receives, and [`can_accept`](Self::can_accept)
    /// refuses packets for it.
    ///
    /// - Its packet is reported by the next [`run`](Self::run), which is due at this instant:
    ///   unicast as `Failed`, with [`FailReason::NoCts`] if it uses RTS and CTS and else with
    ///   [`FailReason::NoAck`]; a broadcast as `Sent`, since the senders of broadcasts learn
    ///   nothing about reception.
    /// - Its frame on the air is cut: the stations that receive it find an error at the frame's
    ///   announced end, until which they consider the medium busy, as a physical layer does that
    ///   loses the carrier (§15.2.7). Airtime and record of the frame remain those announced.
    /// - A frame that has not been received completely when its receiver is disabled, or that
    ///   begins while it is, is lost there as out of range, without counters.
    ///
    /// An enabled station is idle and remembers no exchange, retries or NAV; its counters, sequence
    /// numbers, random streams and promiscuous mode continue. It senses the frames that are on the
    /// air, but decodes only those that begin later, and waits for a DIFS from this instant on or
    /// from the end of those frames.
    pub fn set_enabled(&mut self, now: Instant, station: StationId, enabled: bool) {
        self.advance(now.as_nanos());
        if self.is_enabled(station) != enabled {
            if enabled {
                self.enable(station);
                let now = self.now;
                self.radio_times.iter_mut().for_each(|times| times.on_on(station, now));
            } else {
                self.disable(station);
                let now = self.now;
                self.radio_times.iter_mut().for_each(|times| times.on_off(station, now));
            }
        }
    }

    /// Returns whether a station is enabled.
    pub fn is_enabled(&self, station: StationId) -> bool {
        !self.access_states[station].has(DISABLED)
    }

    fn disable(&mut self, station: StationId) {
        self.event_queue.forget_station(station);
        self.transmissions.cut(station);
        self.transmissions.lose_at(station);
        let state = &mut self.transmit_states[station];
        state.forget_exchange(&self.config);
        let has_packet = state.packet.is_some();
        let access = &mut self.access_states[station];
        // The frames in the air around it are followed all the time, for when it is enabled.
        *access = AccessState {
            rx_start: access.rx_start,
            rx_end: access.rx_end,
            rx_signal: access.rx_signal,
            tx_end: access.tx_end.min(self.now),
            phase: if has_packet { Phase::Aborted } else { Phase::Idle },
            flags: access.flags & PROMISCUOUS | DISABLED,
            ..AccessState::NEW
        };
        if has_packet {
            self.arm_timer_at(station, self.now);
        }
    }

    fn enable(&mut self, station: StationId) {
        let access = &mut self.access_states[station];
        access.clear(DISABLED);
        access.busy_until = self.now;
        let on_air = access.rx_end > self.now;
        access.set_to(RX_FAILED, on_air && self.config.eifs_when_only_sensed);
        debug_assert_eq!(access.rx_transmission, None, "it decodes none of these frames");
    }

    /// Reports the packet of a station that was disabled.
    #[cold]
    #[inline(never)]
    pub(super) fn report_aborted(&mut self, station: StationId, reports: &mut Vec<MacReport>) {
        self.access_states[station].phase = Phase::Idle;
        let state = &mut self.transmit_states[station];
        let Some(OutgoingPacket { id, to, .. }) = state.packet.take() else { return };
        let at = Instant::from_nanos(self.now);
        reports.push(match to {
            None => MacReport::Sent { station, id, to, at },
            Some(to) => {
                let reason = if state.uses_rts { FailReason::NoCts } else { FailReason::NoAck };
                state.counters.count_failure(reason);
                MacReport::Failed { station, id, to, reason, at }
            }
        });
    }
}
