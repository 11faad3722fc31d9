//! Slow start and congestion avoidance (RFC 5681 §3.1).

use driftway_base::Instant;

use super::contract::{
    AckedData, CongestionWindow, GrowthDescriptor, MAX_WINDOW, WindowGrowth, slow_start,
};

/// Additive increase, multiplicative decrease by half. Stateless.
#[derive(Debug, Default)]
pub struct Reno;

impl GrowthDescriptor for Reno {
    const NAME: &'static str = "reno";
    const CLASSIC: bool = true;
}

impl WindowGrowth for Reno {
    fn on_ack(&mut self, _now: Instant, window: &mut CongestionWindow, acked: AckedData) {
        let Some(acked) = slow_start(window, acked) else { return };
        // RFC 5681 §3.1, equation 3: about one segment a round trip.
        let squared = u64::from(acked.mss) * u64::from(acked.mss);
        let increment = (squared / u64::from(window.cwnd.max(1))).max(1) as u32;
        window.cwnd = window.cwnd.saturating_add(increment).min(MAX_WINDOW);
    }

    fn on_congestion(
        &mut self,
        _now: Instant,
        _window: &CongestionWindow,
        flight_size: u32,
        mss: u32,
    ) -> u32 {
        // RFC 5681 §3.1, equation 4.
        (flight_size / 2).max(mss.saturating_mul(2))
    }

    fn on_undo(&mut self) {}
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn doubles_then_adds_a_segment_per_round_trip() {
        let mut w = CongestionWindow { cwnd: 1000, ssthresh: 4000 };
        let acked = AckedData {
            bytes: 1000,
            mss: 1000,
            byte_counting: false,
            srtt: None,
            cwnd_limited: true,
        };
        for _ in 0..3 {
            Reno.on_ack(Instant::ZERO, &mut w, acked);
        }
        assert_eq!(w.cwnd, 4000);
        for _ in 0..4 {
            Reno.on_ack(Instant::ZERO, &mut w, acked);
        }
        assert!((4850..=5000).contains(&w.cwnd), "{}", w.cwnd);
        // An acknowledgment of less than a segment grows the window by no more than it
        // acknowledges.
        let mut w = CongestionWindow { cwnd: 1000, ssthresh: 4000 };
        Reno.on_ack(Instant::ZERO, &mut w, AckedData { bytes: 10, ..acked });
        assert_eq!(w.cwnd, 1010);
    }

    #[test]
    fn halves_flight_size_but_keeps_two_segments() {
        let w = CongestionWindow { cwnd: 10_000, ssthresh: 10_000 };
        assert_eq!(Reno.on_congestion(Instant::ZERO, &w, 8000, 1000), 4000);
        assert_eq!(Reno.on_congestion(Instant::ZERO, &w, 1000, 1000), 2000);
    }
}
