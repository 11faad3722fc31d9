//! CUBIC's curve as Linux computes it (`net/ipv4/tcp_cubic.c` of Linux 6, as observed and as its
//! documentation says): in whole segments, at most one computation in a 32nd of a second at one
//! window, with the region of Reno's friendliness at RFC 9438's α < 1 for ever.

use driftway_base::{Duration, Instant};

use super::contract::{AckedData, CongestionWindow};
use super::whole_segments::{WholeSegments, segments};

/// β_cubic, and one (§4.6), in 1024ths.
const BETA: u64 = 717;
const ONE: u64 = 1024;
/// C (§5.1) in segments per second cubed.
const C: f64 = 410.0 / 1024.0;
/// The window is computed again if it has changed, or after this.
const UPDATE_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 32);
/// Round-trip times in the first second of an epoch are not a measure of the path: recovery's queue
/// is still there.
const AFTER_RECOVERY: Duration = Duration::from_secs(1);

/// State of the curve, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinuxCubic {
    /// Window before the last reduction, after fast convergence; 0: none, or a timeout.
    last_max: u32,
    epoch: Option<Epoch>,
    /// Minimum round-trip time.
    min_rtt: Option<Duration>,
    /// Acknowledged segments for one segment of growth.
    per_segment: u32,
    /// Window and time of the last computation.
    computed: Option<(u32, Instant)>,
    whole: WholeSegments,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Seconds until the window is at `origin`.
    k: f64,
    origin: u32,
    /// Acknowledged segments that have not yet grown `reno`.
    acked: u32,
    /// Window of a Reno with the same losses.
    reno: u32,
}

impl LinuxCubic {
    /// Takes a round-trip time; false if it is not to be used.
    pub fn on_round_trip(&mut self, now: Instant, rtt: Duration) -> bool {
        if self.epoch.is_some_and(|epoch| now.since(epoch.start) < AFTER_RECOVERY) {
            return false;
        }
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        true
    }

    /// Postpones the epoch by a pause since `since`.
    pub fn end_pause(&mut self, now: Instant, since: Instant) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + now.since(since)).min(now);
        }
    }

    /// Congestion avoidance.
    pub fn on_ack(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        let cwnd = segments(window, acked.mss);
        self.compute(now, cwnd, acked.bytes / acked.mss.max(1));
        self.whole.add(window, acked.bytes, acked.mss, self.per_segment);
    }

    fn compute(&mut self, now: Instant, cwnd: u32, acked: u32) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
        }
        let fresh = self.computed.is_some_and(|(of, at)| {
            of == cwnd && now.since(at) <= UPDATE_INTERVAL && self.per_segment > 0
        });
        if fresh {
            return;
        }
        self.computed = Some((cwnd, now));
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let missing = last_max.saturating_sub(cwnd);
            let k = libm::cbrt(f64::from(missing) / C);
            Epoch { start: now, k, origin: last_max.max(cwnd), acked, reno: cwnd }
        });
        let t = (now.since(epoch.start) + self.min_rtt.unwrap_or(Duration::ZERO)).as_secs_f64();
        let distance = t - epoch.k;
        let target = i64::from(epoch.origin) + (C * distance * distance * distance) as i64;
        let above = target.saturating_sub(cwnd.into());
        let mut per_segment = match u32::try_from(above) {
            Ok(above) if above > 0 => cwnd / above,
            _ => cwnd.saturating_mul(100),
        };
        if last_max == 0 {
            // Without a known maximum, at least a twentieth in each round trip.
            per_segment = per_segment.min(20);
        }
        // RFC 9438 §4.3: Reno with β grows by a segment in 15/8 round trips.
        let round = (u64::from(cwnd) * 15 / 8).max(1) as u32;
        epoch.reno = epoch.reno.saturating_add(epoch.acked.saturating_sub(1) / round);
        epoch.acked -= epoch.acked.saturating_sub(1) / round * round;
        if epoch.reno > cwnd {
            per_segment = per_segment.min(cwnd / (epoch.reno - cwnd));
        }
        self.per_segment = per_segment.max(2);
    }

    /// The slow-start threshold (bytes) after a loss.
    pub fn on_loss(&mut self, window: &CongestionWindow, mss: u32) -> u32 {
        let cwnd = segments(window, mss);
        self.epoch = None;
        self.whole.reset();
        // §4.7: fast convergence.
        self.last_max = match cwnd < self.last_max {
            true => (u64::from(cwnd) * (ONE + BETA) / (2 * ONE)) as u32,
            false => cwnd,
        };
        ((u64::from(cwnd) * BETA / ONE) as u32).max(2).saturating_mul(mss)
    }

    /// Forgets the curve.
    pub fn on_timeout(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::congestion::test::acked;

    /// Windows after each tenth round trip of `rtt` ms, an acknowledgment for two segments, after a
    /// loss at `cwnd` segments.
    fn windows(rtt: u64, cwnd: u32) -> std::vec::Vec<u32> {
        let mut cubic = LinuxCubic::default();
        let mut window = CongestionWindow { cwnd: cwnd * 1000, ssthresh: 0 };
        window.ssthresh = cubic.on_loss(&window, 1000);
        window.cwnd = window.ssthresh;
        let mut windows = std::vec![];
        for round in 0..40_u64 {
            let acks = window.cwnd / 2000;
            for n in 0..acks {
                let at = rtt * round + rtt * u64::from(n) / u64::from(acks);
                cubic.on_ack(Instant::from_millis(at), &mut window, &acked(2000));
            }
            if round % 10 == 9 {
                windows.push(window.cwnd / 1000);
            }
        }
        windows
    }

    #[test]
    fn at_short_round_trips_it_is_a_reno_that_grows_by_eight_segments_in_fifteen() {
        // From 14: 5.3 more in ten round trips.
        let seen = windows(40, 20);
        for (n, window) in (1_u32..).zip(&seen) {
            assert!(window.abs_diff(14 + n * 16 / 3) <= 1, "{seen:?}");
        }
    }

    #[test]
    fn at_long_ones_it_follows_the_curve() {
        // RFC 9438 §4.2: K = cbrt(30 / 0.4) = 4.2 s; at 2, 4, 6, 8 s: 95.7, 100, 102.3, 121.9.
        let seen = windows(200, 100);
        for (window, wanted) in seen.iter().zip([95, 99, 102, 121]) {
            assert!(window.abs_diff(wanted) <= 3, "{seen:?}");
        }
    }
}
