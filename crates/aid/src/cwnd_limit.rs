//! A limit on the congestion window (Westin 2003, §4.9).
//!
//! Where each transmission keeps the neighbours silent, a large window only fills queues. Westin
//! bounds it at a few segments and gains up to half the throughput; no signal, no state.
//!
//! The limit is an act ([`Act::Limit`]): TCP's own window goes on growing and falling beneath it,
//! and what is outstanding stays within both. A driver that can't do it (a foreign kernel) gets the
//! same from the other side: the window in each acknowledgment that arrives is cut to the limit.

use alloc::boxed::Box;

use driftway_base::{Act, ActResult, Instant, Signal, TcpView};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::kit::DEFAULT_MSS;
use crate::options::{AidOption, AidOptions, OptionField};
use crate::{Aid, Verdict};

/// RFC 7323 §2.3
const MAX_WINDOW_SHIFT: u8 = 14;

/// What westin-2003 §4.9 varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CwndLimitOptions {
    /// How many full segments may be outstanding. westin-2003 Figs. 31 and 32 gain with 1 to 3 of
    /// them, most with one over AODV. The default is 2, for a reason that his receivers did not
    /// have: one that delays its acknowledgments (RFC 9293 §3.8.6.3) answers the second segment at
    /// once, and a lone one only when its timer goes off.
    pub segments: u32,
}

impl CwndLimitOptions {
    /// The largest limit: one byte a segment would fill the largest window (RFC 7323 §2.3).
    pub const MAX_SEGMENTS: u32 = 1 << 20;
}

impl Default for CwndLimitOptions {
    fn default() -> Self {
        Self { segments: 2 }
    }
}

impl AidOptions for CwndLimitOptions {
    const NAME: &'static str = "cwnd-limit";
    const SUMMARY: &'static str =
        "a limit on the congestion window (Westin 2003): no more than so many segments outstanding";
    const OPTIONS: &'static [AidOption<Self>] = &[AidOption {
        name: "segments",
        about: "how many full segments may be outstanding",
        field: OptionField::Count { min: 1, max: Self::MAX_SEGMENTS, field: |o| &mut o.segments },
    }];

    fn build(self) -> Box<dyn Aid> {
        Box::new(CwndLimit::new(self))
    }
}

/// The limit to one connection.
#[derive(Clone, Debug)]
pub struct CwndLimit {
    segments: u32,
    /// The segment size that the limit was last asked for with (bytes).
    requested_mss: Option<u32>,
    /// The driver can't do it.
    rewrites_window: bool,
    /// What the SYNs offer: by how much the peer's window is to be shifted, and whether we scale.
    peer_shift: Option<u8>,
    offers_scaling: bool,
    act: Option<Act>,
}

impl CwndLimit {
    /// To a new connection.
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

    /// Asks for the limit as soon as there is a connection, and again if its segments change.
    fn request_limit(&mut self, view: &TcpView) {
        let mss = view.mss.value().unwrap_or(DEFAULT_MSS).max(1);
        if view.is_synchronized && self.requested_mss != Some(mss) {
            self.requested_mss = Some(mss);
            if !self.rewrites_window {
                self.act = Some(Act::LimitCwnd { cwnd: Some(self.limit_bytes(mss)) });
            }
        }
    }

    /// The window field that lets no more than the limit be outstanding. RFC 7323 §2.2: scaled if
    /// both sides offered it; rounded up, so that there is room for a segment.
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

    fn on_down(&mut self, _: Instant, segment: &TcpSegment, view: &TcpView) -> Verdict {
        if segment.flags.contains(TcpFlags::SYN) {
            self.offers_scaling = segment.options.window_scale.is_some();
        }
        self.request_limit(view);
        Verdict::Pass
    }

    fn on_up(&mut self, _: Instant, segment: &TcpSegment, view: &TcpView) -> Verdict {
        if segment.flags.contains(TcpFlags::SYN) {
            self.peer_shift = segment.options.window_scale;
            return Verdict::Pass;
        }
        self.request_limit(view);
        let Some(mss) = self.requested_mss.filter(|_| self.rewrites_window) else {
            return Verdict::Pass;
        };
        let field = self.window_field(mss);
        if !segment.flags.contains(TcpFlags::ACK) || segment.window <= field {
            return Verdict::Pass;
        }
        Verdict::Replace(TcpSegment { window: field, ..*segment })
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
    fn no_more_than_so_many_segments_are_outstanding() {
        for segments in [1, 2, 3, 5] {
            let mut line = limited(segments);
            line.write(3_000);
            let limit = Act::LimitCwnd { cwnd: Some(100 * segments) };
            let asked = line.record.iter().map(|(_, event)| event);
            assert!(asked.clone().any(|event| *event == Event::Requested(limit, ActResult::Done)));
            assert_eq!(sent(&mut line), segments as usize);
            for acknowledged in 1..10 {
                line.receive_ack(Tcp::START + 100 * acknowledged);
                assert_eq!(sent(&mut line), 1, "one leaves, one comes");
            }
        }
    }

    #[test]
    fn tcps_own_window_grows_on_beneath_it_and_holds_where_it_is_smaller() {
        let mut line = limited(2);
        line.write(2_000);
        line.receive_ack(Tcp::START + 100);
        assert!(line.tcp.cwnd() > 1_000);
        let mut line = limited(50);
        line.write(3_000);
        assert_eq!(sent(&mut line), 10, "the window of ten segments");
    }

    /// The acts that a list of segments leads to.
    fn limits(aid: &mut CwndLimit, views: &[TcpView]) -> Vec<Act> {
        let mut acts = Vec::new();
        for view in views {
            aid.on_down(Instant::ZERO, &TcpSegment::default(), view);
            acts.extend(core::iter::from_fn(|| aid.poll_act()));
        }
        acts
    }

    #[test]
    fn it_is_asked_for_once_there_is_a_connection_and_when_segments_change() {
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
    fn a_driver_that_refuses_gets_smaller_windows_from_the_peer() {
        let mut line = limited(3);
        line.refuses = |_| true;
        line.write(3_000);
        sent(&mut line);
        let ack = line.peer_ack(Tcp::START + 1_000);
        line.receive(ack);
        assert_eq!(line.tcp.peer_window(), 300);
        assert_eq!(sent(&mut line), 3);
        // A peer that offers less is taken at its word.
        line.receive(TcpSegment { window: 100, ..line.peer_ack(Tcp::START + 1_300) });
        assert_eq!(line.tcp.peer_window(), 100);
    }

    #[test]
    fn a_replaced_window_is_scaled_as_the_syns_say() {
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
            assert_eq!(aid.on_up(Instant::ZERO, &offer(peers), &view), Verdict::Pass);
            aid.on_down(Instant::ZERO, &ack, &open);
            let act = aid.poll_act().expect("asked for");
            aid.on_done(Instant::ZERO, &act, ActResult::Unsupported, &open);
            assert_eq!(
                aid.on_up(Instant::ZERO, &ack, &open),
                Verdict::Replace(TcpSegment { window: field, ..ack }),
                "{ours:?} {peers:?}"
            );
        }
    }

    #[test]
    fn data_flow_again_soon_after_the_path_works() {
        liveness::check_recovery(|random| {
            let segments = 1 + random.uniform_below(9) as u32;
            (CwndLimit::new(CwndLimitOptions { segments }), Duration::ZERO)
        });
    }
}
