//! The part of a run that its time–sequence plot shows at first.

use driftway_base::Instant;
use driftway_sim::trace::FlowEvent;

use super::{MAX_SENT, TimeSequencePlot};
use crate::report::thinning::Span;

/// Shortest initial time span (s).
const MIN_SPAN_S: f64 = 2.0;

/// Part of the initial time span before the fault around which it is.
const PART_BEFORE_FAULT: f64 = 0.2;

/// Initial time span of a time–sequence plot (s).
const INITIAL_SPAN_S: f64 = 20.0;

/// Number of new segments that the initial time span must have.
const MIN_NEW_SEGMENTS: usize = 10;

impl TimeSequencePlot<'_> {
    /// Initial time span of the time–sequence plot: some seconds with the fault of the network that is nearest to the middle
    /// of the transfer; without faults, around the retransmission nearest to the middle that has enough new data around it, or
    /// around the middle; the whole run if the transfer is short. With many segments it is shorter, so that all are drawn.
    pub(super) fn initial_span(&self) -> Span {
        let times = || self.trace.events.iter().map(|(at, _)| at.as_secs_f64());
        let begin = times().next().unwrap_or(0.0);
        let end = times().next_back().unwrap_or(self.end_s);
        if end - begin <= INITIAL_SPAN_S {
            return (0.0, self.end_s);
        }
        let sent = |retransmission: bool| {
            let time = move |(at, event): &(Instant, FlowEvent)| match event {
                FlowEvent::Sent(segment) if segment.retransmission == retransmission => {
                    Some(at.as_secs_f64())
                }
                _ => None,
            };
            self.trace.events.iter().filter_map(time).collect::<Vec<f64>>()
        };
        let around = |centre: f64| {
            let from = (centre - INITIAL_SPAN_S / 2.0).clamp(begin, end - INITIAL_SPAN_S).floor();
            (from, from + INITIAL_SPAN_S)
        };
        let new = sent(false);
        if let Some(fault) = self.fault_near_middle((begin, end)) {
            return self.span_with_fault(fault, (begin, end), &new);
        }
        let lively = |at: &f64| {
            let (from, to) = around(*at);
            new.partition_point(|at| *at <= to) - new.partition_point(|at| *at < from)
                >= MIN_NEW_SEGMENTS
        };
        let middle = f64::midpoint(begin, end);
        let nearest = |a: &f64, b: &f64| (a - middle).abs().total_cmp(&(b - middle).abs());
        let resent = sent(true);
        let centre = resent.iter().copied().filter(lively).min_by(nearest);
        around(centre.or_else(|| resent.into_iter().min_by(nearest)).unwrap_or(middle))
    }

    /// The fault that begins nearest to the middle of the transfer; `None` if there is none during it.
    fn fault_near_middle(&self, (begin, end): Span) -> Option<Span> {
        let middle = f64::midpoint(begin, end);
        let all = self.fault_spans().into_iter().flat_map(|(_, spans)| spans);
        let during = all.filter(|(from, to)| *from < end && *to > begin);
        during.min_by(|a, b| (a.0 - middle).abs().total_cmp(&(b.0 - middle).abs()))
    }

    /// A time span with the whole fault and more time after it than before.
    fn span_with_fault(&self, fault: Span, (begin, end): Span, new: &[f64]) -> Span {
        let least = ((fault.1 - fault.0) * 1.5).max(MIN_SPAN_S);
        let within = |length: f64| {
            let from = (fault.0 - length * PART_BEFORE_FAULT).min(end - length).max(begin);
            (from, from + length)
        };
        let count = |(from, to): Span| {
            new.partition_point(|at| *at <= to) - new.partition_point(|at| *at < from)
        };
        let mut length = least.max(INITIAL_SPAN_S);
        if length >= end - begin {
            return (0.0, self.end_s);
        }
        while length / 2.0 >= least && count(within(length)) > MAX_SENT / 2 / self.flows {
            length /= 2.0;
        }
        within(length)
    }
}

#[cfg(test)]
mod test {
    use driftway_scenario::FaultKind;
    use driftway_sim::trace::{FaultEvent, FlowTrace, SentSegment};

    use super::*;

    /// A segment every second from 0 to 100 s, except in `silence`; those in `resent` are
    /// retransmissions.
    fn trace(resent: &[u64], silence: std::ops::Range<u64>) -> FlowTrace {
        let segment = |second: u64| {
            let segment = SentSegment {
                rto: None,
                offset: second * 100,
                length: 100,
                retransmission: resent.contains(&second),
                cwnd: 0,
                ssthresh: 0,
            };
            (Instant::from_secs(second), FlowEvent::Sent(segment))
        };
        let sent = (0..=100).filter(|second| resent.contains(second) || !silence.contains(second));
        let mut trace = FlowTrace::default();
        trace.events.extend(sent.map(segment));
        trace
    }

    #[test]
    fn the_initial_span_is_around_a_retransmission_near_the_middle() {
        let shown = |resent: &[u64]| {
            let trace = trace(resent, 0..0);
            let plot =
                TimeSequencePlot { name: "", trace: &trace, faults: &[], end_s: 100.0, flows: 1 };
            let shown = plot.initial_span();
            (shown, plot.offset_range(shown).unwrap())
        };
        assert_eq!(shown(&[10, 60, 95]), ((50.0, 70.0), (5000.0, 7100.0)));
        assert_eq!(shown(&[]).0, (40.0, 60.0));
        assert_eq!(shown(&[97]).0, (80.0, 100.0));
        assert_eq!(shown(&[2]).0, (0.0, 20.0));
        let cut = trace(&[35, 45, 55, 63, 65], 30..65);
        let plot = TimeSequencePlot { name: "", trace: &cut, faults: &[], end_s: 100.0, flows: 1 };
        assert_eq!(plot.initial_span(), (55.0, 75.0));
    }

    #[test]
    fn the_initial_span_has_the_fault_nearest_to_the_middle() {
        let shown = |spans: &[(u64, u64)]| {
            let trace = trace(&[2], 0..0);
            let mark = |begins| FaultEvent { kind: FaultKind::Partition, hop: 1, begins };
            let faults = spans.iter().flat_map(|(from, to)| {
                [(Instant::from_secs(*from), mark(true)), (Instant::from_secs(*to), mark(false))]
            });
            let faults: Vec<_> = faults.collect();
            let plot = TimeSequencePlot {
                name: "",
                trace: &trace,
                faults: &faults,
                end_s: 100.0,
                flows: 1,
            };
            plot.initial_span()
        };
        assert_eq!(shown(&[(10, 12), (40, 44), (80, 81)]), (36.0, 56.0));
        assert_eq!(shown(&[(99, 100)]), (80.0, 100.0));
        // A long outage is in view as a whole.
        assert_eq!(shown(&[(30, 60)]), (21.0, 66.0));
        assert_eq!(shown(&[(1, 99)]), (0.0, 100.0));
        // A fault after the transfer is not.
        assert_eq!(shown(&[(150, 160)]), (0.0, 20.0));
    }
}
