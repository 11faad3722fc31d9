//! Outages: holding TCP, probing, and repair.

use driftway_base::{Duration, Instant, ProbeSpacing, Seq};

use super::{Context, Flow, HoldMode, Outage, Repair, State, SyntheticAck};
use crate::config::Config;
use crate::counts::PacketAction;
use crate::packet::{EditableBytes, Segment};

/// The initial window, approximately (RFC 6928 §2): a lower bound for the repair's rate per RTT.
const INITIAL_WINDOW: u32 = 10 * 1460;

/// Maximum number of one-byte acknowledgments in one outage. Each undoes one timeout, and few
/// timeouts occur while acknowledgments are withheld.
const UNDO_ACKS_MAX: u8 = 4;

/// Consecutive failed repairs after which the local TCP takes over.
const FAILED_REPAIRS_MAX: u8 = 3;

impl Flow {
    /// Probe intervals for a hold. The shim probes at a bounded interval even if the aid does not
    /// want probes: the signals it relies on may be wrong.
    pub(super) fn probe_spacing(
        &self,
        cx: &Context<'_>,
        wanted: Option<ProbeSpacing>,
    ) -> ProbeSpacing {
        let longest = self.max_probe_interval(cx.config);
        match wanted {
            None => ProbeSpacing::new(longest, longest),
            Some(ProbeSpacing { first, max, .. }) => {
                ProbeSpacing::new(first.min(longest), max.min(longest))
            }
        }
    }

    fn max_probe_interval(&self, config: &Config) -> Duration {
        config.probe_max.max(self.rtt.min_rtt_or_initial())
    }

    /// Holds the local TCP, or changes the mode of the hold.
    pub(super) fn hold_tcp(&mut self, cx: &mut Context<'_>, hold: HoldMode) {
        let probe_interval = hold.probe_spacing.first;
        let probe_at = cx.now + probe_interval;
        let was_outage = match self.state {
            State::Open => false,
            State::Disconnected(outage) => outage.hold.is_outage,
            State::Resuming(..) => true,
        };
        cx.counts.outages += u64::from(hold.is_outage && !was_outage);
        let outage = match self.state {
            State::Open => {
                // A recovery that began after the peer's last segment belongs to the outage. A
                // segment arriving now has ended the outage.
                let ends = self.last_heard == cx.now;
                let heard = if ends { self.previously_heard } else { self.last_heard };
                if let Some(episode) = self.loss_episode.as_mut().filter(|e| e.since <= heard) {
                    episode.keep_reduction =
                        !episode.undo_wanted && episode.has_reduction_to_undo();
                }
                Outage {
                    hold,
                    since: cx.now,
                    probe_at,
                    probe_interval,
                    min_probe_interval: probe_interval,
                    last_probe: None,
                    outstanding_bytes: self.retransmission_queue.outstanding(),
                    again: false,
                    withhold_until: cx.now,
                    failed_repairs: 0,
                    oldest: None,
                    undo_acks: 0,
                    icmp_report: None,
                    path_restored_at: None,
                    first_new_ack_at: None,
                    probe_answered_sent_at: None,
                }
            }
            State::Disconnected(outage) => {
                let at = outage.probe_at.min(probe_at);
                let min_probe_interval = outage.min_probe_interval.min(probe_interval);
                Outage { hold, probe_at: at, probe_interval, min_probe_interval, ..outage }
            }
            State::Resuming(outage, _) => {
                let min_probe_interval = outage.min_probe_interval.min(probe_interval);
                Outage {
                    hold,
                    since: cx.now,
                    probe_at,
                    probe_interval,
                    min_probe_interval,
                    ..outage
                }
            }
        };
        self.resend_while_held = false;
        self.state = State::Disconnected(outage);
        self.report_acks_if_due(cx);
    }

    /// Returns to the outage: nothing of the repair has arrived, and there was no signal. Any
    /// arriving segment ends it.
    fn reenter_outage(&mut self, cx: &mut Context<'_>) {
        let State::Resuming(outage, _) = self.state else { return };
        let first = self.rtt.min_rtt_or_initial().max(cx.config.probe_min);
        let probe_spacing = ProbeSpacing::new(first, first.max(outage.hold.probe_spacing.max));
        let held = HoldMode {
            is_outage: true,
            probe_spacing,
            step_back: true,
            any_ack: true,
            ..outage.hold
        };
        self.hold_tcp(cx, held);
        self.probe_now(cx.now);
    }

    /// Sends a probe now, unless one is still in flight: another flow to the same destination has
    /// found its path restored.
    pub fn probe_now(&mut self, now: Instant) {
        if let State::Disconnected(outage) = &mut self.state {
            let earliest =
                outage.last_probe.map_or(now, |probed| now.max(probed + outage.min_probe_interval));
            outage.probe_at = outage.probe_at.min(earliest);
        }
    }

    /// Ends the hold; with `keeps_window` the local TCP keeps its previous window. `false`: it was not
    /// held.
    pub(super) fn resume(&mut self, cx: &mut Context<'_>, keeps_window: bool) -> bool {
        match &mut self.state {
            State::Open => return false,
            State::Disconnected(outage) | State::Resuming(outage, _) => {
                outage.hold.keep_window = keeps_window
            }
        }
        if let State::Disconnected(outage) = self.state {
            if outage.hold.step_back || outage.again {
                self.begin_repair(cx, outage);
            } else {
                self.resume_without_repair(cx, outage);
            }
        }
        true
    }

    /// Lets packets pass from now on.
    fn enter_open(&mut self, now: Instant) {
        self.state = State::Open;
        self.rtt_valid_from = now;
    }

    /// Ends the hold without retransmitting what was outstanding; waiting segments are paced over
    /// one RTT.
    fn resume_without_repair(&mut self, cx: &mut Context<'_>, outage: Outage) {
        if let Some(episode) = self.loss_episode.as_mut().filter(|episode| !episode.keep_reduction)
        {
            episode.keep_window = outage.hold.keep_window;
        }
        self.enter_open(cx.now);
        self.pace_waiting(cx, outage.outstanding_bytes);
    }

    /// Paces waiting segments over one RTT, at the rate of at least `flight` bytes per RTT.
    pub(super) fn pace_waiting(&mut self, cx: &mut Context<'_>, flight: u32) {
        self.pacing_bytes_per_rtt = flight.max(INITIAL_WINDOW);
        self.is_queueing = true;
        self.next_send = cx.now;
        self.pace_until = cx.now + self.rtt.srtt_or_initial();
    }

    /// Send time of the segment that the peer seems to answer: that of the last probe, at the
    /// latest one RTT ago.
    fn answered_probe_sent_at(&self, now: Instant) -> Instant {
        let probed = match self.state {
            State::Disconnected(Outage { last_probe: Some(probed), .. }) => probed,
            _ => now,
        };
        probed.min(now - self.rtt.min_rtt_or_initial())
    }

    /// Starts the repair: the path is back, and all originals are sent again.
    fn begin_repair(&mut self, cx: &mut Context<'_>, mut outage: Outage) {
        self.path_came_back = true;
        // If TCP was not held, the path was silent and may only have become slower: TSecr bounds
        // the delay (RFC 7323 §4.1).
        let suspected = self.last_heard == cx.now && outage.since == cx.now;
        let age = if suspected { self.clock.age(cx.now, self.peer.echo) } else { Duration::ZERO };
        // Either the peer has just answered, or this host knows it by its own link.
        let tried =
            if self.last_heard == cx.now { self.answered_probe_sent_at(cx.now) } else { cx.now };
        // RFC 3522: a timestamp older than the first retransmission undoes it. The first original
        // of the outage has one; later ones may be newer than the retransmission.
        if outage.oldest.is_none() {
            outage.oldest =
                self.retransmission_queue.front().map(|oldest| (oldest.tsval, oldest.range.end));
        }
        let withhold_until = cx.now + cx.config.hold_max.max(self.rtt.srtt_or_initial().times(4));
        if !outage.again {
            (outage.again, outage.withhold_until) = (true, withhold_until);
        }
        (outage.path_restored_at, outage.first_new_ack_at) = (Some(cx.now), None);
        (outage.probe_answered_sent_at, outage.icmp_report) = (Some(tried), None);
        self.retransmission_queue.requeue_all();
        self.pacing_bytes_per_rtt = outage.outstanding_bytes.max(INITIAL_WINDOW);
        self.next_send = cx.now;
        self.is_queueing = true;
        let first = self.retransmission_queue.front().map_or(1, |original| original.range.len());
        let repair = Repair {
            // Includes data sent during the outage: the local TCP would take RTT samples as long as
            // the outage from them.
            until: self.retransmission_queue.stored_until(),
            // liu-singh-2001 §III-C: the new route's capacity is not known.
            window: if outage.hold.keep_window { self.pacing_bytes_per_rtt } else { first },
            last_reduction: cx.now,
            min_rtt: None,
            progress_timeout: self.rtt.response_timeout().max(age.times(2)),
            last_progress: cx.now,
            withhold_until,
            duplicate_acks: 0,
        };
        self.state = State::Resuming(outage, repair);
        self.end_repair_when_done(cx);
    }

    /// Processes a segment of the peer during repair.
    pub(super) fn on_segment_in_repair(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) -> PacketAction {
        let acked = self.local_una;
        let covered = self.process_ack(cx, segment);
        let advanced = covered.sequence_numbers > 0;
        let State::Resuming(outage, repair) = &mut self.state else {
            return self.withhold_ack(cx, acked, segment, packet);
        };
        if advanced || covered.last_sent.is_some() {
            repair.last_progress = cx.now;
            repair.duplicate_acks = 0;
            // Slow start (RFC 5681 §3.1).
            repair.window = repair.window.saturating_add(covered.sequence_numbers);
        } else if segment.range().is_empty() && segment.ack == self.retransmission_queue.una {
            repair.duplicate_acks = repair.duplicate_acks.saturating_add(1);
        }
        let first = advanced && outage.first_new_ack_at.is_none();
        if first {
            outage.first_new_ack_at = Some(cx.now);
        }
        self.detect_losses(cx.now, covered.last_sent);
        if first {
            self.undo_timeouts(cx);
        }
        self.end_repair_when_done(cx);
        self.withhold_ack(cx, acked, segment, packet)
    }

    /// RACK loss detection (RFC 8985 §6.2); without SACK the oldest segment after three duplicate
    /// acknowledgments.
    fn detect_losses(&mut self, now: Instant, newest: Option<Instant>) {
        let (round_trip, least) = (self.rtt.srtt_or_initial(), self.rtt.min_rtt_or_initial());
        let State::Resuming(_, repair) = &mut self.state else { return };
        // RFC 8985 §6.2, step 2: a segment answered sooner than that had arrived before the outage.
        // After an outage queues are empty, or full of other flows' packets: the reordering window
        // follows the RTT of the repair itself.
        let newest = newest.filter(|at| now.since(*at) >= least.over(2));
        let seen = newest.map(|at| now.since(at));
        repair.min_rtt = repair.min_rtt.into_iter().chain(seen).min();
        let margin = repair.min_rtt.unwrap_or(round_trip).over(4);
        let third = !self.negotiated.sack && repair.duplicate_acks == 3;
        let lost = self.retransmission_queue.detect_losses(newest, margin, third);
        // RFC 5681 §3.1, at most once per RTT: no other congestion control applies to the repair.
        if lost && now.since(repair.last_reduction) >= round_trip {
            repair.last_reduction = now;
            repair.window = (repair.window / 2).max(2 * 1460);
        }
    }

    /// Ends the repair if the peer has acknowledged everything up to its end.
    pub(super) fn end_repair_when_done(&mut self, cx: &mut Context<'_>) {
        if let State::Resuming(_, repair) = self.state
            && self.retransmission_queue.una.at_or_after(repair.until)
        {
            self.end_outage(cx);
        }
    }

    /// Undoes the timeouts of the outage: acknowledges one byte that the peer has acknowledged,
    /// with the original's timestamp. A whole segment would be an RTT sample as long as the outage;
    /// therefore a segment of one byte cannot be used. Not if originals are missing in the store:
    /// after an undo the local TCP considers all outstanding data in flight, and would not
    /// retransmit those that only it can send.
    fn undo_timeouts(&mut self, cx: &mut Context<'_>) {
        let complete = self.retransmission_queue.stored_until() == self.retransmission_queue.max;
        let (State::Resuming(outage, _) | State::Disconnected(outage)) = &mut self.state else {
            return;
        };
        let allowed = cx.config.undo_ack
            && complete
            && outage.hold.keep_window
            && self.congestion_until.is_none()
            && outage.undo_acks < UNDO_ACKS_MAX;
        let reduced =
            self.loss_episode.as_mut().filter(|episode| allowed && episode.has_reduction_to_undo());
        let (Some(episode), Some((echo, end))) = (reduced, outage.oldest) else { return };
        let next = self.local_una + 1;
        let known = next.at_or_before(self.retransmission_queue.una) && next.before(end);
        if !known || !Seq(echo).before(Seq(episode.first_tsval)) {
            return;
        }
        outage.undo_acks += 1;
        if let Some(tried) = outage.probe_answered_sent_at.take() {
            self.counts.time_to_resume = Some(cx.now.since(tried));
        }
        (episode.undone, episode.again) = (true, false);
        self.local_una = next;
        self.synthetic_acks.push_back(SyntheticAck { ack: next, echo });
        self.counts.undone += 1;
        cx.counts.undone += 1;
        cx.counts.undo_acks += 1;
    }

    /// Ends the outage for the local TCP: one acknowledgment of all that the peer has acknowledged,
    /// with a timestamp one RTT old. The segments that this releases are paced over one RTT, after
    /// which the local TCP's own ACK clock runs.
    pub(super) fn end_outage(&mut self, cx: &mut Context<'_>) {
        let State::Resuming(..) = self.state else { return };
        // It may have timed out again while acknowledgments were withheld.
        self.undo_timeouts(cx);
        self.report_acks(cx);
        self.enter_open(cx.now);
        self.counts.survived += 1;
        cx.counts.survived += 1;
        self.is_queueing = true;
        self.pace_until = cx.now + self.rtt.srtt_or_initial();
    }

    /// Reports all that the peer has acknowledged to the local TCP.
    pub(super) fn report_acks(&mut self, cx: &mut Context<'_>) {
        if let State::Resuming(outage, _) | State::Disconnected(outage) = &mut self.state
            && self.local_una.before(self.retransmission_queue.una)
            && let Some(tried) = outage.probe_answered_sent_at.take()
        {
            self.counts.time_to_resume = Some(cx.now.since(tried));
        }
        if self.local_una.before(self.retransmission_queue.una) || self.has_unreported_ack {
            self.local_una = self.retransmission_queue.una;
            self.has_unreported_ack = false;
            self.synthetic_acks
                .push_back(SyntheticAck { ack: self.local_una, echo: self.fresh_tsecr(cx.now) });
            cx.counts.releases += 1;
        }
        self.loss_episode =
            self.loss_episode.filter(|episode| self.local_una.before(episode.until));
        self.congestion_until =
            self.congestion_until.filter(|point| self.retransmission_queue.una.before(*point));
    }

    /// Reports withheld acknowledgments after the path was lost again: if everything is
    /// acknowledged, because no original is left for probing, or if they were withheld for long.
    pub(super) fn report_acks_if_due(&mut self, cx: &mut Context<'_>) {
        let State::Disconnected(outage) = self.state else { return };
        if !outage.again || !self.retransmission_queue.is_empty() && cx.now < outage.withhold_until
        {
            return;
        }
        self.undo_timeouts(cx);
        self.report_acks(cx);
        if let State::Disconnected(outage) = &mut self.state {
            (outage.again, outage.oldest) = (false, None);
        }
    }

    /// Returns whether the arriving segment proves that there is a path, whatever the aid assumes:
    /// it was not in flight when the hold began, or answers a probe.
    pub(super) fn ends_hold(&self, cx: &Context<'_>) -> bool {
        let State::Disconnected(outage) = self.state else { return false };
        let later = self.rtt.response_timeout().min(self.max_probe_interval(cx.config));
        outage.hold.any_ack || cx.now >= outage.since + later
    }

    /// Hands the flow over to the local TCP: reports what the peer has acknowledged, and sends
    /// waiting segments at once.
    pub fn shut_down(&mut self, cx: &mut Context<'_>) {
        self.report_acks(cx);
        self.enter_open(cx.now);
        self.is_queueing = true;
        (self.pace_until, self.next_send) = (cx.now, cx.now);
        let withholds = self.ack_limit.is_active();
        self.end_ack_limit();
        self.requested_acks.clear();
        self.announcements_left = u8::from(withholds || self.holdback_timeout().is_some());
    }

    /// Counts a failed repair. `true`: the peer answered, and this is one of several in a row. The
    /// cause is unknown, and the local TCP has to take over.
    fn repair_keeps_failing(&mut self) -> bool {
        let heard = self.last_heard;
        let State::Resuming(outage, repair) = &mut self.state else { return false };
        let answered = outage
            .path_restored_at
            .is_some_and(|back| heard >= back && repair.last_progress == back);
        outage.failed_repairs = if answered { outage.failed_repairs.saturating_add(1) } else { 0 };
        outage.failed_repairs >= FAILED_REPAIRS_MAX
    }

    /// Timestamp of one RTT ago, but not before the local TCP's first retransmission, which it
    /// would otherwise undo.
    fn fresh_tsecr(&self, now: Instant) -> u32 {
        let echo = Seq(self.clock.tsval_at(now - self.rtt.srtt_or_initial()));
        self.loss_episode.map_or(echo, |episode| echo.max(Seq(episode.first_tsval))).0
    }

    /// Runs due timers. `false`: the local TCP has given up the flow.
    pub fn on_timeout(&mut self, cx: &mut Context<'_>) -> bool {
        self.wake_aid(cx);
        match self.state {
            State::Resuming(_, repair) if cx.now >= repair.withhold_until => self.end_outage(cx),
            State::Resuming(_, repair)
                if cx.now >= repair.last_progress + repair.progress_timeout =>
            {
                if self.repair_keeps_failing() {
                    cx.counts.repairs_abandoned += 1;
                    self.retransmission_queue.dequeue_all();
                    self.end_outage(cx);
                } else {
                    self.reenter_outage(cx);
                }
            }
            _ => self.report_acks_if_due(cx),
        }
        self.retransmission_queue.is_empty() || cx.now < self.forget_at(cx.config)
    }

    /// Time after which the local TCP is considered to have given up: with data outstanding it is
    /// never silent for longer.
    pub(super) fn forget_at(&self, config: &Config) -> Instant {
        self.last_sent + config.forget_after
    }
}
