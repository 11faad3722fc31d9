//! 802.11g: airtimes, and the throughput of a saturated pair, compared with the theoretical maximum throughput (Jun,
//! Peddabachige & Sichitiu 2003, "Theoretical Maximum Throughput of IEEE 802.11 and its Applications").

use driftway_base::{Duration, Instant, PacketId, Rate, StationId};
use driftway_radio::dcf::Phy;
use driftway_radio::{
    Dcf, DcfConfig, MacReport, Mobility, OutgoingPacket, Positions, Propagation, RadioConfig,
};

const G: DcfConfig = DcfConfig::ERP_OFDM;

const fn mbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

/// IEEE 802.11-2007 §19.8.3.1: preamble and signal field, symbols, signal extension. An ACK of 134 bits at 24 Mbit/s has
/// two symbols of 96 bits, a frame of 1536 bytes at 54 Mbit/s 57 of 216 bits.
#[test]
fn airtimes_are_whole_symbols() {
    let micros = |bytes, rate| G.airtime(bytes, mbps(rate)).as_nanos() / 1_000;
    assert_eq!(micros(14, 24), 20 + 2 * 4 + 6);
    assert_eq!(micros(14, 6), 20 + 6 * 4 + 6);
    assert_eq!(micros(1536, 54), 20 + 57 * 4 + 6);
    assert_eq!(micros(1536, 6), 20 + 513 * 4 + 6);
    // To the bit: 216 − 22 bits are 24 bytes, and one more needs a second symbol.
    assert_eq!(micros(24, 54), 20 + 4 + 6);
    assert_eq!(micros(25, 54), 20 + 2 * 4 + 6);
    assert_eq!(G.difs(), Duration::from_micros(28));
    assert_eq!(G.eifs(), Duration::from_micros(10 + 28 + 20 + 6 * 4 + 6));
    let long = DcfConfig { slot: Duration::from_micros(20), ..G };
    assert_eq!(long.difs(), Duration::from_micros(50));
}

/// Throughput (bit/s) of packets of this size: a DIFS, half the minimum contention window, the data frame, a SIFS and
/// the ACK; also an RTS and a CTS with their SIFS if they are used.
fn theoretical_maximum(config: &DcfConfig, payload: u32) -> f64 {
    let symbols = |bytes: u32, rate: Rate| {
        let per_symbol = rate.as_bps() as f64 * 4e-6;
        26.0 + 4.0 * libm::ceil((22.0 + 8.0 * f64::from(bytes)) / per_symbol)
    };
    let slot = config.slot.as_nanos() as f64 / 1e3;
    let (difs, backoff) = (10.0 + 2.0 * slot, 15.0 / 2.0 * slot);
    // 28 bytes of MAC header and FCS, and 8 of LLC and SNAP.
    let data = symbols(payload + 36, config.data_rate);
    let ack = symbols(14, config.basic_rate);
    let mut cycle = difs + backoff + data + 10.0 + ack;
    if config.rts_threshold == 0 {
        cycle += symbols(20, config.basic_rate) + 10.0 + symbols(14, config.basic_rate) + 10.0;
    }
    f64::from(payload) * 8.0 / cycle * 1e6
}

/// The same for two simulated stations at the same place.
fn measured(config: DcfConfig, payload: u32, seconds: u64) -> f64 {
    let radio = Propagation::new(&RadioConfig::STANDARD, 2, 1).unwrap();
    let positions = Positions::new(Mobility::fixed(&[(0.0, 0.0); 2]), radio.reach());
    let mut dcf = Dcf::new(config, positions, radio, 7);
    let (from, to) = (StationId::new(0), Some(StationId::new(1)));
    let packet = OutgoingPacket { id: PacketId::new(0), to, bytes: payload, is_control: false };
    dcf.send(Instant::ZERO, from, packet);
    let (mut reports, mut received) = (Vec::new(), 0_u64);
    let end = Instant::from_secs(seconds);
    loop {
        let now = dcf.run(end, &mut reports);
        for report in reports.drain(..) {
            match report {
                MacReport::Received { .. } => received += 1,
                MacReport::Sent { station, .. } => assert!(dcf.send(now, station, packet)),
                other => panic!("{other:?}"),
            }
        }
        if now >= end {
            return (received * u64::from(payload) * 8) as f64 / seconds as f64;
        }
    }
}

#[test]
fn a_saturated_pair_has_the_theoretical_maximum_throughput() {
    for rate in Phy::OFDM_RATES {
        let basic_rate = mbps(if rate < 12 {
            6
        } else if rate < 24 {
            12
        } else {
            24
        });
        let plain = DcfConfig { data_rate: mbps(rate), basic_rate, ..G };
        let long_slot = DcfConfig { slot: Duration::from_micros(20), ..plain };
        let with_rts = DcfConfig { rts_threshold: 0, ..plain };
        for (config, payload) in [(plain, 1500), (plain, 100), (long_slot, 1500), (with_rts, 1500)]
        {
            let model = theoretical_maximum(&config, payload);
            let off = measured(config, payload, 10) / model - 1.0;
            assert!(off.abs() < 0.01, "{rate} Mbit/s, {payload} B: {off} from {model} bit/s");
        }
    }
    // As published for 802.11g alone with 1500 bytes: 30 Mbit/s of 54.
    let most = theoretical_maximum(&G, 1500);
    assert!((30.0e6..31.0e6).contains(&most), "{most}");
}
