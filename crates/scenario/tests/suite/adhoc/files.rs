//! Parsing and output of ad hoc scenarios.

use driftway_radio::PropagationKind;
use driftway_scenario::{
    Arp, ArpOptions, CaptureRatio, Distance, Feedback, Keyword, Lifetime, Mac, Mobility,
    OneOrRange, Power, RandomWaypointKeys, Routing, Scenario, Speed, Time,
};
use proptest::prelude::*;

use super::{RIGHT, adhoc, network, read};

#[test]
fn the_example_is_read() {
    let network = adhoc(&[]);
    assert_eq!(network.nodes(), 50);
    assert_eq!(network.area, Some((Distance(1500.0), Distance(1000.0))));
    let speed = OneOrRange((Speed(9.0), Speed(11.0)));
    let pause = OneOrRange((Time::default(), Time::default()));
    let model = RandomWaypointKeys { speed, pause, steady_state: true };
    assert_eq!(network.mobility, Mobility::RandomWaypoint(model));
    assert_eq!(network.radio.propagation, Keyword(PropagationKind::TwoRay));
    assert!(matches!(network.mac, Mac::Dcf(_)));
    assert!(matches!(&network.routing, Routing::Dsr(dsr) if dsr.promiscuous));
    assert_eq!((network.arp, network.feedback), (Arp::Off, Feedback::IcmpUnreachable));
}

#[test]
fn the_number_of_nodes_follows_from_positions() {
    let text = RIGHT.replace("nodes = 50\n", "").replace("to = 1", "to = 2");
    let positions = [["0 m", "0 m"], ["0.2 km", "0 m"], ["400 m", "1 mm"]];
    let mobility = format!("{{ positions = {positions:?} }}");
    let overrides = [("network.mobility".to_owned(), mobility)];
    let scenario = Scenario::parse("test.toml", &text, &overrides).unwrap();
    assert_eq!(network(&scenario).nodes, Some(3));
    let Mobility::Positions(listed) = &network(&scenario).mobility else { panic!() };
    assert_eq!(listed.positions[2], (Distance(400.0), Distance(0.001)));

    let velocities = r#"{ model = "constant-velocity", positions = [["0 m", "0 m"], ["9 m", "0 m"],
        ["9 m", "9 m"]], velocities = [["1 m/s", "-2 m/s"], ["3.6 km/h", "0 m/s"], ["0 m/s", "0 m/s"]] }"#;
    let overrides = [("network.mobility".to_owned(), velocities.to_owned())];
    let scenario = Scenario::parse("test.toml", &text, &overrides).unwrap();
    assert_eq!(network(&scenario).nodes, Some(3));
    let Mobility::ConstantVelocity(model) = &network(&scenario).mobility else { panic!() };
    assert_eq!(model.velocities[..2], [(Speed(1.0), Speed(-2.0)), (Speed(1.0), Speed(0.0))]);
}

#[test]
fn the_default_radio_is_that_of_ns_2() {
    let radio = adhoc(&[("network.radio", "{}")]).radio;
    assert_eq!(radio, adhoc(&[]).radio);
    let radio = adhoc(&[("network.radio", r#"{ receive_range = "100 m" }"#)]).radio;
    assert_eq!(radio.sense_range, Some(Distance(100.0 * 2.2)));
    let levels = r#"{ receive_threshold = "-64.37 dBm", sense_threshold = "1.559e-11 W" }"#;
    let radio = adhoc(&[("network.radio", levels), ("network.radio.capture", "none")]).radio;
    assert_eq!((radio.receive_range, radio.sense_range), (None, None));
    assert_eq!(radio.receive_threshold, Some(Power::Dbm(-64.37)));
    assert_eq!(radio.sense_threshold, Some(Power::Watts(1.559e-11)));
    assert_eq!(radio.capture, CaptureRatio::None);
    let radio = adhoc(&[("network.radio", r#"{ propagation = "log-distance" }"#)]).radio;
    assert_eq!(radio.exponent, Some(3.0));
}

#[test]
fn arp_is_a_switch_or_a_table() {
    assert_eq!(adhoc(&[("network.arp", "false")]).arp, Arp::Off);
    assert_eq!(adhoc(&[("network.arp", "true")]).arp, Arp::On(ArpOptions::default()));
    let Arp::On(arp) = adhoc(&[("network.arp.lifetime", "forever")]).arp else { panic!() };
    assert_eq!(arp, ArpOptions { lifetime: Lifetime::Forever, ..ArpOptions::default() });
}

const MOVES: &str = "$node_(0) set X_ 10\n$node_(0) set Y_ 20\n$node_(0) set Z_ 0\n\
                     $node_(1) set X_ 30\n$node_(1) set Y_ 40\n$node_(1) set Z_ 0\n\
                     $ns_ at 1.0 \"$node_(0) setdest 100 200 5\"\n";

/// A directory with a scenario and its movement file.
pub(super) fn folder(name: &str, content: &[u8], mobility: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("driftway-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("two.mov"), content).unwrap();
    let start = RIGHT.find("mobility").unwrap();
    let end = start + RIGHT[start..].find('\n').unwrap();
    let text = format!("{}{mobility}{}", &RIGHT[..start], &RIGHT[end..]);
    std::fs::write(folder.join("scenario.toml"), text.replace("nodes = 50\n", "")).unwrap();
    folder
}

fn load(name: &str, content: &[u8], mobility: &str) -> Result<Scenario, String> {
    let folder = folder(name, content, mobility);
    let prefix = format!("{}/", folder.display());
    let scenario = Scenario::load(folder.join("scenario.toml"), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    scenario.map_err(|error| error.to_string().replace(&prefix, ""))
}

#[test]
fn movement_files_are_relative_to_the_scenario() {
    let scenario = load("beside", MOVES.as_bytes(), "mobility = { file = \"two.mov\" }").unwrap();
    assert_eq!(network(&scenario).nodes, Some(2));
    assert_eq!(network(&scenario).mobility(1).unwrap().stations(), 2);
    assert!(scenario.show().contains("mobility = { file = \"two.mov\" }"));

    let bonnmotion = b"0 10 20 5 30 40\n0 1 2\n";
    let file = "mobility = { file = \"two.mov\", format = \"bonnmotion\" }";
    assert_eq!(network(&load("bonn", bonnmotion, file).unwrap()).nodes, Some(2));
}

fn gzip(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

/// The size unpacked is limited: 70 MiB of blanks are 0.3 MB compressed.
#[test]
fn compressed_movement_files_are_read() {
    let file = "mobility = { file = \"two.mov\" }";
    let packed = gzip(MOVES.as_bytes());
    let scenario = load("gzip", &packed, file).unwrap();
    assert_eq!(network(&scenario).movement.as_ref().unwrap().bounds().high, (100.0, 200.0));
    let error = load("cut", &packed[..packed.len() - 9], file).unwrap_err();
    assert!(error.contains("two.mov: this file is not a complete gzip file"), "{error}");
    let blanks = gzip(&vec![b' '; 70 << 20]);
    let error = load("blanks", &blanks, file).unwrap_err();
    assert!(error.contains("two.mov: this file unpacks to more than 64 MiB"), "{error}");
    // An error within it has its line.
    let broken = gzip(MOVES.replace("setdest 100", "setdest 1OO").as_bytes());
    assert!(load("wrong", &broken, file).unwrap_err().starts_with("two.mov:7:"));
}

/// Files of one format are one movement, whose keys move and delay it.
#[test]
fn tracks_come_from_several_files() {
    let track = |second: u32, lon: &str| {
        format!(
            "<gpx><trk><name>{lon}</name><trkseg><trkpt lat='60.1699' lon='{lon}'>\
             <time>2026-05-04T07:30:{second}Z</time></trkpt></trkseg></trk></gpx>"
        )
    };
    let mobility = "mobility = { file = [\"two.mov\", \"b.gpx\"], start = \"2 s\", \
                    origin = [\"60.1699 deg\", \"24.9384 deg\"], offset = [\"10 m\", \"20 m\"] }";
    let folder = folder("tracks", track(40, "24.9384").as_bytes(), mobility);
    std::fs::write(folder.join("b.gpx"), gzip(track(50, "24.9484").as_bytes())).unwrap();
    let scenario = Scenario::load(folder.join("scenario.toml"), &[]).unwrap();
    let overrides = [("network.mobility.file".to_owned(), "[\"two.mov\", \"c.gpx\"]".to_owned())];
    let error = Scenario::load(folder.join("scenario.toml"), &overrides).unwrap_err().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.contains("c.gpx: No such file"), "{error}");
    let movement = network(&scenario).movement.as_ref().unwrap();
    assert_eq!((movement.bounds().low, movement.nodes()), ((10.0, 20.0), 2));
    // 555.1364 m by pymap3d.
    assert!((movement.bounds().high.0 - 565.1364).abs() < 1e-3, "{:?}", movement.bounds());
    let first: Vec<_> = movement.tracks().iter().map(|track| track.first.as_nanos()).collect();
    assert_eq!(first, [0, 8_000_000_000]);
    let shown = "file = [\"two.mov\", \"b.gpx\"]\nstart = \"2 s\"\norigin = [\"60.1699 deg\", \"24.9384 deg\"]\n";
    assert!(scenario.show().contains(shown), "{}", scenario.show());
    assert_eq!(
        network(&scenario).movement_notes(Time::from_secs(20), |node| format!("n{node}")),
        [
            "positions: x from 10.0 m to 565.1 m, y from 20.0 m to 20.0 m",
            "origin: x 10 m, y 20 m is at latitude 60.1699 deg, longitude 24.9384 deg",
            "nodes: n0 `24.9384`, n1 `24.9484`",
            "stand at their first position until they appear: n1 until 8 s",
            "stand at their last position after they have left: n0 from 0 s, n1 from 8 s",
        ]
    );
}

#[test]
fn errors_in_movement_files_are_located() {
    let file = "mobility = { file = \"two.mov\" }";
    let broken = MOVES.replace("setdest 100", "setdest 1OO");
    let error = load("broken", broken.as_bytes(), file).unwrap_err();
    assert!(error.starts_with("two.mov:7:"), "{error}");
    assert!(error.contains("\nhelp: "), "{error}");
    let error = load("latin", b"# caf\xe9\n", file).unwrap_err();
    assert!(error.starts_with("two.mov:1:6: this file is not UTF-8"), "{error}");

    let missing = "mobility = { file = \"too.mov\" }";
    let error = load("missing", b"", missing).unwrap_err();
    assert!(error.starts_with("scenario.toml:7:21: too.mov: No such file"), "{error}");
    assert!(
        error.ends_with(
            "\nhelp: the name of a movement file is relative to the scenario's directory"
        )
    );

    let outside = MOVES.replace("setdest 100", "setdest 1501");
    let error = load("outside", outside.as_bytes(), file).unwrap_err();
    assert_eq!(
        error,
        "scenario.toml:7:21: a node at (1501 m, 200 m) is outside\n\
         help: x is from 0 m to 1500 m, y from 0 m to 1000 m"
    );
    let format = "mobility = { file = \"two.mov\", format = \"bonnmotion\" }";
    assert!(load("format", MOVES.as_bytes(), format).unwrap_err().starts_with("two.mov:1:"));
}

#[test]
fn radio_keys_reach_the_configuration() {
    let other = r#"{ propagation = "log-distance", exponent = 2.5, shadowing = "4 dB", decorrelation = "20 m", capture = "none",
        receive_threshold = "-70 dBm", sense_threshold = "1e-11 W", antenna_gain = "3 dB" }"#;
    let config = adhoc(&[("network.radio", other)]).radio.config();
    let model = driftway_radio::PropagationModel::LogDistance(driftway_radio::LogDistance {
        exponent: 2.5,
        shadowing_db: 4.0,
        decorrelation: Some(20.0),
    });
    assert_eq!(config.model, model);
    assert_eq!(config.sense, driftway_radio::Threshold::Power(1e-11));
    assert!((config.antenna_gain - 1.995).abs() < 1e-3 && config.capture.is_infinite());
}

#[test]
fn fading_reaches_the_configuration() {
    let fading = |value| adhoc(&[("network.radio.fading", value)]).radio.config().fading;
    assert_eq!(adhoc(&[]).radio.config().fading, None);
    assert_eq!(fading("rayleigh"), Some(driftway_radio::FadingModel::Rayleigh));
    let rician = driftway_radio::FadingModel::Rician { factor: 10.0 };
    assert_eq!(fading("{ rician = \"10 dB\" }"), Some(rician));
    let nakagami = driftway_radio::FadingModel::Nakagami { shape: 1.5 };
    assert_eq!(fading("{ nakagami = 1.5 }"), Some(nakagami));
}

/// `phy` chooses the defaults of 802.11g; control frames have the highest mandatory rate up to the data's.
#[test]
fn a_physical_layer_has_its_defaults() {
    use driftway_radio::DcfConfig;
    let dcf = |mac: &str| adhoc(&[("network.mac", mac)]).dcf().expect("a DCF");
    assert_eq!(dcf(r#"{ kind = "dcf" }"#), DcfConfig::STANDARD);
    assert_eq!(dcf(r#"{ kind = "dcf", phy = "erp-ofdm" }"#), DcfConfig::ERP_OFDM);
    for (rate, basic) in [(6, 6), (9, 6), (12, 12), (18, 12), (24, 24), (48, 24)] {
        let mac = format!(r#"{{ kind = "dcf", phy = "erp-ofdm", data_rate = "{rate} Mbit/s" }}"#);
        let config = dcf(&mac);
        assert_eq!(config.data_rate.as_bps(), rate * 1_000_000);
        assert_eq!(config.basic_rate.as_bps(), basic * 1_000_000, "{rate}");
    }
    let slow =
        dcf(r#"{ kind = "dcf", phy = "erp-ofdm", slot = "20 us", basic_rate = "6 Mbit/s" }"#);
    assert_eq!((slot_us(&slow), slow.basic_rate.as_bps()), (20, 6_000_000));
    let ns2 = adhoc(&[
        ("network.mac", r#"{ kind = "dcf", phy = "erp-ofdm" }"#),
        ("network.compat", "ns-2"),
    ]);
    let ns2 = ns2.dcf().expect("a DCF");
    assert_eq!((slot_us(&ns2), ns2.header_bytes), (9, 34));
}

fn slot_us(config: &driftway_radio::DcfConfig) -> u64 {
    config.slot.as_nanos() / 1_000
}

#[test]
fn arp_keys_reach_the_configuration() {
    let config = |overrides: &[(&str, &str)]| match adhoc(overrides).arp {
        Arp::On(arp) => arp.config(),
        Arp::Off => panic!("it is on"),
    };
    let on = ("network.arp", "true");
    assert_eq!(config(&[on]), driftway_link::ArpConfig::STANDARD);
    assert_eq!(config(&[on, ("network.compat", "ns-2")]), driftway_link::ArpConfig::NS2);
}

/// Overrides of keys of [`RIGHT`], nearly all valid.
fn overrides() -> impl Strategy<Value = Vec<(String, String)>> {
    let word = |words: &'static [&'static str]| prop::sample::select(words).prop_map(str::to_owned);
    let metres = || (1.0..2000.0_f64).prop_map(|x| format!("{x} m"));
    let one = prop_oneof![
        (
            Just("network.mobility"),
            prop_oneof![
                metres().prop_map(|x| format!("{{ chain = \"{x}\" }}")),
                (0.001..10.0_f64, 0.0..10.0_f64, any::<bool>()).prop_map(|(slow, more, steady)| {
                    let fast = slow + more;
                    format!(
                        "{{ model = \"random-waypoint\", speed = [\"{slow} m/s\", \"{fast} m/s\"], \
                         pause = \"7 s\", steady_state = {steady} }}"
                    )
                }),
                (-5e3..5e3_f64, -5e3..5e3_f64).prop_map(|(x, y)| format!(
                    "{{ positions = [[\"0 m\", \"0 m\"], [\"{x:?} m\", \"{y:?} mm\"]] }}"
                )),
            ]
        ),
        (Just("network.nodes"), word(&["2", "50", "1000"])),
        (Just("network.radio.propagation"), word(&["two-ray", "friis", "range", "log-distance"])),
        (Just("network.radio.receive_range"), metres()),
        (Just("network.radio.power"), (-30.0..30.0_f64).prop_map(|x| format!("{x} dBm"))),
        (Just("network.radio.power"), (1e-9..30.0_f64).prop_map(|x| format!("{x:e} W"))),
        (Just("network.radio.antenna_height"), metres()),
        (Just("network.radio.capture"), word(&["none", "3 dB"])),
        (Just("network.radio.packet_error_rate"), (0.0..=1.0_f64).prop_map(|x| format!("{x:?}"))),
        (
            Just("network.mac"),
            word(&[
                r#"{ kind = "tdma", slot_bytes = "600 B" }"#,
                r#"{ kind = "dcf", slot = "9 us", response_timeout = { whole-frame = "3 us" } }"#
            ])
        ),
        (Just("network.queue.priority"), word(&["none", "routing-first", "classes"])),
        (Just("network.queue.ecn_threshold"), word(&["1", "20"])),
        (Just("network.queue.discipline"), word(&["red", "codel"])),
        (Just("network.arp"), word(&["true", "false", r#"{ hold = 1, retry = "next-packet" }"#])),
        (
            Just("network.routing"),
            word(&[
                r#"{ protocol = "aodv", local_repair = "off", hello = { interval = "2 s" } }"#,
                r#"{ protocol = "aodv", search = { on-demand = "3 s" }, data_ttl = 9 }"#,
                r#"{ protocol = "dsr", cache = { paths = { primary = 3, secondary = 4 } }, spread_error = "none" }"#,
                r#"{ protocol = "dsr", cache = "update" }"#,
                r#"{ protocol = "dsr", cache = { update = { truncate = true, secondary = 9 } } }"#,
                r#"{ protocol = "dsr", flow_state = { timeout = "9 s", establish = 1, refresh = "1 s" }, shorten = "none" }"#,
                r#"{ protocol = "static" }"#,
                r#"{ protocol = "none" }"#,
                "none",
                "dsr",
            ])
        ),
        (Just("network.feedback"), word(&["none", "rfn"])),
        (Just("network.compat"), word(&["ns-2", "standard"])),
    ];
    let one = one.prop_map(|(key, value): (&str, String)| (key.to_owned(), value));
    prop::collection::vec(one, 0..8)
}

/// A protocol by its name alone is the one with all defaults.
#[test]
fn a_protocol_may_be_its_name_alone() {
    for name in ["aodv", "dsr", "static", "none"] {
        let with = |value: String| {
            let set = ("network.routing".to_owned(), value);
            Scenario::parse("test.toml", RIGHT, &[set]).unwrap()
        };
        let short = with(name.to_owned());
        assert_eq!(short, with(format!("{{ protocol = \"{name}\" }}")));
        assert!(short.show().contains(&format!("protocol = \"{name}\"")), "{}", short.show());
    }
}

proptest! {
    #[test]
    fn output_round_trips(overrides in overrides()) {
        let read = Scenario::parse("test.toml", RIGHT, &overrides);
        prop_assume!(read.is_ok());
        let scenario = read.unwrap();
        let shown = scenario.show();
        let again = Scenario::parse("shown.toml", &shown, &[]);
        prop_assert_eq!(again.as_ref(), Ok(&scenario), "{}", shown);
        prop_assert_eq!(again.unwrap().show(), shown);
    }

    #[test]
    fn modified_scenarios_are_accepted_or_rejected(
        at in 0..RIGHT.len(),
        cut in 0..40_usize,
        put in "[\\[\\]{}=.,\"'a-z0-9 \n#-]{0,20}",
    ) {
        let text = format!("{}{put}{}", &RIGHT[..at], &RIGHT[(at + cut).min(RIGHT.len())..]);
        if let Ok(scenario) = Scenario::parse("any.toml", &text, &[]) {
            let shown = scenario.show();
            prop_assert_eq!(Scenario::parse("shown.toml", &shown, &[]), Ok(scenario));
        }
    }
}

#[test]
fn errors_in_overrides_name_the_key() {
    let error = read(&[("network.mobility.speed", "5 knots")]).unwrap_err();
    assert_eq!(
        error,
        "--set network.mobility.speed: `knots` is not a known unit\nhelp: known units: m/s, km/h"
    );
}

/// RFC 3561 §6.9: where the link layer reports no failures, AODV sends hello messages, unless the
/// scenario or `compat = "ns-2"` disables them.
#[test]
fn aodv_over_tdma_sends_hello_messages() {
    let hello = |overrides: &[(&str, &str)]| {
        let aodv = ("network.routing", r#"{ protocol = "aodv" }"#);
        let network = adhoc(&[&[aodv], overrides].concat());
        let driftway_scenario::Routing::Aodv(aodv) = network.routing else { panic!() };
        aodv.config().hello
    };
    let tdma = ("network.mac", r#"{ kind = "tdma" }"#);
    let usual = Some(driftway_route::HelloConfig::STANDARD);
    assert_eq!(hello(&[]), None);
    assert_eq!(hello(&[tdma]), usual);
    assert_eq!(hello(&[tdma, ("network.compat", "standard")]), usual);
    assert_eq!(hello(&[tdma, ("network.compat", "ns-2")]), None);
    assert_eq!(hello(&[tdma, ("network.routing.hello", "none")]), None);
    let often = hello(&[tdma, ("network.routing.hello", "{ interval = \"0.5 s\" }")]);
    assert_eq!(
        often.map(|hello| (hello.interval.as_nanos(), hello.allowed_loss)),
        Some((500_000_000, 2))
    );
}

/// DSR by default cannot detect broken links itself; static nodes have none.
#[test]
fn dsr_over_tdma_needs_static_nodes() {
    let tdma = ("network.mac", r#"{ kind = "tdma" }"#);
    assert!(read(&[tdma]).is_err());
    let network = adhoc(&[tdma, ("network.mobility", "{ chain = \"20 m\" }")]);
    assert!(network.tdma().is_some());
}
