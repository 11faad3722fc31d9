//! Formulas from the literature.

/// The full formula of Padhye et al.: the steady-state sending rate of a Reno sender in segments
/// per second.
///
/// `loss` is the probability of a loss indication, `rtt` and `timeout` are in seconds, `window` is
/// the maximum window in segments, and `per_ack` the number of segments per acknowledgment.
// padhye-1998 §II-C, equations 13, 24, 29 and 32.
pub fn padhye_rate(loss: f64, rtt: f64, timeout: f64, window: f64, per_ack: f64) -> f64 {
    let (p, b) = (loss, per_ack);
    let middle = (2.0 + b) / (3.0 * b);
    let free = middle + (8.0 * (1.0 - p) / (3.0 * b * p) + middle * middle).sqrt();
    // The mean length of a sequence of timeouts, in units of the first one, times 1 − p.
    let doubled = 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))));
    let sent = |end: f64| (1.0 - p) / p + end + timeout_probability(p, end) / (1.0 - p);
    let silent = |end: f64| timeout_probability(p, end) * doubled * timeout / (1.0 - p);
    if free < window {
        sent(free) / (rtt * (b / 2.0 * free + 1.0) + silent(free))
    } else {
        let rounds = b / 8.0 * window + (1.0 - p) / (p * window) + 2.0;
        sent(window) / (rtt * rounds + silent(window))
    }
}

/// The probability that a loss in a window of `window` segments is detected by a timeout.
fn timeout_probability(p: f64, window: f64) -> f64 {
    let arrives = 1.0 - p;
    let kept = |n: f64| libm::pow(arrives, n);
    let few = 1.0 - kept(3.0);
    (few * (1.0 + kept(3.0) * (1.0 - kept(window - 3.0))) / (1.0 - kept(window))).min(1.0)
}

/// IEEE 802.11 with the DSSS physical layer at 2 Mbit/s for data and 1 Mbit/s for all other frames
/// (IEEE 802.11-1999 §15.3.3, §9.2.10; LLC and SNAP headers of RFC 1042). In seconds.
const PREAMBLE: f64 = 192e-6;
const SLOT: f64 = 20e-6;
const SIFS: f64 = 10e-6;
const DIFS: f64 = SIFS + 2.0 * SLOT;
const RTS: f64 = PREAMBLE + 20.0 * 8.0 / 1e6;
const CTS: f64 = PREAMBLE + 14.0 * 8.0 / 1e6;
const ACK: f64 = CTS;
const EIFS: f64 = SIFS + ACK + DIFS;
const HEADERS: f64 = 24.0 + 4.0 + 8.0;
const CW_MIN: f64 = 31.0;
const CW_MAX: f64 = 1023.0;

/// Airtime of a data frame with an IP packet of `packet` bytes (s).
fn data_frame_time(packet: f64) -> f64 {
    PREAMBLE + (packet + HEADERS) * 8.0 / 2e6
}

/// Time from the arrival of a packet at a station with an idle medium to its reception by the
/// neighbour (s). `travel` is the propagation delay.
pub fn exchange_time(packet: f64, rts: bool, travel: f64) -> f64 {
    let asked = if rts { RTS + travel + SIFS + CTS + travel + SIFS } else { 0.0 };
    asked + data_frame_time(packet) + travel
}

/// Bianchi's saturation throughput in bits of UDP payload per second: `stations` within range of
/// each other that always have a packet of `payload` bytes. A packet is dropped after the
/// standard's maximum number of attempts for an RTS, or for a frame below the RTS threshold.
// bianchi-2000 §III and §IV, with the chain truncated at the retry limit; after a collision other
// stations defer for an EIFS (IEEE 802.11-1999 §9.2.3.4).
pub fn bianchi_throughput(stations: u32, payload: f64, rts: bool) -> f64 {
    let n = f64::from(stations);
    let (mut low, mut high) = (0.0, 1.0);
    // The collision probability that follows from the attempts of the other stations decreases as
    // theirs increases: there is one intersection.
    for _ in 0..60 {
        let collides = f64::midpoint(low, high);
        let busy = 1.0 - libm::pow(1.0 - attempt_probability(collides), n - 1.0);
        if busy > collides { low = collides } else { high = collides }
    }
    let tau = attempt_probability(low);
    let any = 1.0 - libm::pow(1.0 - tau, n);
    let alone = n * tau * libm::pow(1.0 - tau, n - 1.0);
    let frame = data_frame_time(payload + 28.0);
    let asked = if rts { RTS + SIFS + CTS + SIFS } else { 0.0 };
    let success = asked + frame + SIFS + ACK + DIFS;
    let collision = if rts { RTS } else { frame } + EIFS;
    alone * payload * 8.0 / ((1.0 - any) * SLOT + alone * success + (any - alone) * collision)
}

/// dot11ShortRetryLimit.
const RETRY_LIMIT: u32 = 7;

/// The probability that a station transmits in a slot if its attempts collide with the probability
/// `collides`.
fn attempt_probability(collides: f64) -> f64 {
    let (mut tried, mut slots, mut reached, mut window) = (0.0, 0.0, 1.0, CW_MIN);
    for _ in 0..RETRY_LIMIT {
        tried += reached;
        // Half the window on average, and the slot of the attempt itself.
        slots += reached * (window / 2.0 + 1.0);
        reached *= collides;
        window = (2.0 * window + 1.0).min(CW_MAX);
    }
    tried / slots
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn padhye_without_timeouts_is_the_square_root_law() {
        // Rare losses, no window limit: 1/(RTT √(2bp/3)), mathis-1997.
        let rate = padhye_rate(1e-6, 0.1, 1.0, f64::INFINITY, 1.0);
        let law = 1.0 / (0.1 * (2e-6_f64 / 3.0).sqrt());
        assert!((rate / law - 1.0).abs() < 0.01, "{rate} {law}");
    }

    #[test]
    fn padhye_with_negligible_loss_sends_a_window_per_round_trip() {
        let rate = padhye_rate(1e-9, 0.1, 1.0, 40.0, 1.0);
        assert!((rate / 400.0 - 1.0).abs() < 1e-3, "{rate}");
    }

    #[test]
    fn padhye_by_hand() {
        // p = 0.1, b = 1: E[W] = 1 + √25 = 6; Q = 0.271·(1 + 0.729·0.271)/(1 − 0.531441);
        // f = 1 + 0.1 + 0.02 + 0.004 + 0.0008 + 0.00016 + 0.000032.
        let q = 0.271 * (1.0 + 0.729 * 0.271) / 0.468_559;
        let by_hand = (9.0 + 6.0 + q / 0.9) / (0.2 * (3.0 + 1.0) + q * 1.124_992 * 1.0 / 0.9);
        let rate = padhye_rate(0.1, 0.2, 1.0, 40.0, 1.0);
        assert!((rate / by_hand - 1.0).abs() < 1e-9, "{rate} {by_hand}");
    }

    #[test]
    fn an_exchange_by_hand() {
        // RTS 352 µs, CTS 304 µs, two SIFS, 1028 + 36 bytes at 2 Mbit/s after 192 µs, and three
        // propagation delays.
        let time = exchange_time(1028.0, true, 1e-6);
        assert!((time - 5_127e-6).abs() < 1e-9, "{time}");
        assert!((exchange_time(1028.0, false, 1e-6) - 4_449e-6).abs() < 1e-9);
    }

    #[test]
    fn one_station_counts_half_its_window_and_never_collides() {
        let cycle =
            RTS + SIFS + CTS + SIFS + data_frame_time(1028.0) + SIFS + ACK + DIFS + 15.5 * SLOT;
        let rate = bianchi_throughput(1, 1000.0, true);
        assert!((rate * cycle / 8000.0 - 1.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn more_stations_waste_more_and_rts_wastes_less() {
        let (few, many) =
            (bianchi_throughput(5, 1000.0, false), bianchi_throughput(50, 1000.0, false));
        assert!(few > many);
        assert!(bianchi_throughput(50, 1000.0, true) > many);
    }
}
