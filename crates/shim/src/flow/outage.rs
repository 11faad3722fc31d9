//! Outages: holding TCP, probing, and repair.

use driftway_base::{Duration, Instant, ProbeSpacing, Seq};

use super::{Context, Flow, Held, Outage, Repair, Reply, State};
use crate::config::Config;
use crate::counts::Fate;
use crate::packet::Segment;

/// About the initial window (RFC 6928 §2): a lower bound for the repair's rate per RTT.
const INITIAL_WINDOW: u32 = 10 * 1460;

/// Maximum number of one-byte acknowledgments in one outage. Each undoes one timeout, and few
/// timeouts occur while acknowledgments are withheld.
const UNDO_ACKS_MAX: u8 = 4;

/// Consecutive failed repairs after which the local TCP takes over.
const IN_VAIN_MAX: u8 = 3;

impl Flow {
    /// Probe intervals for a hold. The shim probes at a bounded interval even if the aid does not
    /// want probes: the signals it relies on may be wrong.
    pub(super) fn spacing_of_probes(
        &self,
        cx: &Context<'_>,
        wanted: Option<ProbeSpacing>,
    ) -> ProbeSpacing {
        let longest = self.longest_gap(cx.config);
        match wanted {
            None => ProbeSpacing::new(longest, longest),
            Some(ProbeSpacing { first, max, .. }) => {
                ProbeSpacing::new(first.min(longest), max.min(longest))
            }
        }
    }

    fn longest_gap(&self, config: &Config) -> Duration {
        config.probe_max.max(self.round_trip.least())
    }

    /// Holds the local TCP, or changes the mode of the hold.
    pub(super) fn hold_tcp(&mut self, cx: &mut Context<'_>, held: Held) {
        let gap = held.probe.first;
        let probe_at = cx.now + gap;
        let was_outage = match self.state {
            State::Open => false,
            State::Disconnected(outage) => outage.held.outage,
            State::Resuming(..) => true,
        };
        cx.counts.outages += u64::from(held.outage && !was_outage);
        let outage = match self.state {
            State::Open => {
                // A recovery that began after the peer's last segment belongs to the outage. A
                // segment arriving now has ended the outage.
                let ends = self.heard == cx.now;
                let heard = if ends { self.heard_before } else { self.heard };
                if let Some(episode) = self.episode.as_mut().filter(|e| e.since <= heard) {
                    episode.stays = !episode.wanted && episode.is_open();
                }
                Outage {
                    held,
                    since: cx.now,
                    probe_at,
                    gap,
                    shortest: gap,
                    probed: None,
                    flight: self.flight.outstanding(),
                    again: false,
                    tells_at: cx.now,
                    in_vain: 0,
                    oldest: None,
                    undo_acks: 0,
                    report: None,
                    back: None,
                    resumed: None,
                    tried: None,
                }
            }
            State::Disconnected(outage) => {
                let at = outage.probe_at.min(probe_at);
                let shortest = outage.shortest.min(gap);
                Outage { held, probe_at: at, gap, shortest, ..outage }
            }
            State::Resuming(outage, _) => {
                let shortest = outage.shortest.min(gap);
                Outage { held, since: cx.now, probe_at, gap, shortest, ..outage }
            }
        };
        self.resends = false;
        self.state = State::Disconnected(outage);
        self.release_if_due(cx);
    }

    /// Returns to the outage: nothing of the repair has arrived, and there was no signal. Any
    /// arriving segment ends it.
    fn relapse(&mut self, cx: &mut Context<'_>) {
        let State::Resuming(outage, _) = self.state else { return };
        let first = self.round_trip.least().max(cx.config.probe_min);
        let probe = ProbeSpacing::new(first, first.max(outage.held.probe.max));
        let held = Held { outage: true, probe, step_back: true, any_ack: true, ..outage.held };
        self.hold_tcp(cx, held);
        self.probe_now(cx.now);
    }

    /// Sends a probe now, unless one is still in flight: another flow to the same destination has
    /// found its path restored.
    pub fn probe_now(&mut self, now: Instant) {
        if let State::Disconnected(outage) = &mut self.state {
            let earliest = outage.probed.map_or(now, |probed| now.max(probed + outage.shortest));
            outage.probe_at = outage.probe_at.min(earliest);
        }
    }

    /// Ends the hold; with `keep_window` the local TCP keeps its previous window. `false`: it was not
    /// held.
    pub(super) fn resume(&mut self, cx: &mut Context<'_>, keeps: bool) -> bool {
        match &mut self.state {
            State::Open => return false,
            State::Disconnected(outage) | State::Resuming(outage, _) => outage.held.keeps = keeps,
        }
        if let State::Disconnected(outage) = self.state {
            if outage.held.step_back || outage.again {
                self.send_all_again(cx, outage);
            } else {
                self.go_on(cx, outage);
            }
        }
        true
    }

    /// Lets packets pass from now on.
    fn open(&mut self, now: Instant) {
        self.state = State::Open;
        self.timed_from = now;
    }

    /// Ends the hold without retransmitting what was outstanding; waiting segments are paced over
    /// one RTT.
    fn go_on(&mut self, cx: &mut Context<'_>, outage: Outage) {
        if let Some(episode) = self.episode.as_mut().filter(|episode| !episode.stays) {
            episode.kept = outage.held.keeps;
        }
        self.open(cx.now);
        self.spread(cx, outage.flight);
    }

    /// Paces waiting segments over one RTT, at the rate of at least `flight` bytes per RTT.
    pub(super) fn spread(&mut self, cx: &mut Context<'_>, flight: u32) {
        self.rate = flight.max(INITIAL_WINDOW);
        self.queueing = true;
        self.next_send = cx.now;
        self.spread_until = cx.now + self.round_trip.smoothed();
    }

    /// Send time of the segment that the peer seems to answer: that of the last probe, at the
    /// latest one RTT ago.
    fn tried(&self, now: Instant) -> Instant {
        let probed = match self.state {
            State::Disconnected(Outage { probed: Some(probed), .. }) => probed,
            _ => now,
        };
        probed.min(now - self.round_trip.least())
    }

    /// Starts the repair: the path is back, and all originals are sent again.
    fn send_all_again(&mut self, cx: &mut Context<'_>, mut outage: Outage) {
        self.came_back = true;
        // If TCP was not held, the path was silent and may only have become slower: TSecr bounds
        // the delay (RFC 7323 §4.1).
        let suspected = self.heard == cx.now && outage.since == cx.now;
        let age = if suspected { self.clock.age(cx.now, self.theirs.echo) } else { Duration::ZERO };
        // Either the peer has just answered, or this host knows it by its own link.
        let tried = if self.heard == cx.now { self.tried(cx.now) } else { cx.now };
        // RFC 3522: a timestamp older than the first retransmission undoes it. The first original
        // of the outage has one; later ones may be newer than the retransmission.
        if outage.oldest.is_none() {
            outage.oldest = self.flight.front().map(|oldest| (oldest.stamp, oldest.range.end));
        }
        let hold_until = cx.now + cx.config.hold_max.max(self.round_trip.smoothed().times(4));
        if !outage.again {
            (outage.again, outage.tells_at) = (true, hold_until);
        }
        (outage.back, outage.resumed) = (Some(cx.now), None);
        (outage.tried, outage.report) = (Some(tried), None);
        self.flight.all_wait();
        self.rate = outage.flight.max(INITIAL_WINDOW);
        self.next_send = cx.now;
        self.queueing = true;
        let first = self.flight.front().map_or(1, |original| original.range.len());
        let repair = Repair {
            // Includes data sent during the outage: the local TCP would take RTT samples as long as
            // the outage from them.
            until: self.flight.stored_to(),
            // liu-singh-2001 §III-C: the new route's capacity is not known.
            window: if outage.held.keeps { self.rate } else { first },
            reduced: cx.now,
            round_trip: None,
            patience: self.round_trip.patience().max(age.times(2)),
            progress: cx.now,
            hold_until,
            duplicates: 0,
        };
        self.state = State::Resuming(outage, repair);
        self.end_repair_when_done(cx);
    }

    /// Processes a segment of the peer during repair.
    pub(super) fn on_segment_in_repair(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut [u8],
    ) -> Fate {
        let told = self.told;
        let covered = self.take(cx, segment);
        let advanced = covered.numbers > 0;
        let State::Resuming(outage, repair) = &mut self.state else {
            return self.hold(cx, told, segment, packet);
        };
        if advanced || covered.newest.is_some() {
            repair.progress = cx.now;
            repair.duplicates = 0;
            // Slow start (RFC 5681 §3.1).
            repair.window = repair.window.saturating_add(covered.numbers);
        } else if segment.range().is_empty() && segment.ack == self.flight.una {
            repair.duplicates = repair.duplicates.saturating_add(1);
        }
        let first = advanced && outage.resumed.is_none();
        if first {
            outage.resumed = Some(cx.now);
        }
        self.find_lost(cx.now, covered.newest);
        if first {
            self.undo(cx);
        }
        self.end_repair_when_done(cx);
        self.hold(cx, told, segment, packet)
    }

    /// RACK loss detection (RFC 8985 §6.2); without SACK the oldest segment after three duplicate
    /// acknowledgments.
    fn find_lost(&mut self, now: Instant, newest: Option<Instant>) {
        let (round_trip, least) = (self.round_trip.smoothed(), self.round_trip.least());
        let State::Resuming(_, repair) = &mut self.state else { return };
        // RFC 8985 §6.2, step 2: a segment answered sooner than that had arrived before the outage.
        // After an outage queues are empty, or full of other flows' packets: the reordering window
        // follows the RTT of the repair itself.
        let newest = newest.filter(|at| now.since(*at) >= least.over(2));
        let seen = newest.map(|at| now.since(at));
        repair.round_trip = repair.round_trip.into_iter().chain(seen).min();
        let margin = repair.round_trip.unwrap_or(round_trip).over(4);
        let third = !self.agreed.sack && repair.duplicates == 3;
        let lost = self.flight.find_lost(newest, margin, third);
        // RFC 5681 §3.1, at most once per RTT: no other congestion control applies to the repair.
        if lost && now.since(repair.reduced) >= round_trip {
            repair.reduced = now;
            repair.window = (repair.window / 2).max(2 * 1460);
        }
    }

    /// Ends the repair if the peer has acknowledged everything up to its end.
    pub(super) fn end_repair_when_done(&mut self, cx: &mut Context<'_>) {
        if let State::Resuming(_, repair) = self.state
            && self.flight.una.at_or_after(repair.until)
        {
            self.release(cx);
        }
    }

    /// Undoes the timeouts of the outage: acknowledges one byte that the peer has acknowledged,
    /// with the original's timestamp. A whole segment would be an RTT sample as long as the outage;
    /// therefore a segment of one byte can't be used. Not if originals are missing in the store:
    /// after an undo the local TCP considers all outstanding data in flight, and would not
    /// retransmit those that only it can send.
    fn undo(&mut self, cx: &mut Context<'_>) {
        let complete = self.flight.stored_to() == self.flight.max;
        let (State::Resuming(outage, _) | State::Disconnected(outage)) = &mut self.state else {
            return;
        };
        let allowed = cx.config.undo_ack
            && complete
            && outage.held.keeps
            && self.congested.is_none()
            && outage.undo_acks < UNDO_ACKS_MAX;
        let reduced = self.episode.as_mut().filter(|episode| allowed && episode.is_open());
        let (Some(episode), Some((echo, end))) = (reduced, outage.oldest) else { return };
        let next = self.told + 1;
        let known = next.at_or_before(self.flight.una) && next.before(end);
        if !known || !Seq(echo).before(Seq(episode.first)) {
            return;
        }
        outage.undo_acks += 1;
        if let Some(tried) = outage.tried.take() {
            self.tally.time_to_resume = Some(cx.now.since(tried));
        }
        (episode.undone, episode.again) = (true, false);
        self.told = next;
        self.replies.push_back(Reply { ack: next, echo });
        self.tally.undone += 1;
        cx.counts.undone += 1;
        cx.counts.undo_acks += 1;
    }

    /// Ends the outage for the local TCP: one acknowledgment of all that the peer has acknowledged,
    /// with a timestamp one RTT old. The segments that this releases are paced over one RTT, after
    /// which the local TCP's own ACK clock runs.
    pub(super) fn release(&mut self, cx: &mut Context<'_>) {
        let State::Resuming(..) = self.state else { return };
        // It may have timed out again while acknowledgments were withheld.
        self.undo(cx);
        self.tell(cx);
        self.open(cx.now);
        self.tally.survived += 1;
        cx.counts.survived += 1;
        self.queueing = true;
        self.spread_until = cx.now + self.round_trip.smoothed();
    }

    /// Reports all that the peer has acknowledged to the local TCP.
    pub(super) fn tell(&mut self, cx: &mut Context<'_>) {
        if let State::Resuming(outage, _) | State::Disconnected(outage) = &mut self.state
            && self.told.before(self.flight.una)
            && let Some(tried) = outage.tried.take()
        {
            self.tally.time_to_resume = Some(cx.now.since(tried));
        }
        if self.told.before(self.flight.una) || self.unsaid {
            self.told = self.flight.una;
            self.unsaid = false;
            self.replies.push_back(Reply { ack: self.told, echo: self.fresh_echo(cx.now) });
            cx.counts.releases += 1;
        }
        self.episode = self.episode.filter(|episode| self.told.before(episode.until));
        self.congested = self.congested.filter(|point| self.flight.una.before(*point));
    }

    /// Reports withheld acknowledgments after the path was lost again: if everything is
    /// acknowledged, because no original is left for probing, or if they were withheld for long.
    pub(super) fn release_if_due(&mut self, cx: &mut Context<'_>) {
        let State::Disconnected(outage) = self.state else { return };
        if !outage.again || !self.flight.is_empty() && cx.now < outage.tells_at {
            return;
        }
        self.undo(cx);
        self.tell(cx);
        if let State::Disconnected(outage) = &mut self.state {
            (outage.again, outage.oldest) = (false, None);
        }
    }

    /// Returns whether the arriving segment proves that there is a path, whatever the aid assumes:
    /// it was not in flight when the hold began, or answers a probe.
    pub(super) fn ends_hold(&self, cx: &Context<'_>) -> bool {
        let State::Disconnected(outage) = self.state else { return false };
        let later = self.round_trip.patience().min(self.longest_gap(cx.config));
        outage.held.any_ack || cx.now >= outage.since + later
    }

    /// Hands the flow over to the local TCP: reports what the peer has acknowledged, and sends
    /// waiting segments at once.
    pub fn let_go(&mut self, cx: &mut Context<'_>) {
        self.tell(cx);
        self.open(cx.now);
        self.queueing = true;
        (self.spread_until, self.next_send) = (cx.now, cx.now);
        self.announces = u8::from(self.gives_all_at().is_some());
    }

    /// Counts a failed repair. `true`: the peer answered, and this is one of several in a row. The
    /// cause is unknown, and the local TCP has to take over.
    fn is_in_vain(&mut self) -> bool {
        let heard = self.heard;
        let State::Resuming(outage, repair) = &mut self.state else { return false };
        let answered = outage.back.is_some_and(|back| heard >= back && repair.progress == back);
        outage.in_vain = if answered { outage.in_vain.saturating_add(1) } else { 0 };
        outage.in_vain >= IN_VAIN_MAX
    }

    /// Timestamp of one RTT ago, but not before the local TCP's first retransmission, which it
    /// would otherwise undo.
    fn fresh_echo(&self, now: Instant) -> u32 {
        let echo = Seq(self.clock.at(now - self.round_trip.smoothed()));
        self.episode.map_or(echo, |episode| echo.max(Seq(episode.first))).0
    }

    /// Runs due timers. `false`: the local TCP has given up the flow.
    pub fn on_timeout(&mut self, cx: &mut Context<'_>) -> bool {
        self.wake_aid(cx);
        match self.state {
            State::Resuming(_, repair) if cx.now >= repair.hold_until => self.release(cx),
            State::Resuming(_, repair) if cx.now >= repair.progress + repair.patience => {
                if self.is_in_vain() {
                    cx.counts.left_to_tcp += 1;
                    self.flight.none_waits();
                    self.release(cx);
                } else {
                    self.relapse(cx);
                }
            }
            _ => self.release_if_due(cx),
        }
        self.flight.is_empty() || cx.now < self.forget_at(cx.config)
    }

    /// Time after which the local TCP is considered to have given up: with data outstanding it is
    /// never silent for longer.
    pub(super) fn forget_at(&self, config: &Config) -> Instant {
        self.sent + config.forget_after
    }
}
