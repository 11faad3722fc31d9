//! The share that a flow with carry leaves to a plain neighbour at a queue that does not mark, although both
//! ends have negotiated ECN, and its gain where losses are not congestion.

use crate::common::{parse, run};

/// Two flows of 40 ms over 10 Mbit/s. The delay varies by a packet's transmission time, because flows in step
/// share a deterministic queue by chance (Floyd & Jacobson 1992).
fn scenario(link: &str, aid: &str, neighbour: bool) -> String {
    let flow = |aid: &str, start: &str| {
        format!(
            "[[flow]]\nfrom = 0\nto = 1\nstart = \"{start}\"\napplication = \"ftp\"\n\
             tcp = {{ preset = \"linux\", window = \"32 MB\", ecn = true }}\naid = \"{aid}\"\n"
        )
    };
    let other = if neighbour { flow("none", "0 ms") } else { String::new() };
    format!(
        "name = \"neighbours\"\nduration = \"40 s\"\n[network]\nkind = \"path\"\nhops = 1\n\
         [network.link]\nrate = \"10 Mbit/s\"\n\
         delay = {{ uniform = [\"20 ms\", \"21.2 ms\"] }}\n{link}\n{}{other}",
        flow(aid, "50 ms")
    )
}

/// Throughputs (kbit/s) of the flow with this aid and of its neighbour, means of seeds.
fn throughputs(link: &str, aid: &str, neighbour: bool) -> [f64; 2] {
    const SEEDS: [u64; 3] = [1, 2, 3];
    let scenario = parse(&scenario(link, aid, neighbour));
    let mut sums = [0.0; 2];
    for seed in SEEDS {
        for (sum, flow) in sums.iter_mut().zip(run(&scenario, seed).flows) {
            *sum += flow.throughput_bps.unwrap_or(0.0) / 1000.0 / SEEDS.len() as f64;
        }
    }
    sums
}

/// Queues of 0.1, 0.3 and 1 BDP, and CoDel without marks.
#[test]
fn a_plain_neighbour_keeps_its_share() {
    let queues =
        ["packets = 3", "packets = 10", "packets = 33", "packets = 100, discipline = \"codel\""];
    for queue in queues {
        let link = format!("queue = {{ {queue} }}");
        let [_, plain] = throughputs(&link, "none", true);
        let [_, beside] = throughputs(&link, "carry", true);
        assert!(beside >= 0.9 * plain, "{queue}: {beside} of {plain} kbit/s");
    }
}

#[test]
fn random_losses_are_undone() {
    let link = "queue = { packets = 33 }\npacket_error_rate = 0.01";
    let [plain, _] = throughputs(link, "none", false);
    let [carry, _] = throughputs(link, "carry", false);
    assert!(carry >= 1.8 * plain, "{carry} and {plain} kbit/s");
}
