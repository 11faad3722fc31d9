//! Formulas of IEEE 802.11: one exchange, the largest throughput, saturation.

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
    let frame = data_frame_time(payload + 28.0);
    let asked = if rts { RTS + SIFS + CTS + SIFS } else { 0.0 };
    let times = SlotTimes {
        idle: SLOT,
        success: asked + frame + SIFS + ACK + DIFS,
        collision: if rts { RTS } else { frame } + EIFS,
    };
    let backoff = Backoff { cw_min: CW_MIN, cw_max: CW_MAX, attempts: RETRY_LIMIT };
    times.saturated_rate(stations, &backoff) * payload * 8.0
}

/// Parameters of Bianchi's network beyond those of its Table II.
#[derive(Clone, Copy, Debug)]
pub struct FhssNetwork {
    /// Number of stations.
    pub stations: u32,
    /// Smallest number of slots W from which a backoff is drawn: 0 to W − 1.
    pub window: f64,
    /// UDP payload of a frame (B).
    pub payload: f64,
    /// Largest number of doublings of the window, m.
    pub doublings: i32,
    /// RTS and CTS before each frame.
    pub rts: bool,
}

/// Bianchi's saturation throughput with the parameters of the paper, in bits of UDP payload per second.
// bianchi-2000 §III, Table II: FHSS, all frames at 1 Mbit/s, whose payload of 8184 bits is a datagram of
// 995 bytes with its headers of UDP and IP. No packet is given up.
pub fn bianchi_fhss_throughput(network: FhssNetwork) -> f64 {
    let FhssNetwork { stations, payload, window, doublings, rts } = network;
    let bits = |bits: f64| bits * 1e-6;
    let (slot, sifs, difs, travel) = (50e-6, 28e-6, 128e-6, 1e-6);
    let phy = bits(128.0);
    let (request, clear, ack) = (phy + bits(160.0), phy + bits(112.0), phy + bits(112.0));
    let frame = phy + bits(272.0) + bits((payload + 28.0) * 8.0);
    let asked = if rts { request + clear + 2.0 * (sifs + travel) } else { 0.0 };
    let times = SlotTimes {
        idle: slot,
        success: asked + frame + travel + sifs + ack + travel + difs,
        collision: if rts { request } else { frame } + travel + difs,
    };
    let largest = window * libm::ldexp(1.0, doublings);
    let backoff =
        Backoff { cw_min: window - 1.0, cw_max: largest - 1.0, attempts: u32::from(u8::MAX) };
    times.saturated_rate(stations, &backoff) * payload * 8.0
}

/// Theoretical maximum throughput of one station in bits of UDP payload per second: DSSS at `mbps`
/// Mbit/s with all control frames at 1 Mbit/s, and datagrams of `payload` bytes.
// jun-2003: a MAC header with four addresses and the FCS, 34 bytes; no LLC.
pub fn jun_throughput(mbps: f64, payload: f64, rts: bool) -> f64 {
    let msdu = payload + 28.0;
    let backoff = CW_MIN / 2.0 * SLOT;
    let asked = if rts { RTS + CTS + 2.0 * SIFS } else { 0.0 };
    let fixed = DIFS + SIFS + backoff + ACK + PREAMBLE + asked;
    payload * 8.0 / (fixed + (34.0 + msdu) * 8.0 / (mbps * 1e6))
}

/// Durations of Bianchi's three kinds of slots (s).
struct SlotTimes {
    idle: f64,
    success: f64,
    collision: f64,
}

impl SlotTimes {
    /// The number of frames that arrive per second, if every station always has one.
    fn saturated_rate(&self, stations: u32, backoff: &Backoff) -> f64 {
        let n = f64::from(stations);
        let (mut low, mut high) = (0.0, 1.0);
        // The collision probability that follows from the attempts of the other stations decreases as
        // theirs increases: there is one intersection.
        for _ in 0..60 {
            let collides = f64::midpoint(low, high);
            let busy = 1.0 - libm::pow(1.0 - backoff.attempt_probability(collides), n - 1.0);
            if busy > collides { low = collides } else { high = collides }
        }
        let tau = backoff.attempt_probability(low);
        let any = 1.0 - libm::pow(1.0 - tau, n);
        let alone = n * tau * libm::pow(1.0 - tau, n - 1.0);
        alone / ((1.0 - any) * self.idle + alone * self.success + (any - alone) * self.collision)
    }
}

/// dot11ShortRetryLimit.
const RETRY_LIMIT: u32 = 7;

/// The backoff of a station.
struct Backoff {
    /// First and largest window: a backoff is drawn from 0 to this, inclusive.
    cw_min: f64,
    cw_max: f64,
    /// Attempts until a packet is dropped.
    attempts: u32,
}

impl Backoff {
    /// The probability that a station transmits in a slot if its attempts collide with the
    /// probability `collides`.
    fn attempt_probability(&self, collides: f64) -> f64 {
        let (mut tried, mut slots, mut reached, mut window) = (0.0, 0.0, 1.0, self.cw_min);
        for _ in 0..self.attempts {
            tried += reached;
            // Half the window on average, and the slot of the attempt itself.
            slots += reached * (window / 2.0 + 1.0);
            reached *= collides;
            window = (2.0 * window + 1.0).min(self.cw_max);
        }
        tried / slots
    }
}

#[cfg(test)]
mod test {
    use super::*;

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

    #[test]
    fn a_long_chain_of_backoffs_is_bianchis_closed_form() {
        // bianchi-2000, equation 7: τ = 2(1 − 2p)/((1 − 2p)(W + 1) + pW(1 − (2p)^m)).
        let w = 32.0;
        let backoff = Backoff { cw_min: w - 1.0, cw_max: 8.0 * w - 1.0, attempts: 255 };
        for p in [0.1, 0.3, 0.45_f64] {
            let twice = 2.0 * p;
            let growth = p * w * (1.0 - twice * twice * twice);
            let closed = 2.0 * (1.0 - twice) / ((1.0 - twice) * (w + 1.0) + growth);
            let found = backoff.attempt_probability(p);
            assert!((found / closed - 1.0).abs() < 1e-9, "{p}: {found} {closed}");
        }
    }

    #[test]
    fn the_fixed_times_of_jun_are_sums_of_the_standard() {
        // jun-2003: TMT = 8x/(ax + b) Mbit/s with x in bytes, and 676 µs more with RTS.
        for (mbps, a, b) in [
            (1.0, 8.0, 1138.0),
            (2.0, 4.0, 1002.0),
            (5.5, 1.45455, 915.45),
            (11.0, 0.72727, 890.73),
        ] {
            for (rts, more) in [(false, 0.0), (true, 676.0)] {
                let x = 1500.0;
                let tmt = 8.0 * x / (a * x + b + more) * 1e6;
                let found = jun_throughput(mbps, x - 28.0, rts) * x / (x - 28.0);
                assert!((found / tmt - 1.0).abs() < 1e-5, "{mbps} {rts}: {found} {tmt}");
            }
        }
    }

    #[test]
    fn the_network_of_the_paper_has_its_throughput() {
        let network =
            FhssNetwork { stations: 20, payload: 995.0, window: 32.0, doublings: 3, rts: false };
        let share = |network| bianchi_fhss_throughput(network) / 1e6 * 8184.0 / 7960.0;
        // bianchi-2000, Figure 6: about 0.68 of the channel, and more than 0.8 with RTS.
        assert!((share(network) - 0.68).abs() < 0.02, "{}", share(network));
        let asked = share(FhssNetwork { rts: true, ..network });
        assert!(asked > 0.8 && asked < 0.85, "{asked}");
    }
}
