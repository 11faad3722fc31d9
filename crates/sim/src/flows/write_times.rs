//! Times and sizes of an application's writes.

use driftway_base::{Duration, Instant, RandomStream};
use driftway_scenario::{Application, Cbr, OnOff, Poisson, Size, Time};

/// The number of bytes that an unlimited transfer writes at once.
pub const UNLIMITED_BYTES: u64 = 1 << 50;

/// The application of one direction of a flow.
#[derive(Debug)]
pub struct Writer {
    application: Application,
    /// It answers the requests of the other direction.
    is_responder: bool,
    /// End of the present burst; a new one begins when it has passed.
    burst_ends: Instant,
    /// Draws random intervals and sizes, if the application has them.
    random: RandomStream,
}

/// An application's action at its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The bytes that it writes.
    pub bytes: u64,
    /// The connection closes after them.
    pub closes: bool,
    /// The time of its next action, if that is known.
    pub next: Option<Instant>,
}

impl Writer {
    /// The application of a stream.
    pub fn new(application: Application, seed: u64, stream: u32) -> Self {
        Self {
            application,
            is_responder: false,
            burst_ends: Instant::ZERO,
            random: RandomStream::new(seed, "cbr", stream.into()),
        }
    }

    /// The other end of the application, if it answers.
    pub fn responder(application: Application, seed: u64, stream: u32) -> Option<Self> {
        let answers = matches!(application, Application::RequestResponse(_));
        answers.then(|| Self { is_responder: true, ..Self::new(application, seed, stream) })
    }

    /// The bytes of the transfer, if the application is one.
    pub const fn transfer(&self) -> Option<u64> {
        match self.application {
            Application::Transfer(Size(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Acts at the application's time.
    pub fn write(&mut self, now: Instant) -> Write {
        let (bytes, closes, next) = match self.application {
            Application::Transfer(Size(bytes)) => (bytes, true, None),
            Application::Ftp => (UNLIMITED_BYTES, false, None),
            Application::Cbr(cbr) => {
                let Size(size) = cbr.size;
                (size, false, Some(now + self.cbr_gap(cbr)))
            }
            Application::Poisson(Poisson { every: Time(every), size: Size(size) }) => {
                (size, false, Some(now + self.random.exponential_duration(every)))
            }
            Application::OnOff(on_off) => {
                let Size(size) = on_off.size;
                (size, false, Some(self.next_of_bursts(now, on_off)))
            }
            Application::RequestResponse(_) if self.is_responder => (0, false, None),
            Application::RequestResponse(of) => {
                let Size(request) = of.request;
                (request, false, None)
            }
        };
        Write { bytes, closes, next }
    }

    fn cbr_gap(&mut self, cbr: Cbr) -> Duration {
        let Time(every) = cbr.every;
        let (low, high) = cbr.bounds();
        if low < high { self.random.uniform_duration(low, high) } else { every }
    }

    /// The time of the next packet after one at `now`.
    fn next_of_bursts(&mut self, now: Instant, on_off: OnOff) -> Instant {
        let Time(every) = on_off.every;
        if now >= self.burst_ends {
            self.burst_ends = now + on_off.draw_on(&mut self.random);
        }
        let next = now + every;
        if next < self.burst_ends {
            return next;
        }
        // Never faster than within a burst.
        next.max(self.burst_ends + on_off.draw_off(&mut self.random))
    }

    /// The size of the response to a request that has arrived; 0 if the application has none.
    pub fn draw_response(&mut self) -> u64 {
        match self.application {
            Application::RequestResponse(of) => of.draw_response(&mut self.random),
            _ => 0,
        }
    }

    /// The time from a response that has arrived to the next request; `None` if the application has none.
    pub fn draw_think(&mut self) -> Option<Duration> {
        match self.application {
            Application::RequestResponse(of) => Some(of.draw_think(&mut self.random)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_scenario::Times;

    const SIZE: Size = Size(100);

    /// The times of the first packets (ms), after a start at 2 s.
    fn times(application: Application, count: usize) -> Vec<u64> {
        let mut writer = Writer::new(application, 1, 6);
        let mut now = Instant::from_secs(2);
        let next = |_| {
            let at = now;
            let Write { bytes, closes, next } = writer.write(now);
            assert_eq!((bytes, closes), (100, false));
            now = next.unwrap();
            at.since(Instant::from_secs(2)).as_nanos() / 1_000_000
        };
        (0..count).map(next).collect()
    }

    /// Bursts of 250 ms with a packet each 100 ms, 400 ms apart: at 0, 100, 200, then from 650 on.
    #[test]
    fn constant_bursts_have_their_packets() {
        let time = Time::from_millis;
        let bursts = |off| {
            let (on, every, times) = (time(250), time(100), Times::Constant);
            Application::OnOff(OnOff { on, off: time(off), every, size: SIZE, times, shape: None })
        };
        assert_eq!(times(bursts(400), 7), [0, 100, 200, 650, 750, 850, 1300]);
        // Without a pause, packets are not closer than in a burst.
        assert_eq!(times(bursts(0), 5), [0, 100, 200, 300, 400]);
    }

    /// The gaps of a Poisson process are exponential: their mean is that of the key, and their standard
    /// deviation, too.
    #[test]
    fn a_poisson_process_has_exponential_gaps() {
        let every = Time::from_millis(250);
        let at = times(Application::Poisson(Poisson { every, size: SIZE }), 20_000);
        let gaps: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let deviation =
            (gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / n).sqrt();
        assert!(
            (mean - 250.0).abs() < 8.0 && (deviation - 250.0).abs() < 12.0,
            "{mean} {deviation}"
        );
    }

    /// ns-2's cbr_traffic.cc with `random_ 1`: each interval is uniform in 0.5 to 1.5 times the mean.
    #[test]
    fn jittered_gaps_are_uniform_around_their_mean() {
        let cbr = Cbr { every: Time::from_millis(250), size: SIZE, jitter: 0.5 };
        let mut writer = Writer::new(Application::Cbr(cbr), 1, 6);
        let mut now = Instant::from_secs(2);
        let (mut least, mut most) = (Duration::MAX, Duration::ZERO);
        for _ in 0..4000 {
            let next = writer.write(now).next.unwrap();
            let gap = next.since(now);
            (least, most, now) = (least.min(gap), most.max(gap), next);
        }
        let millis = Duration::from_millis;
        assert!(least >= millis(125) && least < millis(126), "{least:?}");
        assert!(most <= millis(375) && most > millis(374), "{most:?}");
        let mean = now.since(Instant::from_secs(2)).as_secs_f64() / 4000.0;
        assert!((mean - 0.25).abs() < 0.004, "{mean}");
    }
}
