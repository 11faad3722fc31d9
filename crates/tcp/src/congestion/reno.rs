//! Slow start and congestion avoidance (RFC 5681 §3.1).

use driftway_base::Instant;

use super::contract::{
    AckedData, CongestionControl, CongestionWindow, ControlDescriptor, ControlOptions, HystartKind,
    MAX_WINDOW, grow_to_ssthresh,
};
use super::hystart::Hystart;
use super::whole_segments::{WholeSegments, segments};

/// Additive increase, multiplicative decrease by half.
#[derive(Debug)]
pub struct Reno {
    hystart: Hystart,
    /// Growth in whole segments, as in Linux.
    whole: Option<WholeSegments>,
}

impl ControlDescriptor for Reno {
    const NAME: &'static str = "reno";
    const CLASSIC: bool = true;

    fn from_options(options: &ControlOptions) -> Self {
        // Linux' HyStart is a part of its CUBIC.
        let hystart = match options.hystart {
            HystartKind::Linux => HystartKind::None,
            other => other,
        };
        Self {
            hystart: Hystart::new(&ControlOptions { hystart, ..*options }),
            whole: options.linux_growth.then(WholeSegments::default),
        }
    }
}

impl CongestionControl for Reno {
    fn wants_round_trips(&self) -> bool {
        self.hystart.is_used()
    }

    fn on_ack(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        let bytes = self.hystart.on_ack(now, window, acked);
        let Some(bytes) = grow_to_ssthresh(window, bytes, acked) else { return };
        if let Some(whole) = &mut self.whole {
            let per_segment = segments(window, acked.mss);
            whole.add(window, bytes, acked.mss, per_segment);
            return;
        }
        // RFC 5681 §3.1, equation 3: about one segment a round trip.
        let squared = u64::from(acked.mss) * u64::from(acked.mss);
        let increment = (squared / u64::from(window.cwnd.max(1))).max(1) as u32;
        window.cwnd = window.cwnd.saturating_add(increment).min(MAX_WINDOW);
    }

    fn on_loss(
        &mut self,
        _now: Instant,
        window: &CongestionWindow,
        flight_size: u32,
        mss: u32,
    ) -> u32 {
        if let Some(whole) = &mut self.whole {
            whole.reset();
            return (segments(window, mss) / 2).max(2).saturating_mul(mss);
        }
        // RFC 5681 §3.1, equation 4.
        (flight_size / 2).max(mss.saturating_mul(2))
    }

    fn on_timeout(&mut self) {
        self.hystart.restart();
    }

    fn on_undo(&mut self) {}
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::congestion::test::acked;

    fn reno() -> Reno {
        Reno::from_options(&ControlOptions::default())
    }

    #[test]
    fn doubles_then_adds_a_segment_per_round_trip() {
        let mut reno = reno();
        let mut w = CongestionWindow { cwnd: 1000, ssthresh: 4000 };
        for _ in 0..3 {
            reno.on_ack(Instant::ZERO, &mut w, &acked(1000));
        }
        assert_eq!(w.cwnd, 4000);
        for _ in 0..4 {
            reno.on_ack(Instant::ZERO, &mut w, &acked(1000));
        }
        assert!((4850..=5000).contains(&w.cwnd), "{}", w.cwnd);
        // An acknowledgment of less than a segment grows the window by no more than it
        // acknowledges.
        let mut w = CongestionWindow { cwnd: 1000, ssthresh: 4000 };
        reno.on_ack(Instant::ZERO, &mut w, &acked(10));
        assert_eq!(w.cwnd, 1010);
    }

    #[test]
    fn halves_flight_size_but_keeps_two_segments() {
        let w = CongestionWindow { cwnd: 10_000, ssthresh: 10_000 };
        assert_eq!(reno().on_loss(Instant::ZERO, &w, 10_000, 1000), 5000);
        assert_eq!(reno().on_loss(Instant::ZERO, &w, 1500, 1000), 2000);
    }

    #[test]
    fn linux_counts_whole_segments_of_delivered_data() {
        let mut reno =
            Reno::from_options(&ControlOptions { linux_growth: true, ..Default::default() });
        let mut w = CongestionWindow { cwnd: 4000, ssthresh: 4000 };
        let mut windows = std::vec![];
        for _ in 0..5 {
            reno.on_ack(Instant::ZERO, &mut w, &acked(2000));
            windows.push(w.cwnd);
        }
        // Four segments make five of them, five six.
        assert_eq!(windows, [4000, 5000, 5000, 5000, 6000]);
        let odd = CongestionWindow { cwnd: 11_000, ssthresh: 0 };
        assert_eq!(reno.on_loss(Instant::ZERO, &odd, 0, 1000), 5000);
    }
}
