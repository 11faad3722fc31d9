//! The end of slow start before losses: HyStart as Linux has it, and HyStart++ (RFC 9406).

use driftway_base::{Duration, Instant, Seq};

use super::contract::{AckedData, CongestionWindow, ControlOptions, HystartKind};

/// RTT samples of a round that are needed (RFC 9406 §4.3: N_RTT_SAMPLE; Linux: HYSTART_MIN_SAMPLES).
const SAMPLES: u32 = 8;
/// Least and largest increase of the delay that counts (RFC 9406: MIN_RTT_THRESH, MAX_RTT_THRESH;
/// Linux: HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const INCREASE: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(16)];
/// Growth of Conservative Slow Start, as a fraction (RFC 9406: CSS_GROWTH_DIVISOR), and its length in
/// round trips (CSS_ROUNDS).
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
/// Largest growth per acknowledgment in segments, without pacing (RFC 9406: L).
const MOST_SEGMENTS: u32 = 8;
/// Linux' HyStart works from this window on (segments; `hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// Acknowledgments closer together belong to one train (`hystart_ack_delta_us`).
const TRAIN_GAP: Duration = Duration::from_millis(2);

/// Bytes that may be merged into one acknowledgment, and the longest time that this takes.
const MERGED_BYTES: u32 = 4 * 65_536;
const MAX_ACK_DELAY: Duration = Duration::from_millis(1);

/// State of the detection.
#[derive(Clone, Debug)]
pub(super) enum Hystart {
    None,
    Linux(LinuxHystart),
    Rfc9406(ConservativeSlowStart),
}

/// A round trip: it ends when what was sent by its start is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    end: Option<Seq>,
    min_rtt: Option<Duration>,
    samples: u32,
}

impl Round {
    fn until(end: Option<Seq>) -> Self {
        Self { end, min_rtt: None, samples: 0 }
    }
    fn add(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.samples = self.samples.saturating_add(1);
    }
}

#[derive(Clone, Debug)]
pub(super) struct LinuxHystart {
    round: Round,
    round_start: Instant,
    /// Time of the last acknowledgment of the train.
    last_ack: Instant,
    /// Minimum round-trip time since the last timeout.
    min_rtt: Option<Duration>,
    found: bool,
    paced: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ConservativeSlowStart {
    round: Round,
    last_round_min: Option<Duration>,
    /// Minimum RTT at the start of Conservative Slow Start, and round trips in it.
    css: Option<(Duration, u32)>,
    paced: bool,
}

impl Hystart {
    pub fn new(options: &ControlOptions) -> Self {
        let paced = options.pacing;
        match options.hystart {
            HystartKind::None => Self::None,
            HystartKind::Linux => Self::Linux(LinuxHystart::new(paced)),
            HystartKind::Rfc9406 => {
                Self::Rfc9406(ConservativeSlowStart { paced, ..Default::default() })
            }
        }
    }

    pub fn is_used(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Forgets everything, at a timeout.
    pub fn restart(&mut self) {
        match self {
            Self::None => {}
            Self::Linux(state) => *state = LinuxHystart::new(state.paced),
            Self::Rfc9406(state) => {
                *state = ConservativeSlowStart { paced: state.paced, ..Default::default() };
            }
        }
    }

    /// Handles an acknowledgment in slow start, before the window grows for it: may end slow start,
    /// and returns the bytes by which the window may grow.
    pub fn on_ack(
        &mut self,
        now: Instant,
        window: &mut CongestionWindow,
        acked: &AckedData,
    ) -> u32 {
        let starting = window.cwnd < window.ssthresh;
        match self {
            Self::Linux(state) => state.on_ack(now, window, acked, starting),
            Self::Rfc9406(state) if starting => return state.on_ack(window, acked),
            Self::None | Self::Rfc9406(_) => {}
        }
        acked.bytes
    }
}

impl LinuxHystart {
    fn new(paced: bool) -> Self {
        let start = Instant::ZERO;
        let round = Round::default();
        Self { round, round_start: start, last_ack: start, min_rtt: None, found: false, paced }
    }

    fn on_ack(
        &mut self,
        now: Instant,
        window: &mut CongestionWindow,
        acked: &AckedData,
        starting: bool,
    ) {
        let Some(rtt) = acked.rtt else { return };
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(least);
        if self.found || !starting {
            return;
        }
        if self.round.end.is_none_or(|end| acked.una.after(end)) {
            self.round = Round::until(Some(acked.max));
            (self.round_start, self.last_ack) = (now, now);
        }
        if window.cwnd / acked.mss.max(1) < LOW_WINDOW {
            return;
        }
        if now.since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = now;
            // Pacing spreads a window over half a round trip by itself.
            let whole = least + ack_delay(window, acked);
            let longest = if self.paced { whole } else { whole.over(2) };
            self.found = now.since(self.round_start) > longest;
        }
        let enough = self.round.samples >= SAMPLES;
        self.round.add(rtt);
        let increase = least.over(8).clamp(INCREASE[0], INCREASE[1]);
        let delayed = self.round.min_rtt.is_some_and(|of_round| of_round > least + increase);
        self.found |= enough && delayed;
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }
}

/// The time for which segments may be merged on their way (Linux: `hystart_ack_delay`).
fn ack_delay(window: &CongestionWindow, acked: &AckedData) -> Duration {
    let Some(srtt) = acked.srtt else { return MAX_ACK_DELAY };
    // At twice the window per round trip.
    let nanos = u64::from(MERGED_BYTES) * srtt.as_nanos() / (2 * u64::from(window.cwnd.max(1)));
    Duration::from_nanos(nanos).min(MAX_ACK_DELAY)
}

impl ConservativeSlowStart {
    /// RFC 9406 §4.2.
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckedData) -> u32 {
        // The acknowledgment that ends a round is of data sent in the round before.
        if let Some(rtt) = acked.rtt {
            self.round.add(rtt);
        }
        // What the first acknowledgment of a round permits still belongs to that round.
        let end = *self.round.end.get_or_insert(acked.max);
        if acked.una.at_or_after(end) {
            self.last_round_min = self.round.min_rtt;
            self.round = Round::until(None);
            if let Some((_, rounds)) = &mut self.css {
                *rounds += 1;
                if *rounds > CSS_ROUNDS {
                    window.ssthresh = window.cwnd;
                    return acked.bytes;
                }
            }
        }
        let now = self.round.min_rtt.filter(|_| self.round.samples >= SAMPLES);
        match (self.css, now, self.last_round_min) {
            (None, Some(current), Some(last)) => {
                let increase = last.over(8).clamp(INCREASE[0], INCREASE[1]);
                if current >= last + increase {
                    self.css = Some((current, 1));
                }
            }
            // The increase was no queue.
            (Some((baseline, _)), Some(current), _) if current < baseline => self.css = None,
            _ => {}
        }
        let most = if self.paced { u32::MAX } else { MOST_SEGMENTS.saturating_mul(acked.mss) };
        let grown = acked.bytes.min(most);
        if self.css.is_some() { grown / CSS_GROWTH_DIVISOR } else { grown }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::congestion::test::acked;
    use crate::congestion::{CongestionControl, ControlDescriptor};

    /// A sender in slow start whose round-trip time is `rtt` of the window in segments (ms), a
    /// segment acknowledged every `gap` microseconds: the windows at which the rounds ended.
    fn windows(hystart: HystartKind, rtt: fn(u32) -> u64, gap: u64, rounds: u32) -> Vec<u32> {
        let options = ControlOptions { hystart, linux_growth: true, ..ControlOptions::default() };
        let mut control = super::super::cubic::Cubic::from_options(&options);
        let mut window = CongestionWindow { cwnd: 10_000, ssthresh: 1_000_000 };
        let (mut start, mut una, mut max) = (Instant::ZERO, 0_u32, 10_000_u32);
        (0..rounds)
            .map(|_| {
                let of_round = window.cwnd / 1000;
                let span = Duration::from_millis(rtt(of_round));
                for n in 0..of_round {
                    una += 1000;
                    let now = start + span + Duration::from_micros(gap * u64::from(n));
                    let data = AckedData {
                        rtt: Some(span),
                        una: Seq(una),
                        max: Seq(max),
                        byte_counting: true,
                        ..acked(1000)
                    };
                    control.on_ack(now, &mut window, &data);
                    max = una + window.cwnd;
                }
                start += span;
                window.cwnd / 1000
            })
            .collect()
    }
    use std::vec::Vec;

    #[test]
    fn without_it_slow_start_doubles() {
        assert_eq!(windows(HystartKind::None, |_| 40, 100, 5), [20, 40, 80, 160, 320]);
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_linux_slow_start() {
        // 1 ms between ACKs: the train of the third round, from 20 ms on, with 40 segments.
        let seen = windows(HystartKind::Linux, |_| 40, 1000, 5);
        assert_eq!(seen[..2], [20, 40]);
        assert!((60..64).contains(&seen[2]), "{seen:?}");
        assert!(seen[4] < 70, "{seen:?}");
    }

    #[test]
    fn a_delay_ends_slow_start() {
        // A queue from 40 segments on: 40 ms, then one more for each segment.
        let rtt = |segments: u32| 40 + u64::from(segments.saturating_sub(40));
        let linux = windows(HystartKind::Linux, rtt, 10, 6);
        assert!(linux[5] < 105, "{linux:?}");
        let rfc = windows(HystartKind::Rfc9406, rtt, 10, 5);
        assert_eq!(rfc[..3], [20, 40, 80]);
        // Conservative Slow Start: a quarter of the growth.
        assert!((80..130).contains(&rfc[3]), "{rfc:?}");
    }

    #[test]
    fn conservative_slow_start_goes_on_if_the_delay_was_no_queue() {
        // Longer in one round only.
        let rtt = |segments: u32| if segments == 80 { 60 } else { 40 };
        let seen = windows(HystartKind::Rfc9406, rtt, 10, 5);
        assert!(seen[3] < 120 && seen[4] * 10 > seen[3] * 18, "{seen:?}");
    }
}
