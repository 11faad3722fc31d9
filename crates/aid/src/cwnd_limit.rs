//! Congestion window limit (westin-2003 §4.9).
//!
//! In a wireless network where each transmission blocks the neighbours, a large window only fills queues.
//! westin-2003 limits it to a few segments and gains up to half of the throughput. The aid uses no signals
//! and has no states.
//!
//! The limit is an act ([`Act::LimitCwnd`]): TCP's own window evolves as usual, and outstanding data is
//! limited by both. If the driver does not support it (foreign kernels), the aid reduces the window field of
//! incoming acknowledgments instead.

use alloc::boxed::Box;

use driftway_base::{Act, ActResult, Instant, Signal, TcpView, options};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::kit::DEFAULT_MSS;
use crate::options::AidOptions;
use crate::{Aid, SegmentVerdict};

/// Maximum window scale shift (RFC 7323 §2.3).
const MAX_WINDOW_SHIFT: u8 = 14;

options! {
    /// Parameter of westin-2003 §4.9.
    pub struct CwndLimitOptions {
        /// Maximum number of outstanding full-sized segments (westin-2003 §4.9).
        // westin-2003 Figs. 31 and 32 show gains for 1 to 3 segments, the largest for one over AODV. The
        // default is 2, because receivers here delay acknowledgments, unlike his: they acknowledge a second
        // segment at once, but a single one only when the delayed-ACK timer expires (RFC 9293 §3.8.6.3).
        segments: count(2, 1..=Self::MAX_SEGMENTS),
    }
}

impl CwndLimitOptions {
    /// Maximum limit: with one byte per segment it fills the largest window (RFC 7323 §2.3).
    pub const MAX_SEGMENTS: u32 = 1 << 20;
}

impl AidOptions for CwndLimitOptions {
    const NAME: &'static str = "cwnd-limit";
    const SUMMARY: &'static str =
        "Congestion window limit (Westin 2003): bounds the number of outstanding segments.";
    const STATES: &'static [(&'static str, &'static str)] = &[
        ("limiting", "TCP limits its congestion window itself."),
        ("replacing", "The window in the segments that TCP receives is replaced by a smaller one."),
    ];

    fn build(self) -> Box<dyn Aid> {
        Box::new(CwndLimit::new(self))
    }
}

/// The aid for one connection.
#[derive(Clone, Debug)]
pub struct CwndLimit {
    segments: u32,
    /// Segment size of the last request (bytes).
    requested_mss: Option<u32>,
    /// The driver does not support the act, and window fields are rewritten.
    rewrites_window: bool,
    /// Window scale options of the SYNs: the peer's shift, and whether the local TCP offers scaling.
    peer_shift: Option<u8>,
    offers_scaling: bool,
    act: Option<Act>,
}

impl CwndLimit {
    /// Creates the aid for a new connection.
    pub fn new(options: CwndLimitOptions) -> Self {
        Self {
            segments: options.segments.clamp(1, CwndLimitOptions::MAX_SEGMENTS),
            requested_mss: None,
            rewrites_window: false,
            peer_shift: None,
            offers_scaling: false,
            act: None,
        }
    }

    fn limit_bytes(&self, mss: u32) -> u32 {
        self.segments.saturating_mul(mss)
    }

    /// Requests the limit once the connection is synchronized, and again when the segment size changes.
    fn request_limit(&mut self, view: &TcpView) {
        let mss = view.mss.value().unwrap_or(DEFAULT_MSS).max(1);
        if view.is_synchronized && self.requested_mss != Some(mss) {
            self.requested_mss = Some(mss);
            if !self.rewrites_window {
                self.act = Some(Act::LimitCwnd { cwnd: Some(self.limit_bytes(mss)) });
            }
        }
    }

    /// Window field for the limit. It is scaled if both sides offered scaling (RFC 7323 §2.2), and rounded up
    /// to leave space for one segment.
    fn window_field(&self, mss: u32) -> u16 {
        let shift = self.peer_shift.filter(|_| self.offers_scaling).unwrap_or(0);
        self.limit_bytes(mss)
            .div_ceil(1 << shift.min(MAX_WINDOW_SHIFT))
            .try_into()
            .unwrap_or(u16::MAX)
    }
}

impl Aid for CwndLimit {
    fn name(&self) -> &'static str {
        CwndLimitOptions::NAME
    }

    fn state(&self) -> &'static str {
        if self.rewrites_window { "replacing" } else { "limiting" }
    }

    fn on_down(&mut self, _: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        if segment.flags.contains(TcpFlags::SYN) {
            self.offers_scaling = segment.options.window_scale.is_some();
        }
        self.request_limit(view);
        SegmentVerdict::Pass
    }

    fn on_up(&mut self, _: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        if segment.flags.contains(TcpFlags::SYN) {
            self.peer_shift = segment.options.window_scale;
            return SegmentVerdict::Pass;
        }
        self.request_limit(view);
        let Some(mss) = self.requested_mss.filter(|_| self.rewrites_window) else {
            return SegmentVerdict::Pass;
        };
        let window = self.window_field(mss);
        if !segment.flags.contains(TcpFlags::ACK) || segment.window <= window {
            return SegmentVerdict::Pass;
        }
        SegmentVerdict::Replace(TcpSegment { window, ..*segment })
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &TcpView) {}

    fn on_timeout(&mut self, _: Instant, _: &TcpView) {}

    fn on_done(&mut self, _: Instant, act: &Act, done: ActResult, _: &TcpView) {
        if matches!((act, done), (Act::LimitCwnd { .. }, ActResult::Unsupported)) {
            self.rewrites_window = true;
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn poll_act(&mut self) -> Option<Act> {
        self.act.take()
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::liveness;
    use crate::scripted::{Event, ScriptedDriver, Tcp};
    use driftway_base::Duration;
    use driftway_wire::TcpOptions;
    use std::vec::Vec;

    fn limited(segments: u32) -> ScriptedDriver<CwndLimit> {
        ScriptedDriver::new(CwndLimit::new(CwndLimitOptions { segments }))
    }

    fn sent(line: &mut ScriptedDriver<CwndLimit>) -> usize {
        line.take_events().iter().filter(|event| matches!(event, Event::Sent(_))).count()
    }

    /// westin-2003 §4.9
    #[test]
    fn outstanding_segments_are_limited() {
        for segments in [1, 2, 3, 5] {
            let mut line = limited(segments);
            line.write(3_000);
            let limit = Act::LimitCwnd { cwnd: Some(100 * segments) };
            let asked = line.record.iter().map(|(_, event)| event);
            assert!(asked.clone().any(|event| *event == Event::Requested(limit, ActResult::Done)));
            assert_eq!(sent(&mut line), segments as usize);
            for acknowledged in 1..10 {
                line.receive_ack(Tcp::START + 100 * acknowledged);
                assert_eq!(sent(&mut line), 1, "one segment per acknowledgment");
            }
        }
    }

    #[test]
    fn the_smaller_of_limit_and_cwnd_applies_and_cwnd_keeps_growing() {
        let mut line = limited(2);
        line.write(2_000);
        line.receive_ack(Tcp::START + 100);
        assert!(line.tcp.cwnd() > 1_000);
        let mut line = limited(50);
        line.write(3_000);
        assert_eq!(sent(&mut line), 10, "the window of ten segments");
    }

    /// The acts requested for a sequence of views.
    fn limits(aid: &mut CwndLimit, views: &[TcpView]) -> Vec<Act> {
        let mut acts = Vec::new();
        for view in views {
            aid.on_down(Instant::ZERO, &TcpSegment::default(), view);
            acts.extend(core::iter::from_fn(|| aid.poll_act()));
        }
        acts
    }

    #[test]
    fn the_limit_is_requested_on_synchronization_and_on_mss_changes() {
        let open = |mss| TcpView {
            is_synchronized: true,
            mss: driftway_base::Known::Exact(mss),
            ..TcpView::default()
        };
        let views = [TcpView::default(), open(1000), open(1000), open(988)];
        let mut aid = CwndLimit::new(CwndLimitOptions { segments: 3 });
        let limit = |cwnd| Act::LimitCwnd { cwnd: Some(cwnd) };
        assert_eq!(limits(&mut aid, &views), [limit(3000), limit(2964)]);
        let unknown = TcpView { is_synchronized: true, ..TcpView::default() };
        let mut aid = CwndLimit::new(CwndLimitOptions { segments: u32::MAX });
        assert_eq!(limits(&mut aid, &[unknown]), [limit(536 * CwndLimitOptions::MAX_SEGMENTS)]);
    }

    #[test]
    fn without_the_act_the_peers_window_is_reduced() {
        let mut line = limited(3);
        line.refuses = |_| true;
        line.write(3_000);
        sent(&mut line);
        let ack = line.peer_ack(Tcp::START + 1_000);
        line.receive(ack);
        assert_eq!(line.tcp.peer_window(), 300);
        assert_eq!(sent(&mut line), 3);
        // A smaller window of the peer is not changed.
        line.receive(TcpSegment { window: 100, ..line.peer_ack(Tcp::START + 1_300) });
        assert_eq!(line.tcp.peer_window(), 100);
    }

    #[test]
    fn a_rewritten_window_is_scaled_as_negotiated() {
        let offer = |shift| TcpSegment {
            flags: TcpFlags::SYN.with(TcpFlags::ACK),
            window: 60_000,
            options: TcpOptions { window_scale: shift, ..TcpOptions::default() },
            ..TcpSegment::default()
        };
        let view = TcpView { mss: driftway_base::Known::Exact(1460), ..TcpView::default() };
        let open = TcpView { is_synchronized: true, ..view };
        let ack = TcpSegment { flags: TcpFlags::ACK, window: 60_000, ..offer(None) };
        for (ours, peers, field) in [
            (None, None, 2920),
            (Some(3), None, 2920),
            (None, Some(7), 2920),
            (Some(3), Some(7), 23),
        ] {
            let mut aid = CwndLimit::new(CwndLimitOptions::default());
            aid.on_down(Instant::ZERO, &offer(ours), &view);
            // RFC 7323 §2.2: the window of a SYN is never scaled.
            assert_eq!(aid.on_up(Instant::ZERO, &offer(peers), &view), SegmentVerdict::Pass);
            aid.on_down(Instant::ZERO, &ack, &open);
            let act = aid.poll_act().expect("requested");
            aid.on_done(Instant::ZERO, &act, ActResult::Unsupported, &open);
            assert_eq!(
                aid.on_up(Instant::ZERO, &ack, &open),
                SegmentVerdict::Replace(TcpSegment { window: field, ..ack }),
                "{ours:?} {peers:?}"
            );
        }
    }

    #[test]
    fn data_is_delivered_soon_after_the_path_works() {
        liveness::check_recovery(|random| {
            let segments = 1 + random.uniform_below(9) as u32;
            (CwndLimit::new(CwndLimitOptions { segments }), Duration::ZERO)
        });
    }
}
