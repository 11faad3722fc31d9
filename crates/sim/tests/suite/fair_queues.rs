//! FQ-CoDel at a shared bottleneck: each flow has its share, and one that sends little does not wait.

use driftway_sim::results::RunResult;

use crate::common::{parse, run};

/// Eight bulk transfers from node 0 to 1 over 10 Mbit/s, the first with BBR, and a datagram of 200 bytes each 20 ms.
fn scenario(discipline: &str) -> String {
    let bulk = |n: u64| {
        let preset = if n == 0 { "linux-bbr" } else { "linux" };
        format!(
            "[[flow]]\nfrom = 0\nto = 1\nstart = \"{} ms\"\napplication = \"ftp\"\n\
             tcp = {{ preset = \"{preset}\", window = \"4 MB\" }}\n",
            n * 37
        )
    };
    let calls = "[[flow]]\nfrom = 0\nto = 1\ntransport = \"udp\"\nstart = \"1 s\"\n\
                 application = { cbr = { every = \"20 ms\", size = \"200 B\" } }\n";
    let flows: String = (0..8).map(bulk).collect();
    format!(
        "name = \"fair\"\nduration = \"30 s\"\n[network]\nkind = \"path\"\nhops = 1\n[network.link]\n\
         rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
         queue = {{ packets = 400, discipline = \"{discipline}\" }}\n{flows}{calls}"
    )
}

#[test]
fn each_flow_has_its_share_and_datagrams_do_not_wait() {
    let [fair, fifo] = ["fq-codel", "drop-tail"].map(|name| run(&parse(&scenario(name)), 1));
    let rates: Vec<f64> = fair.flows[..8].iter().filter_map(|flow| flow.throughput_bps).collect();
    let mean = rates.iter().sum::<f64>() / 8.0;
    assert!(mean > 1.0e6, "{rates:?}");
    assert!(rates.iter().all(|rate| (rate / mean - 1.0).abs() < 0.1), "{rates:?}");
    let delay = |result: &RunResult| result.flows[8].delay_p95_s.unwrap();
    // A packet of another flow may be on the wire, 1.2 ms, and one of a flow that has just begun be before it.
    // 400 packets take 480 ms.
    assert!(delay(&fair) < 0.024, "{}", delay(&fair));
    assert!(delay(&fifo) > 0.1, "{}", delay(&fifo));
    assert!(fair.drops["codel"] > 0, "{:?}", fair.drops);
}
