//! CUBIC (RFC 9438). As in the RFC, windows are in segments and times in seconds.

use driftway_base::{Duration, Instant};

use super::contract::{
    AckedData, CongestionControl, CongestionWindow, ControlDescriptor, ControlOptions, MAX_WINDOW,
    grow_to_ssthresh,
};
use super::hystart::Hystart;
use super::linux_cubic::LinuxCubic;

/// Multiplicative decrease factor β_cubic (§4.6).
const BETA: f64 = 0.7;
/// Aggressiveness C (§5.1), in segments per second cubed.
const C: f64 = 0.4;
/// Additive increase of a Reno with CUBIC's β (α_cubic, §4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of CUBIC, and its state before the last reduction for an undo.
#[derive(Clone, Debug)]
pub struct Cubic {
    current: CubicState,
    saved: CubicState,
    hystart: Hystart,
    /// The curve in Linux' arithmetic, in place of RFC 9438's. Linux undoes a reduction of the window,
    /// but not of the curve.
    linux: Option<LinuxCubic>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CubicState {
    /// Window before the last reduction, after fast convergence (segments).
    w_max: f64,
    /// cwnd_prior: window just before the last reduction (segments).
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// Start of the time in which sending is not limited by cwnd.
    limited_since: Option<Instant>,
    /// Fraction of a byte not yet added to cwnd.
    fraction: f64,
}

/// One congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// K: seconds from `start` until the window is back at W_max.
    k: f64,
    /// Window at the inflection point of the curve (segments).
    origin: f64,
    /// W_est: window of a Reno with the same losses (segments).
    w_est: f64,
}

impl Epoch {
    /// W_cubic(t), equation 1.
    fn w_cubic(&self, seconds: f64) -> f64 {
        let t = seconds - self.k;
        C * t * t * t + self.origin
    }
}

impl CubicState {
    /// Excludes pauses from the time of the curve (§4.2).
    fn end_pause(&mut self, now: Instant) {
        if let (Some(since), Some(epoch)) = (self.limited_since.take(), &mut self.epoch) {
            epoch.start += now.since(since);
        }
    }
}

impl ControlDescriptor for Cubic {
    const NAME: &'static str = "cubic";

    fn from_options(options: &ControlOptions) -> Self {
        Self {
            current: CubicState::default(),
            saved: CubicState::default(),
            hystart: Hystart::new(options),
            linux: options.linux_growth.then(LinuxCubic::default),
        }
    }
}

impl CongestionControl for Cubic {
    fn wants_round_trips(&self) -> bool {
        self.hystart.is_used() || self.linux.is_some()
    }

    fn on_ack(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        let mut acked = *acked;
        if let Some(linux) = &mut self.linux {
            acked.rtt = acked.rtt.filter(|rtt| linux.on_round_trip(now, *rtt));
        }
        acked.bytes = self.hystart.on_ack(now, window, &acked);
        if !acked.cwnd_limited {
            // §5.8: while application-limited, the window is not a measure of the path.
            self.on_pause(now);
            return;
        }
        if let (Some(since), Some(linux)) = (self.current.limited_since, &mut self.linux) {
            linux.end_pause(now, since);
        }
        self.current.end_pause(now);
        if window.cwnd < window.ssthresh {
            // §4.2: after slow start a new stage begins.
            self.current.epoch = None;
        }
        let Some(bytes) = grow_to_ssthresh(window, acked.bytes, &acked) else { return };
        acked.bytes = bytes;
        if let Some(linux) = &mut self.linux {
            linux.on_ack(now, window, &acked);
            return;
        }
        let mss = f64::from(acked.mss.max(1));
        let cwnd = f64::from(window.cwnd) / mss;
        let w_max = self.current.w_max;
        let epoch = self.current.epoch.get_or_insert_with(|| {
            // §4.2: K counts from the start of this epoch; after slow start without a loss, the
            // curve starts at its inflection point.
            let (k, origin) =
                if cwnd < w_max { (libm::cbrt((w_max - cwnd) / C), w_max) } else { (0.0, cwnd) };
            Epoch { start: now, k, origin, w_est: cwnd }
        });
        let t = now.since(epoch.start).as_secs_f64();
        let rtt = acked.srtt.unwrap_or(Duration::ZERO).as_secs_f64();
        let segments = f64::from(acked.bytes) / mss;
        // §4.3: as fast as Reno where that is faster.
        let alpha = if epoch.w_est < self.current.cwnd_prior { ALPHA } else { 1.0 };
        epoch.w_est += alpha * segments / cwnd;
        let grown = if epoch.w_cubic(t) < epoch.w_est {
            epoch.w_est - cwnd
        } else {
            // §4.4, §4.5: towards the curve one round trip ahead, by at most half of cwnd.
            let target = epoch.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd);
            (target - cwnd) / cwnd * segments
        };
        // The same bound where one acknowledgment covers more than a window.
        let bytes = (grown.max(0.0) * mss + self.current.fraction).min(0.5 * cwnd * mss);
        let whole = bytes as u32;
        self.current.fraction = bytes - f64::from(whole);
        window.cwnd = window.cwnd.saturating_add(whole).min(MAX_WINDOW);
    }

    fn on_loss(
        &mut self,
        _now: Instant,
        window: &CongestionWindow,
        flight_size: u32,
        mss: u32,
    ) -> u32 {
        if let Some(linux) = &mut self.linux {
            return linux.on_loss(window, mss);
        }
        self.saved = self.current;
        let segment = f64::from(mss.max(1));
        let cwnd = f64::from(window.cwnd) / segment;
        // §4.7: fast convergence releases bandwidth for a new flow.
        self.current.w_max =
            if cwnd < self.current.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.current.cwnd_prior = cwnd;
        self.current.epoch = None;
        self.current.fraction = 0.0;
        // §4.6
        ((f64::from(flight_size) * BETA) as u32).max(mss.saturating_mul(2))
    }

    fn on_pause(&mut self, now: Instant) {
        self.current.limited_since = self.current.limited_since.or(Some(now));
    }

    fn on_timeout(&mut self) {
        // §4.8: the next curve starts at its inflection point.
        self.current.w_max = 0.0;
        if let Some(linux) = &mut self.linux {
            linux.on_timeout();
        }
        self.hystart.restart();
    }

    fn on_undo(&mut self) {
        // §4.9.1
        let limited_since = self.saved.limited_since.or(self.current.limited_since);
        self.current = CubicState { limited_since, ..self.saved };
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::congestion::test::acked;

    fn cubic() -> Cubic {
        Cubic::from_options(&ControlOptions::default())
    }

    fn grow_for(cubic: &mut Cubic, w: &mut CongestionWindow, seconds: f64, from: f64) {
        // One acknowledgment per segment, a round trip of 100 ms.
        let mut t = from;
        while t < from + seconds {
            let segments = w.cwnd / 1000;
            for i in 0..segments {
                let at = t + 0.1 * f64::from(i) / f64::from(segments);
                cubic.on_ack(Instant::from_nanos((at * 1e9) as u64), w, &acked(1000));
            }
            t += 0.1;
        }
    }

    #[test]
    fn returns_to_the_old_window_after_k_seconds() {
        let mut cubic = cubic();
        let mut w = CongestionWindow { cwnd: 100_000, ssthresh: 0 };
        w.ssthresh = cubic.on_loss(Instant::ZERO, &w, w.cwnd, 1000);
        assert_eq!(w.ssthresh, 70_000);
        w.cwnd = w.ssthresh;
        // K = cbrt(100·0.3/0.4) = 4.217 s
        grow_for(&mut cubic, &mut w, 4.2, 0.0);
        assert!((97_000..=101_000).contains(&w.cwnd), "{}", w.cwnd);
        grow_for(&mut cubic, &mut w, 4.2, 4.2);
        assert!(w.cwnd > 115_000, "{}", w.cwnd);
    }

    #[test]
    fn fast_convergence_and_undo() {
        let mut cubic = cubic();
        let w = CongestionWindow { cwnd: 100_000, ssthresh: 0 };
        cubic.on_loss(Instant::ZERO, &w, w.cwnd, 1000);
        let lower = CongestionWindow { cwnd: 80_000, ssthresh: 70_000 };
        cubic.on_loss(Instant::ZERO, &lower, lower.cwnd, 1000);
        assert!((cubic.current.w_max - 68.0).abs() < 1e-9);
        cubic.on_undo();
        assert!((cubic.current.w_max - 100.0).abs() < 1e-9);
    }

    #[test]
    fn an_application_limited_window_does_not_grow() {
        let mut cubic = cubic();
        let mut w = CongestionWindow { cwnd: 10_000, ssthresh: 20_000 };
        cubic.on_ack(Instant::ZERO, &mut w, &AckedData { cwnd_limited: false, ..acked(1000) });
        assert_eq!(w.cwnd, 10_000);
    }
}
