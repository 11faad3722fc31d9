//! An active flow: what an application sends, what its peer receives, and the checks on both.

use driftway_base::Instant;
use driftway_scenario::{Flow, Time, Transport};
use driftway_wire::Payload;

use super::delivery_resume::DeliveryResumeDelays;
use super::disconnected_time::DisconnectedTime;
use super::first_transmissions::{Arrival, FirstTransmissions};
use super::hop_counts::HopCounts;
use super::kept_window::KeptWindow;
use super::resume_delays::ResumeDelays;
use super::rto_stats::RtoStats;
use super::write_times::{Write, Writer};
use crate::results::FlowOutcome;
use crate::sockets::FlowEnd;

/// The state of an active flow: an application and its peer.
#[derive(Debug)]
pub struct ActiveFlow {
    /// The stream identifier that the payloads carry.
    pub stream: u32,
    /// The application.
    writer: Writer,
    /// The reverse direction: data that the peer sends on the same connection.
    pub reverse: Option<Box<Self>>,
    is_udp: bool,
    pub start: Instant,
    /// Bytes handed to the transport, or sent in datagrams.
    pub written: u64,
    /// Bytes delivered that the receiving application has answered.
    answered: u64,
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
    /// The first transmissions of what has been sent.
    pub first_transmissions: FirstTransmissions,
    /// The hops of packets with data that have reached the receiver's host.
    pub hops: HopCounts,
    /// The part of the sender's congestion window that losses leave.
    pub kept_window: KeptWindow,
    /// The sender's retransmission timeout.
    pub rto_stats: RtoStats,
    /// The delay until the sender resumes after partitions.
    pub resume_delays: ResumeDelays,
    /// The delay until the receiver gets data after outages.
    pub delivery_resume_delays: DeliveryResumeDelays,
    /// The time that the sender's aid has been disconnected.
    pub disconnected_time: DisconnectedTime,
}

/// The description of a difference between the data delivered and the data sent.
pub type StreamError = String;

impl ActiveFlow {
    /// A flow whose random intervals depend on `seed`. The reverse direction has the stream identifier
    /// `stream` + 1.
    pub fn new(flow: &Flow, stream: u32, seed: u64) -> Self {
        let writer = |application, stream| Writer::new(application, seed, stream);
        let answers = Writer::responder(flow.application, seed, stream + 1);
        let back = flow.back.map(|application| writer(application, stream + 1)).or(answers);
        let back = back.map(|back| Box::new(Self::one_direction(flow, back, stream + 1)));
        let forward = writer(flow.application, stream);
        Self { reverse: back, ..Self::one_direction(flow, forward, stream) }
    }

    fn one_direction(flow: &Flow, writer: Writer, stream: u32) -> Self {
        let Time(start) = flow.start;
        let start = Instant::ZERO + start;
        Self {
            stream,
            writer,
            reverse: None,
            is_udp: flow.transport == Transport::Udp,
            start,
            written: 0,
            answered: 0,
            acknowledged: 0,
            delivered: 0,
            datagrams_sent: 0,
            duplicates: 0,
            completed_at: None,
            gave_up: None,
            is_counted_finished: false,
            next_write: Some(start),
            unreachable_signals: 0,
            first_transmissions: FirstTransmissions::default(),
            hops: HopCounts::default(),
            kept_window: KeptWindow::default(),
            rto_stats: RtoStats::default(),
            resume_delays: ResumeDelays::default(),
            delivery_resume_delays: DeliveryResumeDelays::default(),
            disconnected_time: DisconnectedTime::default(),
        }
    }

    /// Records the failure of the connection at an end. What that end has not sent completely is given up; at
    /// the sender that ends the reverse direction as well.
    pub fn on_socket_failed(&mut self, now: Instant, end: FlowEnd, outcome: FlowOutcome) {
        if end == FlowEnd::Sender && self.completed_at.is_none() {
            self.gave_up.get_or_insert((now, outcome));
        }
        if let Some(back) = &mut self.reverse {
            back.on_socket_failed(now, FlowEnd::Sender, outcome);
        }
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
        self.writer.transfer().is_some() && self.reverse.as_deref().is_none_or(Self::is_finite)
    }

    /// Handles the opening of the connection at the receiver, whose application writes this many
    /// bytes.
    pub fn open_reverse(&mut self, now: Instant) -> u64 {
        self.reverse.as_mut().map_or(0, |back| back.on_application_timer(now).0)
    }

    /// Returns the bytes with which the receiving application answers on the same connection: those of a
    /// response if it has read a whole request, else 0.
    pub fn take_response(&mut self) -> u64 {
        let has_request = self.delivered == self.written && self.delivered > self.answered;
        let Some(back) = self.reverse.as_mut().filter(|_| has_request) else { return 0 };
        self.answered = self.delivered;
        let bytes = back.writer.draw_response();
        back.written = back.written.saturating_add(bytes);
        bytes
    }

    /// Handles what the sending application has read: after a whole response it returns the time of the
    /// next request.
    pub fn take_next_request(&mut self, now: Instant) -> Option<Instant> {
        let back = self.reverse.as_ref()?;
        let is_whole = back.delivered == back.written && self.answered == self.written;
        if !is_whole || self.next_write.is_some() {
            return None;
        }
        self.next_write = Some(now + self.writer.draw_think()?);
        self.next_write
    }

    /// Handles the application's timer: returns the bytes to write, and whether the connection closes
    /// after them.
    pub fn on_application_timer(&mut self, now: Instant) -> (u64, bool) {
        let Write { bytes, closes, next } = self.writer.write(now);
        self.next_write = next;
        self.written = self.written.saturating_add(bytes);
        (bytes, closes)
    }

    /// Records a segment or datagram that leaves the sender.
    pub fn on_sent(&mut self, now: Instant, payload: Payload) {
        self.resume_delays.on_sent(now);
        let end = payload.offset + u64::from(payload.len);
        if self.is_udp {
            self.first_transmissions.on_datagram_sent(now, end);
        } else {
            self.first_transmissions.on_sent(now, end);
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
        self.first_transmissions.on_delivered(now, self.delivered);
        self.on_progress(now);
        Ok(())
    }

    /// Handles the delivery of new data.
    fn on_progress(&mut self, now: Instant) {
        self.delivery_resume_delays.on_delivered(now);
        if self.writer.transfer() == Some(self.delivered) {
            self.completed_at = Some(now);
        }
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
        match self.first_transmissions.on_datagram(now, end) {
            Arrival::Repeated if !may_duplicate => {
                Err(format!("stream {} got the datagram up to byte {end} twice", part.stream))
            }
            Arrival::Repeated | Arrival::Untracked => {
                self.duplicates += 1;
                Ok(())
            }
            Arrival::First => {
                self.delivered += u64::from(part.len);
                self.on_progress(now);
                Ok(())
            }
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

    /// The number of packets with data that were delivered in both directions.
    pub fn delivered_packets(&self) -> u64 {
        let back = self.reverse.as_ref().map_or(0, |back| back.delivered_packets());
        self.first_transmissions.delays.count + back
    }
}

#[cfg(test)]
mod test {
    use super::super::first_transmissions::MAX_DATAGRAMS_TRACKED;
    use super::super::write_times::UNLIMITED_BYTES;
    use super::*;
    use driftway_base::Duration;
    use driftway_scenario::{Application, Cbr, Size};

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
        flow(Application::Cbr(Cbr { every, size: Size(100), jitter: 0.0 }), Transport::Udp)
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

    /// A retransmission does not restart the delay.
    #[test]
    fn delay_counts_from_the_first_transmission() {
        let mut flow = transfer();
        assert_eq!(flow.first_transmissions.delays.mean(), None);
        flow.on_sent(secs(2), part(0, 500));
        flow.on_sent(secs(3), part(500, 500));
        flow.on_sent(secs(4), part(0, 500));
        flow.on_delivered(secs(5), part(0, 500)).unwrap();
        assert_eq!(flow.first_transmissions.delays.mean(), Some(3.0));
        flow.on_delivered(secs(8), part(500, 500)).unwrap();
        assert_eq!(flow.first_transmissions.delays.mean(), Some(4.0));
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
        assert_eq!(flow.first_transmissions.delays.mean(), Some(2.0));
    }
}
