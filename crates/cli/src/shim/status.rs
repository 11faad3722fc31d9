//! `driftway shim status`: prints the state of the shim and its flows.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use driftway_shim::FlowState;

use super::args::StatusArgs;
use super::document::{Flow, ShimStatus};
use super::{serve, socket_path};
use crate::failure::{Failure, failed};
use crate::output::json;
use crate::text::{Grid, count, value};

const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// Moves the cursor to the top left and clears the terminal below it.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Prints the state of this network namespace's shim.
pub fn status(args: &StatusArgs) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    loop {
        let path = socket_path::query_path(args.socket.as_deref())
            .map_err(|e| failed("find the socket's path", &e))?;
        let mut document = serve::fetch(&path).map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => {
                no_answer(&socket_path::describe(&path, args.socket.as_deref()))
            }
            _ => failed("query the shim", &error),
        })?;
        document.query_kernel();
        if args.json {
            write!(out, "{}", json(&document))?;
        } else {
            write!(out, "{}{}", if args.watch { CLEAR } else { "" }, table(&document))?;
        }
        out.flush()?;
        if !args.watch {
            return Ok(());
        }
        std::thread::sleep(WATCH_INTERVAL);
    }
}

/// Failure to connect to the path that was tried.
fn no_answer(tried: &str) -> Failure {
    Failure::Failed(match driftway_linux::owning_process() {
        Ok(Some(process)) => format!(
            "no shim answers at {tried}, but one is running in this network namespace, process \
             {process}: name the path with which it was started"
        ),
        // Without permission it is not known whether one is running.
        Ok(None) | Err(_) => {
            format!("no shim answers at {tried}; `driftway shim` starts one")
        }
    })
}

const HEADER: [&str; 9] =
    ["peer", "port", "state", "cwnd", "RTO", "stored", "undos", "outages", "resumed"];

fn table(document: &ShimStatus) -> String {
    let counted = |name: &str| document.counts.events.get(name).copied().unwrap_or(0);
    let mut text = format!(
        "{}, {} stored, running for {:.0} s: {}, {} survived, {}\n",
        count(document.flows.len() as u64, "flow"),
        value("_bytes", document.memory.stored_bytes as f64),
        document.uptime_s,
        count(counted("outages"), "outage"),
        counted("survived"),
        count(counted("undone"), "reduction") + " undone",
    );
    if !document.flows.is_empty() {
        let header = HEADER.map(str::to_owned).into();
        text += &Grid { header, rows: document.flows.iter().map(row).collect() }.to_string();
    }
    let reasons = [
        ("preexisting", "of connections older than the shim"),
        ("unknown_option", "with an unknown TCP option"),
        ("no_timestamps", "that opened a connection without timestamps"),
        ("fragments", "that are IP fragments"),
        ("table_full", "of connections beyond --flows"),
        ("corrupt", "with a wrong checksum"),
        ("implausible", "with implausible sequence numbers, possibly forged"),
    ];
    let unseen = [
        ("young", "of young connections"),
        ("ipv6_tcp", "of TCP over IPv6"),
        ("ipv6_other", "of other IPv6 protocols"),
        ("udp", "of UDP"),
        ("tunnels", "of tunnels"),
        ("other", "of other protocols"),
        ("fragments_in", "that arrived as IP fragments"),
        ("fragments_out", "that left as IP fragments"),
    ];
    let seen = reasons.map(|(name, says)| (counted(name), says));
    let unseen = unseen.map(|(name, says)| (document.unseen.get(name).copied().unwrap_or(0), says));
    for (packets, says) in seen.into_iter().chain(unseen).filter(|(packets, _)| *packets > 0) {
        text += &format!("untouched: {} {says}\n", count(packets, "packet"));
    }
    let refused: Vec<_> = document
        .counts
        .events
        .iter()
        .filter_map(|(name, count)| Some((name.strip_prefix("refused_")?, *count)))
        .filter(|(_, count)| *count > 0)
        .map(|(act, count)| format!("{count} {}", act.replace('_', " ")))
        .collect();
    if !refused.is_empty() {
        text += &format!("actions of the aid that were refused: {}\n", refused.join(", "));
    }
    text
}

fn row(flow: &Flow) -> Vec<String> {
    let seconds = |time: Option<f64>| time.map_or("–".to_owned(), |time| value("_s", time));
    let kernel = flow.kernel.as_ref();
    vec![
        flow.destination.to_string(),
        flow.source.port().to_string(),
        match flow.state {
            FlowState::Disconnected => "no path".to_owned(),
            state => state.name().to_owned(),
        },
        kernel.map_or("–".to_owned(), |kernel| kernel.cwnd.to_string()),
        seconds(kernel.map(|kernel| kernel.rto_s)),
        value("_bytes", flow.stored_bytes as f64),
        flow.undone.to_string(),
        flow.survived.to_string(),
        seconds(flow.time_to_resume_s),
    ]
}

#[cfg(test)]
mod test {
    use std::collections::BTreeMap;

    use super::*;
    use crate::shim::document::{Kernel, MemoryUsage, ShimCounts};

    fn counts(events: &[(&str, u64)]) -> ShimCounts {
        let decisions = driftway_shim::LossDecisions { short_queue: 3, ..Default::default() };
        ShimCounts {
            refused: decisions.into(),
            events: events.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        }
    }

    #[test]
    fn the_widest_table_fits() {
        let flow = Flow {
            source: "192.168.100.100:54321".parse().unwrap(),
            destination: "192.168.100.200:54321".parse().unwrap(),
            state: FlowState::Disconnected,
            aid: "carry".to_owned(),
            aid_state: "disconnected".to_owned(),
            refused: 0,
            outstanding_bytes: 1_234_567,
            stored_bytes: 1_234_567,
            waiting: 1000,
            rtt_s: Some(0.123_456),
            timestamps: true,
            ecn: true,
            undone: 12_345,
            survived: 123,
            time_to_resume_s: Some(0.123_456),
            kernel: Some(Kernel {
                cwnd: 12_345,
                ssthresh: None,
                rto_s: 0.123_456,
                rtt_s: 0.1,
                congestion_control: "cubic".to_owned(),
            }),
        };
        let document = ShimStatus {
            schema: 1,
            version: String::new(),
            uptime_s: 123_456.0,
            memory: MemoryUsage { stored_bytes: 123_456_789, held_bytes: 123_456_789 },
            counts: counts(&[
                ("preexisting", 123_456_789_012),
                ("refused_limit_cwnd", 12),
                ("refused_set_timeout_response", 3),
            ]),
            driver: BTreeMap::new(),
            unseen: BTreeMap::from([("fragments_out".to_owned(), 123_456_789_012)]),
            flows: vec![flow],
        };
        let text = table(&document);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        // No line is wrapped.
        assert_eq!(text.lines().count(), 8, "{text}");
        assert!(text.ends_with("refused: 12 limit cwnd, 3 set timeout response\n"), "{text}");
        assert!(text.contains("192.168.100.200:54321"), "{text}");
    }

    #[test]
    fn each_metric_has_a_type_and_each_line_a_value() {
        let document = ShimStatus {
            schema: 1,
            version: String::new(),
            uptime_s: 1.5,
            memory: MemoryUsage { stored_bytes: 2, held_bytes: 3 },
            counts: counts(&[("outages", 4)]),
            driver: BTreeMap::from([("sent".to_owned(), 5)]),
            unseen: BTreeMap::from([("udp".to_owned(), 6)]),
            flows: Vec::new(),
        };
        let text = document.metrics();
        assert!(text.contains("driftway_shim_refused_total{reason=\"short_queue\"} 3\n"), "{text}");
        assert!(text.contains("# TYPE driftway_shim_events_total counter\n"), "{text}");
        assert!(text.contains("driftway_shim_events_total{kind=\"outages\"} 4\n"), "{text}");
        assert!(text.contains("driftway_shim_unseen_total{kind=\"udp\"} 6\n"), "{text}");
        assert!(text.contains("driftway_shim_flows{state=\"disconnected\"} 0\n"), "{text}");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once(' ').unwrap();
            assert!(name.starts_with("driftway_shim_"), "{line}");
            value.parse::<f64>().unwrap();
        }
    }
}
