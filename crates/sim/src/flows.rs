//! Flows: the data that an application sends, the data that its peer receives, and the checks on both.

use std::collections::VecDeque;

use driftway_base::{Duration, Instant, RandomStream};
use driftway_scenario::{Application, Flow, Size, Time, Transport};
use driftway_tcp::RttEstimator;
use driftway_wire::Payload;

use crate::delivery_resume::DeliveryResumeDelays;
use crate::results::FlowOutcome;

/// The number of bytes that an unlimited transfer writes at once.
const UNLIMITED_BYTES: u64 = 1 << 50;

/// The maximum number of datagrams of a flow that are tracked at once: more than all queues on the
/// route hold while an application sends faster than the channel carries.
const MAX_DATAGRAMS_TRACKED: usize = 1 << 16;

/// Stands in place of a datagram's send time once it has been delivered.
const ALREADY_DELIVERED: Instant = Instant::FAR_FUTURE;

/// The state of an active flow: an application and its peer.
#[derive(Debug)]
pub struct ActiveFlow {
    /// The stream identifier that the payloads carry.
    pub stream: u32,
    application: Application,
    /// The reverse direction: data that the peer sends on the same connection.
    pub reverse: Option<Box<Self>>,
    is_udp: bool,
    pub start: Instant,
    /// Bytes handed to the transport, or sent in datagrams.
    pub written: u64,
    /// Bytes that TCP at the sender regards as acknowledged.
    pub acknowledged: u64,
    /// Bytes delivered in order, or in datagrams.
    pub delivered: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Datagrams delivered more than once.
    pub duplicates: u64,
    /// The completion time.
    pub completed_at: Option<Instant>,
    /// The time at which the sender's connection failed, and the reason.
    pub gave_up: Option<(Instant, FlowOutcome)>,
    /// The run no longer waits for this flow.
    is_counted_finished: bool,
    /// The time of the application's next action.
    pub next_write: Option<Instant>,
    /// Signals of an unreachable destination that the sender has received so far (`unreachable_at`).
    pub unreachable_signals: usize,
    /// Draws random intervals, if the application has them.
    interval_random: RandomStream,
    /// First transmissions that have not been delivered: end offset and time.
    undelivered: VecDeque<(u64, Instant)>,
    /// Datagrams up to this offset are no longer tracked.
    untracked_before: u64,
    /// One past the highest offset ever sent.
    highest_sent: u64,
    /// The sender's retransmission timeout.
    pub rto_stats: RtoStats,
    /// The delay until the sender resumes after partitions.
    pub resume_delays: ResumeDelays,
    /// The delay until the receiver gets data after outages.
    pub delivery_resume_delays: DeliveryResumeDelays,
    /// The time that the sender's aid has been disconnected.
    pub disconnected_time: DisconnectedTime,
    /// Sum over delivered payloads of the time from first transmission to delivery.
    delay_sum: Duration,
    delay_samples: u64,
}

/// The time from the end of a partition to the sender's next data.
#[derive(Debug, Default)]
pub struct ResumeDelays {
    /// The end of a partition after which nothing has been sent yet.
    since: Option<Instant>,
    sum: Duration,
    count: u64,
}

impl ResumeDelays {
    /// Records the end of a partition.
    pub fn on_partition_end(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Records the transmission of data.
    pub fn on_sent(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.sum = self.sum + now.since(since);
            self.count += 1;
        }
    }

    /// The mean delay; `None` if nothing was sent after a partition.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum.over(self.count))
    }
}

/// The time for which an aid considers its connection disconnected.
#[derive(Debug, Default)]
pub struct DisconnectedTime {
    /// The start of the present disconnection, and whether the report was false: the failed link was
    /// in range.
    since: Option<(Instant, bool)>,
    total: Duration,
    total_false: Duration,
}

impl DisconnectedTime {
    /// Records whether the aid considers the connection disconnected; `is_false` checks the report, and
    /// is called only when a disconnection begins.
    pub fn update(&mut self, now: Instant, disconnected: bool, is_false: impl FnOnce() -> bool) {
        if disconnected == self.since.is_some() {
            return;
        }
        (self.total, self.total_false) = self.totals_at(now);
        self.since = disconnected.then(|| (now, is_false()));
    }

    /// The time disconnected up to `end`, and the part of it that false reports caused.
    pub fn totals_at(&self, end: Instant) -> (Duration, Duration) {
        let Some((since, is_false)) = self.since else { return (self.total, self.total_false) };
        let last = end.since(since);
        let falsely = if is_false { self.total_false + last } else { self.total_false };
        (self.total + last, falsely)
    }
}

/// A sender's retransmission timeout over time. It changes only at events of its connection, so an
/// update after each event misses no change.
#[derive(Debug, Default)]
pub struct RtoStats {
    /// The longest timeout since the first round-trip sample, back-off included.
    pub longest: Option<Duration>,
    /// The time that it has been backed off, up to `since`.
    backed_off: Duration,
    /// The time since which it has been backed off.
    since: Option<Instant>,
}

impl RtoStats {
    /// Records the timeout after an event of the connection.
    pub fn update(&mut self, now: Instant, rtt: &RttEstimator) {
        if let Some(since) = self.since.take() {
            self.backed_off = self.backed_off + now.since(since);
        }
        self.since = (rtt.rto() > rtt.base_rto()).then_some(now);
        // The initial timeout is a matter of configuration, not of the path.
        if rtt.srtt().is_some() {
            self.longest = self.longest.max(Some(rtt.rto()));
        }
    }

    /// The time that the timeout has been above its value without back-off, up to `end`.
    pub fn backed_off(&self, end: Instant) -> Duration {
        self.backed_off + self.since.map_or(Duration::ZERO, |since| end.since(since))
    }
}

/// The description of a difference between the data delivered and the data sent.
pub type StreamError = String;

impl ActiveFlow {
    /// A flow whose random intervals depend on `seed`. The reverse direction has the stream identifier
    /// `stream` + 1.
    pub fn new(flow: &Flow, stream: u32, seed: u64) -> Self {
        let of = |application, stream| Self::one_direction(flow, application, stream, seed);
        let back = flow.back.map(|application| Box::new(of(application, stream + 1)));
        Self { reverse: back, ..of(flow.application, stream) }
    }

    fn one_direction(flow: &Flow, application: Application, stream: u32, seed: u64) -> Self {
        let Time(start) = flow.start;
        let start = Instant::ZERO + start;
        Self {
            stream,
            application,
            reverse: None,
            is_udp: flow.transport == Transport::Udp,
            start,
            written: 0,
            acknowledged: 0,
            delivered: 0,
            datagrams_sent: 0,
            duplicates: 0,
            completed_at: None,
            gave_up: None,
            is_counted_finished: false,
            next_write: Some(start),
            unreachable_signals: 0,
            interval_random: RandomStream::new(seed, "cbr", stream.into()),
            undelivered: VecDeque::with_capacity(256),
            untracked_before: 0,
            highest_sent: 0,
            rto_stats: RtoStats::default(),
            resume_delays: ResumeDelays::default(),
            delivery_resume_delays: DeliveryResumeDelays::default(),
            disconnected_time: DisconnectedTime::default(),
            delay_sum: Duration::ZERO,
            delay_samples: 0,
        }
    }

    /// Records the failure of the sender's connection, which ends the reverse direction as well. The
    /// connection is already closed, hence `false`.
    pub fn on_connection_failed(&mut self, now: Instant, how: FlowOutcome) -> bool {
        if self.completed_at.is_none() {
            self.gave_up.get_or_insert((now, how));
        }
        self.on_reverse_failed(now, how)
    }

    /// Records the failure of the receiver's connection, which ends the reverse direction.
    pub fn on_reverse_failed(&mut self, now: Instant, how: FlowOutcome) -> bool {
        self.reverse.as_mut().is_some_and(|back| back.on_connection_failed(now, how))
    }

    /// Handles the end of the last of the outages that are under way.
    pub fn on_network_restored(&mut self, now: Instant) {
        if self.start <= now && self.outcome() == FlowOutcome::Running {
            self.delivery_resume_delays.on_outage_end(now);
        }
    }

    /// Returns `true` once, when both directions are complete or failed.
    pub fn take_newly_finished(&mut self) -> bool {
        let is_over = |flow: &Self| flow.outcome() != FlowOutcome::Running;
        let over = is_over(self) && self.reverse.as_deref().is_none_or(is_over);
        over && !std::mem::replace(&mut self.is_counted_finished, true)
    }

    /// The outcome so far.
    pub fn outcome(&self) -> FlowOutcome {
        match (self.completed_at, self.gave_up) {
            (Some(_), _) => FlowOutcome::Complete,
            (None, Some((_, outcome))) => outcome,
            (None, None) => FlowOutcome::Running,
        }
    }

    /// True if the flow ends by itself in both directions.
    pub fn is_finite(&self) -> bool {
        matches!(self.application, Application::Transfer(_))
            && self.reverse.as_deref().is_none_or(Self::is_finite)
    }

    /// Handles the opening of the connection at the receiver, whose application writes this many
    /// bytes.
    pub fn open_reverse(&mut self, now: Instant) -> u64 {
        self.reverse.as_mut().map_or(0, |back| back.on_application_timer(now).0)
    }

    /// Handles the application's timer: returns the bytes to write, and whether the connection closes
    /// after them.
    pub fn on_application_timer(&mut self, now: Instant) -> (u64, bool) {
        let (bytes, closes, next) = match self.application {
            Application::Transfer(Size(bytes)) => (bytes, true, None),
            Application::Ftp => (UNLIMITED_BYTES, false, None),
            Application::Cbr(cbr) => {
                let (Time(every), Size(size)) = (cbr.every, cbr.size);
                let (low, high) = cbr.bounds();
                let gap = if low < high {
                    self.interval_random.uniform_duration(low, high)
                } else {
                    every
                };
                (size, false, Some(now + gap))
            }
        };
        self.next_write = next;
        self.written = self.written.saturating_add(bytes);
        (bytes, closes)
    }

    /// Records a segment or datagram that leaves the sender.
    pub fn on_sent(&mut self, now: Instant, payload: Payload) {
        self.resume_delays.on_sent(now);
        let end = payload.offset + u64::from(payload.len);
        if end > self.highest_sent {
            self.highest_sent = end;
            // Datagrams that are still undelivered after this many others count as lost.
            if self.is_udp
                && self.undelivered.len() >= MAX_DATAGRAMS_TRACKED
                && let Some((end, _)) = self.undelivered.pop_front()
            {
                self.untracked_before = end;
            }
            self.undelivered.push_back((end, now));
        }
    }

    /// Checks bytes that the receiving application reads. Their identifier and offset show which bytes
    /// they really are; they must be the next ones of the stream.
    ///
    /// # Errors
    /// They are not.
    pub fn on_delivered(&mut self, now: Instant, part: Payload) -> Result<(), StreamError> {
        if part.stream != self.stream || part.offset != self.delivered {
            return Err(format!(
                "stream {} was to get byte {} next, but got byte {} of stream {}",
                self.stream, self.delivered, part.offset, part.stream
            ));
        }
        self.delivered += u64::from(part.len);
        if self.delivered > self.written {
            return Err(format!(
                "stream {} got {} bytes, but only {} were written",
                self.stream, self.delivered, self.written
            ));
        }
        self.delivery_resume_delays.on_delivered(now);
        self.record_delay(now, self.delivered);
        if let Application::Transfer(Size(bytes)) = self.application
            && self.delivered == bytes
        {
            self.completed_at = Some(now);
        }
        Ok(())
    }

    /// Checks a datagram that arrives. It may be late or out of order, but it must have been sent. It
    /// may arrive twice if the network may duplicate packets: a link layer that missed an
    /// acknowledgment causes its packet to be sent on another route.
    ///
    /// # Errors
    /// It was not sent, or it arrived twice where that is not possible.
    pub fn on_datagram(
        &mut self,
        now: Instant,
        part: Payload,
        may_duplicate: bool,
    ) -> Result<(), StreamError> {
        let end = part.offset.saturating_add(u64::from(part.len));
        if part.stream != self.stream || end > self.written {
            return Err(format!(
                "stream {} got a datagram with bytes {} to {end} of stream {}, and {} were sent",
                self.stream, part.offset, part.stream, self.written
            ));
        }
        let awaited = self.undelivered.binary_search_by_key(&end, |(sent, _)| *sent);
        let awaited = awaited.ok().and_then(|place| self.undelivered.get_mut(place));
        let Some((_, at)) = awaited.filter(|(_, at)| *at != ALREADY_DELIVERED) else {
            if !may_duplicate && end > self.untracked_before {
                return Err(format!(
                    "stream {} got the datagram up to byte {end} twice",
                    part.stream
                ));
            }
            self.duplicates += 1;
            return Ok(());
        };
        self.delay_sum = self.delay_sum + now.since(std::mem::replace(at, ALREADY_DELIVERED));
        self.delay_samples += 1;
        while self.undelivered.front().is_some_and(|(_, at)| *at == ALREADY_DELIVERED) {
            self.undelivered.pop_front();
        }
        self.delivered += u64::from(part.len);
        self.delivery_resume_delays.on_delivered(now);
        if let Application::Transfer(Size(bytes)) = self.application
            && self.delivered == bytes
        {
            self.completed_at = Some(now);
        }
        Ok(())
    }

    /// Adds the delays of data whose first transmission ended at or before `end`.
    fn record_delay(&mut self, now: Instant, end: u64) {
        while let Some((reached, at)) = self.undelivered.front().copied() {
            if reached > end {
                break;
            }
            self.undelivered.pop_front();
            self.delay_sum = self.delay_sum + now.since(at);
            self.delay_samples += 1;
        }
    }

    /// Checks the bytes that TCP at the sender regards as acknowledged. None may be acknowledged
    /// before the peer has received it (liu-singh-2001 §III-B): `received` is the length that the
    /// peer's TCP has in order.
    ///
    /// # Errors
    /// More was acknowledged.
    pub fn on_acknowledged(&mut self, acknowledged: u64, received: u64) -> Result<(), StreamError> {
        self.acknowledged = acknowledged;
        if acknowledged > received {
            return Err(format!(
                "stream {}: the sender takes {acknowledged} bytes as acknowledged, \
                 but its peer has {received}",
                self.stream
            ));
        }
        Ok(())
    }

    /// The mean delay of delivered payloads (s).
    pub fn mean_delay(&self) -> Option<f64> {
        (self.delay_samples > 0).then(|| self.delay_sum.as_secs_f64() / self.delay_samples as f64)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_scenario::Cbr;

    const STREAM: u32 = 6;

    fn flow(application: Application, transport: Transport) -> ActiveFlow {
        let text = r#"
            name = "a flow"
            duration = "9 s"
            network = { kind = "path", hops = 1, link = { rate = "1 Mbit/s", delay = "1 ms" } }
            [[flow]]
            from = 0
            to = 1
            start = "2 s"
            application = "ftp"
        "#;
        let mut flow =
            driftway_scenario::Scenario::parse("flow.toml", text, &[]).unwrap().flows.remove(0);
        flow.application = application;
        flow.transport = transport;
        ActiveFlow::new(&flow, STREAM, 1)
    }

    /// ns-2's cbr_traffic.cc with `random_ 1`: each interval is uniform in 0.5 to 1.5 times the mean.
    #[test]
    fn gaps_are_spread_around_their_mean() {
        let cbr = Cbr { every: Time::from_millis(250), size: Size(100), spread: 0.5 };
        let mut flow = flow(Application::Cbr(cbr), Transport::Udp);
        let mut now = secs(2);
        let (mut least, mut most) = (Duration::MAX, Duration::ZERO);
        for _ in 0..4000 {
            flow.on_application_timer(now);
            let gap = flow.next_write.unwrap().since(now);
            (least, most, now) = (least.min(gap), most.max(gap), now + gap);
        }
        let millis = Duration::from_millis;
        assert!(least >= millis(125) && least < millis(126), "{least:?}");
        assert!(most <= millis(375) && most > millis(374), "{most:?}");
        let mean = now.since(secs(2)).as_secs_f64() / 4000.0;
        assert!((mean - 0.25).abs() < 0.004, "{mean}");
    }

    /// A transfer that has written 1000 bytes to TCP.
    fn transfer() -> ActiveFlow {
        let mut flow = flow(Application::Transfer(Size(1000)), Transport::Tcp);
        assert_eq!(flow.next_write, Some(secs(2)));
        assert_eq!(flow.on_application_timer(secs(2)), (1000, true));
        assert_eq!(flow.next_write, None);
        flow
    }

    fn constant() -> ActiveFlow {
        let every = Time::from_millis(250);
        flow(Application::Cbr(Cbr { every, size: Size(100), spread: 0.0 }), Transport::Udp)
    }

    fn write(flow: &mut ActiveFlow, times: usize) {
        (0..times).for_each(|_| assert_eq!(flow.on_application_timer(secs(2)), (100, false)));
    }

    const fn secs(at: u64) -> Instant {
        Instant::from_secs(at)
    }

    fn part(offset: u64, len: u32) -> Payload {
        Payload::new(STREAM, offset, len)
    }

    #[test]
    fn a_stream_is_delivered_in_order_and_complete_with_its_last_byte() {
        let mut flow = transfer();
        assert!(flow.is_finite());
        flow.on_delivered(secs(3), part(0, 600)).unwrap();
        assert_eq!((flow.delivered, flow.completed_at), (600, None));
        flow.on_delivered(secs(4), part(600, 400)).unwrap();
        assert_eq!((flow.delivered, flow.completed_at), (1000, Some(secs(4))));
    }

    #[test]
    fn data_out_of_order_are_rejected() {
        for wrong in [part(0, 100), part(499, 100), part(501, 100), Payload::new(7, 500, 100)] {
            let mut flow = transfer();
            flow.on_delivered(secs(3), part(0, 500)).unwrap();
            assert!(flow.on_delivered(secs(4), wrong).is_err(), "{wrong:?}");
        }
        let mut flow = transfer();
        let error = flow.on_delivered(secs(3), part(0, 1001)).unwrap_err();
        assert_eq!(error, "stream 6 got 1001 bytes, but only 1000 were written");
    }

    /// liu-singh-2001 §III-B
    #[test]
    fn an_acknowledgment_of_undelivered_data_is_rejected() {
        let mut flow = transfer();
        assert_eq!(flow.on_acknowledged(0, 0), Ok(()));
        assert_eq!(flow.on_acknowledged(500, 500), Ok(()));
        assert_eq!(flow.on_acknowledged(500, 800), Ok(()));
        let error = flow.on_acknowledged(801, 800).unwrap_err();
        assert!(error.contains("801 bytes as acknowledged, but its peer has 800"), "{error}");
    }

    #[test]
    fn an_endless_transfer_writes_once() {
        let mut flow = flow(Application::Ftp, Transport::Tcp);
        assert!(!flow.is_finite());
        assert_eq!(flow.on_application_timer(secs(2)), (UNLIMITED_BYTES, false));
        assert_eq!((flow.next_write, flow.written), (None, UNLIMITED_BYTES));
    }

    #[test]
    fn a_constant_rate_writes_at_each_interval() {
        let mut flow = constant();
        for n in 0..8 {
            let at = secs(2) + Duration::from_millis(250).times(n);
            assert_eq!(flow.next_write, Some(at));
            assert_eq!(flow.on_application_timer(at), (100, false));
        }
        assert_eq!((flow.written, flow.next_write), (800, Some(secs(4))));
        assert!(!flow.is_finite());
    }

    #[test]
    fn datagrams_may_be_lost_late_or_duplicated_but_must_have_been_sent() {
        let mut flow = flow(Application::Transfer(Size(400)), Transport::Udp);
        flow.on_application_timer(secs(2));
        for n in 0..4 {
            flow.on_sent(secs(2), part(n * 100, 100));
        }
        flow.on_datagram(secs(3), part(300, 100), true).unwrap();
        flow.on_datagram(secs(3), part(0, 100), true).unwrap();
        assert_eq!(flow.delivered, 200);
        assert!(flow.on_datagram(secs(3), part(500, 100), true).is_err(), "never sent");
        assert!(flow.on_datagram(secs(3), Payload::new(7, 100, 100), true).is_err(), "another's");
        assert!(flow.on_datagram(secs(3), part(u64::MAX, 100), true).is_err(), "no such offset");
        flow.on_datagram(secs(3), part(0, 100), true).unwrap();
        assert_eq!((flow.delivered, flow.duplicates, flow.completed_at), (200, 1, None));
        flow.on_datagram(secs(3), part(200, 100), true).unwrap();
        flow.on_datagram(secs(4), part(100, 100), true).unwrap();
        assert_eq!((flow.delivered, flow.completed_at), (400, Some(secs(4))));
    }

    #[test]
    fn a_duplicate_datagram_is_rejected_if_the_network_sends_none() {
        let mut flow = constant();
        write(&mut flow, 2);
        (0..2).for_each(|n| flow.on_sent(secs(2), part(n * 100, 100)));
        for n in [1, 0] {
            flow.on_datagram(secs(3), part(n * 100, 100), false).unwrap();
        }
        for n in [1, 0] {
            let error = flow.on_datagram(secs(4), part(n * 100, 100), false).unwrap_err();
            assert_eq!(
                error,
                format!("stream 6 got the datagram up to byte {} twice", n * 100 + 100)
            );
        }
        assert_eq!((flow.delivered, flow.duplicates), (200, 0));
    }

    /// A datagram that is no longer tracked when it arrives is not reported as a duplicate.
    #[test]
    fn a_datagram_that_is_no_longer_tracked_is_accepted() {
        let mut flow = constant();
        let sent = MAX_DATAGRAMS_TRACKED + 1;
        write(&mut flow, sent);
        (0..sent as u64).for_each(|n| flow.on_sent(secs(2), part(n * 100, 100)));
        flow.on_datagram(secs(3), part(0, 100), false).unwrap();
        assert_eq!((flow.delivered, flow.duplicates), (0, 1));
        flow.on_datagram(secs(3), part(100, 100), false).unwrap();
        assert_eq!(flow.delivered, 100);
    }

    #[test]
    fn the_timeout_is_recorded_from_event_to_event() {
        let seconds = Duration::from_secs;
        let mut rtt = RttEstimator::new(seconds(3), seconds(1), seconds(64), Duration::ZERO);
        let mut watch = RtoStats::default();
        watch.update(secs(0), &rtt);
        assert_eq!((watch.longest, watch.backed_off(secs(9))), (None, Duration::ZERO));
        rtt.sample(seconds(1), 1);
        watch.update(secs(1), &rtt);
        // RFC 6298 §2.2: 1 + 4 × 0.5
        assert_eq!(watch.longest, Some(seconds(3)));
        rtt.back_off();
        watch.update(secs(4), &rtt);
        rtt.back_off();
        watch.update(secs(10), &rtt);
        assert_eq!(watch.longest, Some(seconds(12)));
        assert_eq!(watch.backed_off(secs(15)), seconds(11));
        rtt.sample(seconds(1), 1);
        watch.update(secs(20), &rtt);
        assert_eq!((watch.longest, watch.backed_off(secs(99))), (Some(seconds(12)), seconds(16)));
    }

    /// A retransmission does not restart the delay.
    #[test]
    fn delay_counts_from_the_first_transmission() {
        let mut flow = transfer();
        assert_eq!(flow.mean_delay(), None);
        flow.on_sent(secs(2), part(0, 500));
        flow.on_sent(secs(3), part(500, 500));
        flow.on_sent(secs(4), part(0, 500));
        flow.on_delivered(secs(5), part(0, 500)).unwrap();
        assert_eq!(flow.mean_delay(), Some(3.0));
        flow.on_delivered(secs(8), part(500, 500)).unwrap();
        assert_eq!(flow.mean_delay(), Some(4.0));
    }

    #[test]
    fn a_lost_datagram_has_no_delay() {
        let mut flow = constant();
        write(&mut flow, 3);
        for n in 0..3 {
            flow.on_sent(secs(2 + n), part(n * 100, 100));
        }
        flow.on_datagram(secs(3), part(0, 100), true).unwrap();
        flow.on_datagram(secs(7), part(200, 100), true).unwrap();
        assert_eq!(flow.mean_delay(), Some(2.0));
    }
}
