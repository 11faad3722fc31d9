//! Methods that the MACs of an air have in common: their clock, and what a driver looks at.

/// Implements the methods of a MAC, whose configuration is a `$config` and whose stations, with their packets
/// and counters, are in the field `$stations`.
macro_rules! mac_methods {
    ($mac:ident of $config:ty, $stations:ident) => {
        impl $mac {
            fn advance(&mut self, now: u64) {
                debug_assert!(now >= self.now, "time went back from {} to {now} ns", self.now);
                self.now = now;
            }

            /// Returns whether a station has a packet that it has not reported.
            pub fn has_packet(&self, station: StationId) -> bool {
                self.$stations[station].packet.is_some()
            }

            /// Returns the time of the next event, which may turn out to have no effect.
            pub fn next_timeout(&self) -> Option<Instant> {
                self.event_queue.peek().map(|event| Instant::from_nanos(event.at()))
            }

            /// Returns the counters of a station.
            pub fn counters(&self, station: StationId) -> &$crate::counters::Counters {
                &self.$stations[station].counters
            }

            /// Returns the sum of all stations' counters.
            pub fn total_counters(&self) -> $crate::counters::Counters {
                let mut sum = $crate::counters::Counters::default();
                self.$stations.iter().for_each(|station| sum += station.counters);
                sum
            }

            /// Counts the time that radios spend in each state, from the start on: call it before the
            /// first event.
            pub fn count_radio_times(&mut self) {
                self.radio_times = Some($crate::radio_time::RadioTimes::new(self.$stations.len()));
            }

            /// Returns the times of a station's radio up to `now`, if they are counted.
            pub fn radio_time(
                &self,
                station: StationId,
                now: Instant,
            ) -> Option<$crate::RadioTime> {
                self.radio_times.as_ref().map(|times| times.time(station, now))
            }

            /// Returns the number of events handled.
            pub const fn events_handled(&self) -> u64 {
                self.event_queue.handled()
            }

            /// Returns the positions of the stations.
            pub fn positions(&mut self) -> &mut Positions {
                &mut self.positions
            }

            /// Returns the power (W) that `to` would receive from `from` at the current positions.
            pub fn received_power(&mut self, now: Instant, from: StationId, to: StationId) -> f64 {
                let positions = &mut self.positions;
                let (a, b) = (positions.position(from, now), positions.position(to, now));
                let (dx, dy) = (a.0 - b.0, a.1 - b.1);
                let moved = positions.distance_moved(from, now) + positions.distance_moved(to, now);
                self.propagation.power_after_moving(from, to, dx * dx + dy * dy, moved)
            }

            /// Returns the propagation model.
            pub const fn propagation(&self) -> &Propagation {
                &self.propagation
            }

            /// Returns the configuration.
            pub const fn config(&self) -> &$config {
                &self.config
            }

            /// Enables or disables recording of frames for [`take_recorded`](Self::take_recorded).
            pub fn set_recording(&mut self, on: bool) {
                self.recorder.set_enabled(on);
            }

            /// Moves the recorded frames that have ended to `out`, in order of their start.
            pub fn take_recorded(&mut self, out: &mut Vec<FrameRecord>) {
                self.recorder.drain_into(out);
            }
        }
    };
}
pub(crate) use mac_methods;
