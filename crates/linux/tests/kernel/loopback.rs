//! Tests of the peer itself: the kernel's TCP against the kernel's TCP, so that later tests do not
//! show faults of the peer.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use driftway_linux::{KernelTimer, Namespace, kernel_tcp};

use crate::peer::{Options, Outcome, Peer, Step};
use crate::stream_digest::{StreamDigest, find_mismatch, pattern};

tests![
    a_pattern_detects_lost_duplicated_or_moved_bytes,
    a_digest_distinguishes_streams,
    both_ways_at_once,
    after_a_half_close_the_other_way_goes_on,
    a_reset_is_seen_as_one,
    a_snapshot_shows_negotiated_options,
    a_reader_that_pauses_closes_its_window,
    an_unknown_connection_is_not_found,
];

const SERVER: Options = Options { congestion_control: "reno", receive_buffer: None, sends: 1 };
const CLIENT: Options = Options { congestion_control: "cubic", receive_buffer: None, sends: 0 };

const ANYWHERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

/// Runs a client and a server over loopback.
fn talk(
    namespace: &Namespace,
    (client_options, client): (Options, &[Step]),
    (server_options, server): (Options, &[Step]),
) -> (Outcome, Outcome) {
    let (server, at) = Peer::listen(namespace, ANYWHERE, server_options, server).unwrap();
    let client = Peer::connect(namespace, ANYWHERE, at, client_options, client).unwrap();
    (client.outcome(), server.outcome())
}

fn a_pattern_detects_lost_duplicated_or_moved_bytes() {
    let mut bytes = [0; 100];
    pattern(0, 3, &mut bytes);
    assert_eq!(find_mismatch(0, 3, &bytes), None);
    assert!(find_mismatch(1, 3, &bytes).is_some());
    assert!(find_mismatch(0, 4, &bytes).is_some());
    assert!(find_mismatch(0, 11, &bytes).is_some());
    let mut swapped = bytes;
    swapped[50] ^= 1;
    assert_eq!(find_mismatch(0, 3, &swapped), Some(53));
    // Generated in two parts it is the same.
    let mut pieces = [0; 100];
    let (left, right) = pieces.split_at_mut(37);
    pattern(0, 3, left);
    pattern(0, 40, right);
    assert_eq!(pieces, bytes);
}

fn a_digest_distinguishes_streams() {
    let mut bytes = [0; 100];
    pattern(0, 0, &mut bytes);
    let entered = |pieces: [&[u8]; 2]| {
        let mut digest = StreamDigest::default();
        pieces.into_iter().for_each(|piece| digest.update(0, piece));
        digest
    };
    let whole = entered([&bytes, &[]]);
    whole.assert_complete(100);
    whole.assert_same(&entered([&bytes[..37], &bytes[37..]]));
    assert_ne!(whole.sha256(), entered([&bytes[..99], &[]]).sha256());
    bytes[60] ^= 1;
    let wrong = entered([&bytes[..37], &bytes[37..]]);
    assert_ne!(whole.sha256(), wrong.sha256());
    assert_eq!(format!("{wrong:?}"), "100 bytes, wrong at Some(60)");
}

fn both_ways_at_once() {
    let namespace = Namespace::new().unwrap();
    let (client, server) = talk(
        &namespace,
        (CLIENT, &[Step::Exchange(3_000_000)]),
        (SERVER, &[Step::Exchange(5_000_001)]),
    );
    client.received.assert_complete(5_000_001);
    server.received.assert_complete(3_000_000);
    assert_eq!((client.error, server.error), (None, None));
}

fn after_a_half_close_the_other_way_goes_on() {
    let namespace = Namespace::new().unwrap();
    let (client, server) = talk(
        &namespace,
        (CLIENT, &[Step::Send(10), Step::HalfClose, Step::Receive(5), Step::ReceiveAll]),
        (SERVER, &[Step::ReceiveAll, Step::Send(200_000)]),
    );
    server.received.assert_complete(10);
    client.received.assert_complete(200_000);
}

fn a_reset_is_seen_as_one() {
    let namespace = Namespace::new().unwrap();
    let (client, server) = talk(
        &namespace,
        (CLIENT, &[Step::Send(10), Step::Receive(10), Step::Reset]),
        (SERVER, &[Step::Receive(10), Step::Send(10), Step::ReceiveAll]),
    );
    assert_eq!((client.error, server.error), (None, Some(ErrorKind::ConnectionReset)));
    client.received.assert_complete(10);
    server.received.assert_complete(10);
}

fn a_snapshot_shows_negotiated_options() {
    for (settings, agreed) in [(["1", "1", "1", "1"], true), (["0", "0", "0", "0"], false)] {
        let namespace = Namespace::new().unwrap();
        for (setting, value) in
            ["tcp_timestamps", "tcp_sack", "tcp_window_scaling", "tcp_ecn"].iter().zip(settings)
        {
            namespace.set_sysctl(&format!("net/ipv4/{setting}"), value).unwrap();
        }
        let (client, server) = talk(
            &namespace,
            (CLIENT, &[Step::Send(10), Step::Receive(10), Step::Snapshot]),
            (SERVER, &[Step::Receive(10), Step::Snapshot, Step::Send(10), Step::ReceiveAll]),
        );
        let ([client], [server]) = (&client.snapshots[..], &server.snapshots[..]) else {
            panic!("{client:?} {server:?}")
        };
        assert_eq!(client.congestion_control, "cubic");
        assert_eq!(server.congestion_control, "reno");
        for tcp in [client, server] {
            assert_eq!(tcp.timestamps(), agreed);
            assert_eq!(tcp.sack(), agreed);
            assert_eq!(tcp.window_scale().is_some(), agreed);
            assert_eq!(tcp.ecn(), agreed);
            assert_eq!(tcp.info.state, 1, "established");
            assert!(tcp.info.snd_cwnd >= 10);
            assert_eq!(tcp.info.total_retrans, 0);
        }
    }
}

fn a_reader_that_pauses_closes_its_window() {
    let namespace = Namespace::new().unwrap();
    let small = Options { receive_buffer: Some(8192), ..SERVER };
    let (reader, at) = Peer::listen(
        &namespace,
        ANYWHERE,
        small,
        &[
            Step::Receive(1),
            Step::Send(1),
            Step::Pause(Duration::from_millis(1500)),
            Step::ReceiveAll,
        ],
    )
    .unwrap();
    // The writer reports its address, so that the kernel can be queried while it blocks.
    let from = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 40_000);
    let writer = Peer::connect(
        &namespace,
        from,
        at,
        CLIENT,
        &[Step::Send(1), Step::Receive(1), Step::Send(8_000_000)],
    )
    .unwrap();
    let stuck = probing(&namespace, from, at);
    assert!(!writer.is_done());
    assert_eq!(stuck.info.snd_wnd, 0);
    reader.outcome().received.assert_complete(8_000_001);
    writer.outcome().sent.assert_complete(8_000_001);
}

/// Polls until the kernel probes a closed window.
fn probing(
    namespace: &Namespace,
    local: SocketAddrV4,
    remote: SocketAddrV4,
) -> driftway_linux::KernelTcp {
    #[expect(clippy::disallowed_methods, reason = "waits for a kernel")]
    let start = Instant::now();
    loop {
        let tcp = namespace.run(|| kernel_tcp(local, remote)).unwrap();
        if let Ok(tcp) = &tcp
            && let Some(KernelTimer::Probe { left }) = tcp.timer
        {
            assert!(left < driftway_base::Duration::from_secs(10), "{left:?}");
            return tcp.clone();
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{tcp:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn an_unknown_connection_is_not_found() {
    let namespace = Namespace::new().unwrap();
    let nobody = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
    let error = namespace.run(|| kernel_tcp(nobody, nobody)).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
