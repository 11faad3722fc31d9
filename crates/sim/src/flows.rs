//! Flows: what an application sends, what its peer gets, and the checks on both.

use std::collections::VecDeque;

use base::{Duration, Instant};
use scenario::{Application, Cbr, Flow, Size, Time, Transport};
use wire::Payload;

/// As much as an endless transfer ever writes (bytes).
const ENDLESS: u64 = 1 << 50;

/// An application pair at work.
#[derive(Debug)]
pub struct FlowAtWork {
    /// The name that its payloads carry.
    pub stream: u32,
    application: Application,
    datagrams: bool,
    pub start: Instant,
    /// Bytes handed to the transport, or sent in datagrams.
    pub written: u64,
    /// Bytes that the sender knows to be acknowledged, by TCP's word.
    pub acknowledged: u64,
    /// Bytes delivered in order (or in datagrams).
    pub delivered: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// When it was complete.
    pub complete: Option<Instant>,
    /// When the application acts next.
    pub next: Option<Instant>,
    /// First transmissions not delivered yet: end offset and time.
    sent: VecDeque<(u64, Instant)>,
    /// One past the highest offset ever sent.
    reached: u64,
    /// Sum over delivered pieces of the time from first transmission to delivery.
    delay: Duration,
    pieces: u64,
}

/// A stream that is not what its sender sent.
pub type Broken = String;

impl FlowAtWork {
    pub fn new(flow: &Flow, stream: u32) -> Self {
        let Time(start) = flow.start;
        let start = Instant::ZERO + start;
        Self {
            stream,
            application: flow.application,
            datagrams: flow.transport == Transport::Udp,
            start,
            written: 0,
            acknowledged: 0,
            delivered: 0,
            datagrams_sent: 0,
            complete: None,
            next: Some(start),
            sent: VecDeque::with_capacity(256),
            reached: 0,
            delay: Duration::ZERO,
            pieces: 0,
        }
    }

    /// Does it end by itself?
    pub fn is_transfer(&self) -> bool {
        matches!(self.application, Application::Transfer(_))
    }

    /// The application's time has come: bytes to write, and whether the connection closes behind
    /// them.
    pub fn act(&mut self, now: Instant) -> (u64, bool) {
        let (bytes, closes, next) = match self.application {
            Application::Transfer(Size(bytes)) => (bytes, true, None),
            Application::Ftp => (ENDLESS, false, None),
            Application::Cbr(Cbr { every: Time(every), size: Size(size) }) => {
                (size, false, Some(now + every))
            }
        };
        self.next = next;
        self.written = self.written.saturating_add(bytes);
        (bytes, closes)
    }

    /// A segment or datagram leaves the sender.
    pub fn on_sent(&mut self, now: Instant, payload: Payload) {
        let end = payload.offset + u64::from(payload.len);
        if end > self.reached {
            self.reached = end;
            self.sent.push_back((end, now));
        }
    }

    /// The receiving application gets bytes in order. Their name says which they are, whatever TCP
    /// believes; they must be the next ones.
    ///
    /// # Errors
    /// They are not.
    pub fn on_delivered(&mut self, now: Instant, part: Payload) -> Result<(), Broken> {
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
        self.clock_delay(now, self.delivered);
        if let Application::Transfer(Size(bytes)) = self.application
            && self.delivered == bytes
        {
            self.complete = Some(now);
        }
        Ok(())
    }

    /// A datagram arrives: it may be late or out of order, but it must be one that was sent.
    ///
    /// # Errors
    /// It is not.
    pub fn on_datagram(&mut self, now: Instant, part: Payload) -> Result<(), Broken> {
        let end = part.offset.saturating_add(u64::from(part.len));
        if part.stream != self.stream || end > self.written {
            return Err(format!(
                "stream {} got a datagram with bytes {} to {end} of stream {}, and {} were sent",
                self.stream, part.offset, part.stream, self.written
            ));
        }
        self.delivered += u64::from(part.len);
        if self.delivered > self.written {
            return Err(format!("stream {} got a datagram twice", self.stream));
        }
        self.clock_delay(now, end);
        if let Application::Transfer(Size(bytes)) = self.application
            && self.delivered == bytes
        {
            self.complete = Some(now);
        }
        Ok(())
    }

    /// The delay of what was first sent up to `end`. Datagrams that were lost on the way drop out.
    fn clock_delay(&mut self, now: Instant, end: u64) {
        while let Some((reached, at)) = self.sent.front().copied() {
            if reached > end {
                break;
            }
            self.sent.pop_front();
            if !self.datagrams || reached == end {
                self.delay = self.delay + now.since(at);
                self.pieces += 1;
            }
        }
    }

    /// TCP at the sender says that so much is acknowledged. Nobody may acknowledge what the peer
    /// has not got (liu-singh-2001 §III-B): `received` is what its TCP has in order.
    ///
    /// # Errors
    /// Somebody did.
    pub fn on_acknowledged(&mut self, acknowledged: u64, received: u64) -> Result<(), Broken> {
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

    /// Mean delay of delivered pieces (s).
    pub fn mean_delay(&self) -> Option<f64> {
        (self.pieces > 0).then(|| self.delay.as_secs_f64() / self.pieces as f64)
    }
}
