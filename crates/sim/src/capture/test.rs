//! Captures read back by the `pcap_file` crate, and by Wireshark's dissectors if installed.

use std::process::Command;
use std::sync::{Arc, Mutex};

use driftway_base::{Ecn, Ipv4Addr, Rate, Seq, StationId};
use driftway_wire::{
    AodvMessage, AodvRequest, ArpMessage, ArpOperation, Body, HardwareAddr, IcmpMessage, IpHeader,
    Packet, Payload, TcpFlags, TcpOptions, TcpSegment, UnreachableCode,
};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::*;
use crate::test::address;

/// The output of a capture.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn scenario() -> Scenario {
    let text = r#"
name = "two nodes"
duration = "1 s"
[network]
kind = "adhoc"
mobility = { positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"]] }
radio = { frequency = "2412 MHz" }
routing = { protocol = "aodv" }
[[flow]]
from = 0
to = 2
application = "ftp"
"#;
    Scenario::parse("test.toml", text, &[]).unwrap()
}

fn captured(fill: impl FnOnce(&mut Capture)) -> Vec<u8> {
    let kept = SharedBuffer::default();
    let mut capture = Capture::new(Box::new(kept.clone()), &scenario(), 7).unwrap();
    fill(&mut capture);
    capture.finish().unwrap();
    Arc::try_unwrap(kept.0).unwrap().into_inner().unwrap()
}

/// A record of a capture.
#[derive(Debug)]
struct Record {
    interface: String,
    nanos: u128,
    comment: Option<String>,
    /// The bytes after the radiotap header.
    frame: Vec<u8>,
}

fn read(file: &[u8]) -> Vec<Record> {
    let mut reader = PcapNgReader::new(file).unwrap();
    let (mut names, mut records) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert_eq!(u32::from(interface.linktype), 127);
                let name = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                });
                assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                names.push(name.unwrap());
            }
            Block::EnhancedPacket(packet) => {
                let radiotap = usize::from(u16::from_le_bytes([packet.data[2], packet.data[3]]));
                let comment = packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Comment(text) => Some(text.to_string()),
                    _ => None,
                });
                records.push(Record {
                    interface: names[packet.interface_id as usize].clone(),
                    nanos: packet.timestamp.as_nanos(),
                    comment,
                    frame: packet.data[radiotap..].to_vec(),
                });
            }
            _ => {}
        }
    }
    records
}

/// The fields of each record as tshark prints them; `None` without tshark, which is a failure if
/// `DRIFTWAY_NEED_TSHARK` is set.
fn dissected(file: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let dir = std::env::temp_dir();
    let path = dir.join(format!("driftway-capture-{}-{:p}.pcapng", std::process::id(), file));
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(&path).args(["-T", "fields", "-E", "separator=|"]);
    command.args(["-o", "wlan.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
    command.args(["-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output();
    std::fs::remove_file(&path).unwrap();
    let output = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let needed = std::env::var_os("DRIFTWAY_NEED_TSHARK").is_some();
            assert!(!needed, "DRIFTWAY_NEED_TSHARK is set, but tshark is not installed");
            // Not a print macro, because cargo hides its output for tests that pass.
            let _ = writeln!(io::stderr(), "SKIPPED: tshark is not installed");
            return None;
        }
        other => other.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect())
}

fn ip(from: u32, to: u32) -> IpHeader {
    IpHeader { identification: 17, ecn: Ecn::Ect0, ..IpHeader::new(address(from), address(to)) }
}

fn segment() -> Packet {
    let segment = TcpSegment {
        source_port: 1024,
        destination_port: 1024,
        seq: Seq(1000),
        ack: Seq(77),
        flags: TcpFlags::ACK.with(TcpFlags::PSH),
        window: 8000,
        urgent: 0,
        options: TcpOptions::default(),
        payload: Payload::new(3, 512, 1460),
    };
    Packet { ip: ip(0, 2), body: Body::Tcp(segment) }
}

fn request() -> Packet {
    let request = AodvRequest {
        join: false,
        repair: false,
        gratuitous: false,
        destination_only: false,
        hops: 1,
        id: 5,
        destination: address(2),
        destination_seq: None,
        originator: address(0),
        originator_seq: 9,
        timestamp: None,
    };
    let ip = IpHeader { ttl: 3, ..IpHeader::new(address(1), Ipv4Addr::BROADCAST) };
    Packet { ip, body: Body::Aodv(AodvMessage::Request(request)) }
}

fn arp_request() -> ArpMessage {
    ArpMessage {
        operation: ArpOperation::Request,
        sender_hardware: HardwareAddr::of_node(NodeId::new(0)),
        sender: address(0),
        target_hardware: HardwareAddr::default(),
        target: address(1),
    }
}

/// A frame between stations, each of which is the node with its number.
fn frame(kind: FrameKind, from: u32, to: Option<u32>, micros: u64) -> FrameRecord {
    FrameRecord {
        at: Instant::from_nanos(micros * 1000 + 7),
        airtime: Duration::from_micros(300),
        rate: Rate::from_bps(if kind == FrameKind::Data { 2_000_000 } else { 1_000_000 }),
        kind,
        from: StationId::new(from),
        to: to.map(StationId::new),
        bytes: 0,
        duration_us: 314,
        sequence: 40,
        retry: false,
        id: None,
        outcome: if to.is_some() {
            ReceptionOutcome::Received
        } else {
            ReceptionOutcome::Broadcast(2)
        },
    }
}

const PREAMBLE: Duration = Duration::from_micros(192);

fn lost_frame(at: Instant, from: u32, to: Option<u32>) -> LostFrame {
    LostFrame { at, air: Some(AirId::new(0)), from: NodeId::new(from), to: to.map(NodeId::new) }
}

/// The frame between the nodes with the numbers of its stations.
fn captured_frame(frame: &FrameRecord) -> CapturedFrame<'_> {
    let node = |station: StationId| NodeId::new(station.number());
    CapturedFrame {
        air: AirId::default(),
        from: node(frame.from),
        to: frame.to.map(node),
        frame,
        preamble: PREAMBLE,
    }
}

fn example() -> Vec<u8> {
    captured(|capture| {
        let packet = segment();
        let unreachable = |quoted| IcmpMessage::Unreachable { code: UnreachableCode::Host, quoted };
        let error = Packet::icmp_error(address(1), &packet, unreachable).unwrap();
        let [packet, error, asked] =
            [packet, error, request()].map(|packet| FrameBody::Ip(RoutedPacket::plain(packet)));
        let mut put = |frame: FrameRecord, body: Option<&FrameBody>| {
            capture.write_frame(&captured_frame(&frame), body);
        };
        let data = frame(FrameKind::Data, 0, Some(1), 900);
        put(frame(FrameKind::Rts, 0, Some(1), 100), None);
        put(frame(FrameKind::Cts, 1, Some(0), 500), None);
        put(data, Some(&packet));
        put(frame(FrameKind::Ack, 1, Some(0), 7000), None);
        put(frame(FrameKind::Data, 1, None, 8000), Some(&asked));
        put(frame(FrameKind::Data, 0, None, 9000), Some(&FrameBody::Arp(arp_request())));
        let died = Instant::from_millis(20);
        let lost = lost_frame(died, 1, Some(2));
        capture.write_drop(&lost, &packet, "link-failure (no CTS after 7 attempts)");
        // Frames are recorded when they have ended.
        let again = FrameRecord {
            at: Instant::from_micros(9500),
            retry: true,
            outcome: ReceptionOutcome::Collided,
            ..data
        };
        capture.write_frame(&captured_frame(&again), Some(&packet));
        capture.write_drop(&lost_frame(died, 2, None), &error, "no-route");
    })
}

#[test]
fn a_capture_round_trips() {
    let records = read(&example());
    let places: Vec<_> =
        records.iter().map(|r| (r.interface.as_str(), r.nanos, r.frame.len())).collect();
    // 24 bytes of header, 8 of LLC and SNAP, 4 of check sequence, which dropped packets do not have.
    assert_eq!(
        places,
        [
            ("node-0", 100_007, 20),
            ("node-1", 500_007, 14),
            ("node-0", 900_007, 24 + 8 + 1500 + 4),
            ("node-1", 7_000_007, 14),
            ("node-1", 8_000_007, 24 + 8 + 20 + 8 + 24 + 4),
            ("node-0", 9_000_007, 24 + 8 + 28 + 4),
            ("node-0", 9_500_000, 24 + 8 + 1500 + 4),
            ("lost", 20_000_000, 24 + 8 + 1500),
            ("lost", 20_000_000, 24 + 8 + 20 + 36),
        ]
    );
    let comments: Vec<_> = records.iter().filter_map(|r| r.comment.as_deref()).collect();
    assert_eq!(
        comments,
        [
            "lost at node 1: collision",
            "dropped at node 1: link-failure (no CTS after 7 attempts)",
            "dropped at node 2: no-route",
        ]
    );
    let decoded = Packet::decode(&records[2].frame[32..]).unwrap();
    let mut pattern = [0; 1460];
    Payload::new(3, 512, 1460).fill_pattern(&mut pattern);
    assert_eq!((decoded.packet.ip, decoded.payload), (segment().ip, &pattern[..]));
}

#[test]
fn wireshark_understands_every_frame() {
    let fields = ["_ws.col.Protocol", "_ws.malformed", "wlan.fcs.status", "frame.interface_name"];
    let Some(records) = dissected(&example(), &fields) else { return };
    let protocols: Vec<_> = records.iter().map(|record| record[0].as_str()).collect();
    assert_eq!(
        protocols,
        ["802.11", "802.11", "TCP", "802.11", "AODV", "ARP", "TCP", "TCP", "ICMP"]
    );
    for record in &records {
        assert_eq!(record[1], "", "malformed: {record:?}");
        // 1 means good; a dropped packet has no check sequence.
        assert_eq!(record[2], if record[3] == "lost" { "" } else { "1" }, "{record:?}");
    }
}

#[test]
fn wireshark_reads_the_fields_that_were_written() {
    let fields = [
        "frame.time_epoch",
        "radiotap.mactime",
        "radiotap.datarate",
        "wlan.ra",
        "wlan.ta",
        "wlan.duration",
        "wlan.seq",
        "wlan.fc.retry",
        "frame.comment",
        "ip.checksum.status",
        "tcp.checksum.status",
        "radiotap.txflags",
    ];
    let Some(records) = dissected(&example(), &fields) else { return };
    let rts = &records[0];
    assert_eq!(rts[0], "0.000100007");
    assert_eq!((rts[1].as_str(), rts[2].as_str()), ("292", "1"));
    assert_eq!((rts[3].as_str(), rts[4].as_str()), ("02:00:00:00:00:01", "02:00:00:00:00:00"));
    assert_eq!(rts[5], "314");
    let data = &records[6];
    assert_eq!((data[2].as_str(), data[6].as_str(), data[7].as_str()), ("2", "40", "1"));
    assert_eq!(data[8], "lost at node 1: collision");
    assert_eq!((data[9].as_str(), data[10].as_str()), ("1", "1"));
    assert_eq!(records[4][3], "ff:ff:ff:ff:ff:ff");
    let lost = &records[7];
    assert_eq!((lost[3].as_str(), lost[4].as_str()), ("02:00:00:00:00:02", "02:00:00:00:00:01"));
    assert_eq!(lost[8], "dropped at node 1: link-failure (no CTS after 7 attempts)");
    assert_eq!(lost[11], "0x0001");
}

#[test]
fn bytes_of_no_header_follow_the_packet() {
    let file = captured(|capture| {
        for padding in [20, -8] {
            let packet =
                RoutedPacket { size_adjustment: padding, ..RoutedPacket::plain(segment()) };
            let data = frame(FrameKind::Data, 0, Some(1), 100);
            capture.write_frame(&captured_frame(&data), Some(&FrameBody::Ip(packet)));
        }
    });
    let records = read(&file);
    assert_eq!(records[0].frame.len(), 24 + 8 + 1500 + 20 + 4);
    assert_eq!(records[0].frame[24 + 8 + 1500..][..20], [0; 20]);
    assert_eq!(records[1].frame.len(), 24 + 8 + 1500 + 4);
    let fields = ["_ws.col.Protocol", "_ws.malformed", "wlan.fcs.status", "ip.len", "tcp.len"];
    let Some(records) = dissected(&file, &fields) else { return };
    assert_eq!(records, [["TCP", "", "1", "1500", "1460"]; 2]);
}

#[test]
fn a_packet_that_cannot_be_encoded_has_a_comment() {
    let huge = Packet {
        body: Body::Udp(driftway_wire::UdpDatagram {
            source_port: 1,
            destination_port: 2,
            payload: Payload::new(0, 0, 70_000),
        }),
        ..segment()
    };
    let file = captured(|capture| {
        let huge = FrameBody::Ip(RoutedPacket::plain(huge));
        capture.write_drop(&lost_frame(Instant::ZERO, 0, None), &huge, "queue-overflow");
    });
    let records = read(&file);
    let comment = records[0].comment.as_deref().unwrap();
    assert!(comment.starts_with("dropped at node 0: queue-overflow; its packet has no bytes: "));
    assert_eq!(records[0].frame.len(), 24 + 8);
}

/// A writer that accepts this many bytes and then fails.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    let packet = RoutedPacket::plain(segment());
    for room in [0, 100, 3000, 5000] {
        let mut capture = Capture::new(Box::new(Full(room)), &scenario(), 1).unwrap();
        for micros in 0..9 {
            let data = frame(FrameKind::Data, 0, Some(1), micros);
            capture.write_frame(&captured_frame(&data), Some(&FrameBody::Ip(packet)));
        }
        assert_eq!(capture.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}

#[test]
fn packets_on_wires_are_captured_without_a_frame() {
    let text = r#"
name = "a path"
duration = "1 s"
[network]
kind = "path"
hops = 1
[network.link]
rate = "1 Mbit/s"
delay = "1 ms"
[[flow]]
from = 0
to = 1
application = "ftp"
"#;
    let path = Scenario::parse("test.toml", text, &[]).unwrap();
    let kept = SharedBuffer::default();
    let mut capture = Capture::new(Box::new(kept.clone()), &path, 1).unwrap();
    let packet = RoutedPacket::plain(segment());
    let hop = WiredHop { wire: 1, node: NodeId::new(0), neighbour: NodeId::new(1) };
    capture.write_wired(Instant::from_secs(1), hop, &packet);
    capture.write_wired_drop(Instant::from_secs(2), hop, &packet, "bit-error");
    let body = FrameBody::Ip(packet);
    capture.write_drop(&lost_frame(Instant::from_secs(3), 1, None), &body, "time-to-live");
    capture.finish().unwrap();
    let file = Arc::try_unwrap(kept.0).unwrap().into_inner().unwrap();
    let mut reader = PcapNgReader::new(file.as_slice()).unwrap();
    let (mut interfaces, mut records) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                let name = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                });
                interfaces.push((u32::from(interface.linktype), name.unwrap()));
            }
            Block::EnhancedPacket(packet) => {
                let comment = packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Comment(text) => Some(text.to_string()),
                    _ => None,
                });
                assert_eq!((packet.data[0], packet.data.len()), (0x45, 1500), "an IP packet");
                records.push((packet.interface_id, comment.unwrap_or_default()));
            }
            _ => {}
        }
    }
    assert_eq!(interfaces, [(101, "node-0-wire-1".to_owned()), (101, "lost".to_owned())]);
    let comments = [
        (0, ""),
        (1, "dropped at node 0, wire 1 to node 1: bit-error"),
        (1, "dropped at node 1: time-to-live"),
    ];
    assert_eq!(records, comments.map(|(interface, comment)| (interface, comment.to_owned())));
}

#[test]
fn frames_of_tdma_are_not_captured() {
    let mac = [("network.mac".to_owned(), "{ kind = \"tdma\" }".to_owned())];
    let text = r#"
name = "two nodes"
duration = "1 s"
[network]
kind = "adhoc"
mobility = { positions = [["0 m", "0 m"], ["200 m", "0 m"]] }
routing = { protocol = "aodv" }
[[flow]]
from = 0
to = 1
application = "ftp"
"#;
    let tdma = Scenario::parse("test.toml", text, &mac).unwrap();
    assert!(Capture::new(Box::new(io::sink()), &tdma, 1).is_none());
}
