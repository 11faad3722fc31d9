//! Stations that are touched only when it matters.
//!
//! A frame has an effect on every station around its sender: it occupies the receiver, and its end
//! may set the NAV. But that shows only when the station acts, or when a frame is for it. Until
//! then the frame's number in the station's [inbox](super::inbox) is all that is kept of it. Before
//! its state is looked at, a station catches up: it goes through the frames that it has missed and
//! through their ends, in the order in which they were handled elsewhere. Frames whose effects are
//! over are skipped, unless they overlap with others.
//!
//! Attentive stations follow each frame as it begins and as it ends: those with a backoff, which a
//! frame suspends; those that are disabled; those that wait for a response, if any frame may end
//! the wait; and all, where each frame draws random numbers at each station.

use driftway_base::StationId;

use super::Dcf;
use super::access_state::{DISABLED, NAV_FROM_RTS, Phase};
use super::config::ResponseTimeout;
use super::frame_log::{LoggedFrame, ON_AIR};
use super::frame_number::FrameNumber;
use super::inbox::CAPACITY;
use super::propagation_delay::propagation_delay_ns;
use super::reception::{Arrival, Reception, ReceptionState};

/// Number of missed frames below which it takes longer to find those without effect than to follow
/// them all.
const WORTH_PRUNING: usize = 4;

/// Number of frames in an inbox above which the station follows them now, as it would be full again
/// soon.
const WORTH_KEEPING: usize = CAPACITY * 2 / 3;

impl Dcf {
    /// Brings a station's state up to date.
    #[inline]
    pub(super) fn catch_up(&mut self, station: StationId) {
        let behind = self.inboxes.has_frames(station)
            || !self.receptions[station].is_empty() && !self.inboxes.is_attentive(station);
        if behind {
            self.replay(station);
        }
    }

    #[inline(never)]
    fn replay(&mut self, station: StationId) {
        let mut buffer = [FrameNumber::FIRST; CAPACITY];
        let missed = self.inboxes.take(station, &mut buffer);
        let missed = if missed < WORTH_PRUNING {
            missed
        } else {
            self.drop_irrelevant(station, &mut buffer[..missed])
        };
        self.follow_missed(station, &buffer[..missed]);
    }

    /// Follows frames that a station has missed, and all ends that it has missed.
    fn follow_missed(&mut self, station: StationId, missed: &[FrameNumber]) {
        for &number in missed {
            let Some(&frame) = self.log.get(number) else { continue };
            self.end_receptions(station, frame.began);
            if let Some(new) = self.arrival_at(station, number, &frame) {
                self.begin_reception(station, new, &frame);
            }
        }
        self.end_receptions(station, ON_AIR);
    }

    /// Makes room in a full inbox.
    #[inline(never)]
    pub(super) fn make_room(&mut self, station: StationId) {
        let mut buffer = [FrameNumber::FIRST; CAPACITY];
        let missed = self.inboxes.take(station, &mut buffer);
        let kept = self.drop_irrelevant(station, &mut buffer[..missed]);
        if kept <= WORTH_KEEPING {
            self.inboxes.put_back(station, &buffer, kept);
        } else {
            self.follow_missed(station, &buffer[..kept]);
        }
    }

    /// Drops those of the frames that a station has missed that have no effect any more; returns
    /// the number of the others, which it moves to the front.
    ///
    /// Frames that overlap, directly or by others between them, are dropped together or not at all,
    /// as what each of them does depends on the others. What such a group leaves behind are
    /// reservations, of which the longest counts, and an interframe space. Only the NAV of an RTS
    /// that ends if no frame follows depends on later groups.
    fn drop_irrelevant(&self, station: StationId, frames: &mut [FrameNumber]) -> usize {
        let spans = self.log.spans();
        let access = &self.access_states[station];
        // The first group includes what the station has followed already.
        let (mut end, mut effect_end) = (access.rx_end, access.rx_end + spans.interframe);
        for reception in &self.receptions[station] {
            if let Some(frame) = self.log.get(reception.frame) {
                effect_end = effect_end.max(frame.effect_end);
            }
        }
        let mut keeps_all = access.has(NAV_FROM_RTS)
            && access.nav.max(self.transmit_states[station].rts_nav_deadline) + spans.interframe
                > self.now;
        let (mut kept, mut group) = (0, 0);
        for place in 0..frames.len() {
            let number = frames[place];
            let Some(frame) = self.log.get(number) else { continue };
            if frame.start > end + spans.gap {
                let is_over = effect_end <= self.now && !keeps_all;
                keeps_all |= !is_over && self.config.rts_nav_ends;
                kept = if is_over { group } else { kept };
                group = kept;
                effect_end = 0;
            }
            frames[kept] = number;
            kept += 1;
            end = end.max(frame.end);
            effect_end = effect_end.max(frame.effect_end);
        }
        if effect_end <= self.now && !keeps_all { group } else { kept }
    }

    /// Returns how a frame arrives at a station; `None` if out of range.
    #[inline]
    pub(super) fn arrival_at(
        &self,
        station: StationId,
        number: FrameNumber,
        frame: &LoggedFrame,
    ) -> Option<Arrival> {
        let square = self.positions.distance_squared_at(station, frame.start, frame.place);
        (square <= self.positions.reach_squared()).then(|| {
            let delay = propagation_delay_ns(square, self.nanos_per_metre);
            Arrival {
                at: frame.start + delay,
                until: frame.end + delay,
                signal: square as f32,
                frame: number,
                is_decodable: square <= self.receive_squared,
            }
        })
    }

    /// Begins a frame at a station, and notes it if its end may matter there.
    #[inline]
    pub(super) fn begin_reception(
        &mut self,
        station: StationId,
        new: Arrival,
        frame: &LoggedFrame,
    ) {
        let state = self.receive(station, new, frame.start);
        let matters = state == ReceptionState::Decodable || frame.is_for(station);
        if new.is_decodable && matters {
            let delay = (new.at - frame.start) as u32;
            self.receptions[station].push(Reception { frame: new.frame, delay, state });
            if self.inboxes.is_attentive(station) {
                self.transmissions.get(frame.transmission).add_watcher(station);
            }
        }
    }

    /// Sets the state of a frame at a station.
    pub(super) fn set_reception(
        &mut self,
        frame: FrameNumber,
        station: StationId,
        state: ReceptionState,
    ) {
        let mut receptions = self.receptions[station].iter_mut();
        if let Some(reception) = receptions.find(|reception| reception.frame == frame) {
            reception.state = state;
        }
    }

    /// Handles at a station the ends of frames for others that were handled elsewhere `before` this
    /// place in the order of starts and ends.
    fn end_receptions(&mut self, station: StationId, before: u64) {
        while let Some((place, frame)) = self.first_ended(station, before) {
            let reception = self.receptions[station].remove(place);
            match frame {
                Some(frame) => self.pass_by(station, &frame, &reception),
                None => self.release_receiver(station, reception.frame),
            }
        }
    }

    /// Returns the first frame at a station that has ended before this place in the order, with its
    /// place in the list; without the frame if it can no longer have an effect.
    fn first_ended(&self, station: StationId, before: u64) -> Option<(usize, Option<LoggedFrame>)> {
        let mut first: Option<(usize, &LoggedFrame)> = None;
        for (place, reception) in self.receptions[station].iter().enumerate() {
            let Some(frame) = self.log.get(reception.frame) else { return Some((place, None)) };
            if frame.ended < first.map_or(before, |(_, first)| first.ended) {
                first = Some((place, frame));
            }
        }
        first.map(|(place, frame)| (place, Some(*frame)))
    }

    /// Catches up with what came before the end of a frame, and takes the frame's reception.
    pub(super) fn take_reception(
        &mut self,
        station: StationId,
        frame: FrameNumber,
    ) -> Option<Reception> {
        self.catch_up(station);
        let receptions = &mut self.receptions[station];
        let place = receptions.iter().position(|reception| reception.frame == frame)?;
        Some(receptions.remove(place))
    }

    pub(super) fn set_phase(&mut self, station: StationId, phase: Phase) {
        self.access_states[station].phase = phase;
        self.update_attention(station);
    }

    /// Makes a station whose state has changed attentive or not. It has caught up.
    pub(super) fn update_attention(&mut self, station: StationId) {
        let access = &self.access_states[station];
        let awaits = matches!(access.phase, Phase::AwaitCts | Phase::AwaitAck);
        let attentive = self.all_attentive
            || access.counts_slots()
            || access.has(DISABLED)
            || awaits && self.config.response_timeout == ResponseTimeout::Preamble;
        if attentive != self.inboxes.is_attentive(station) {
            self.inboxes.set_attentive(station, attentive);
            if attentive {
                self.watch_receptions(station);
            }
        }
    }

    /// Lets a station see the ends of the frames that it receives when they come.
    pub(super) fn watch_receptions(&mut self, station: StationId) {
        for reception in &self.receptions[station] {
            if let Some(frame) = self.log.get(reception.frame) {
                self.transmissions.get(frame.transmission).add_watcher(station);
            }
        }
    }
}
