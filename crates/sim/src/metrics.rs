//! Metrics of a whole network, by name.

use crate::columns::{ColumnInfo, Values};
use crate::results::{FlowResult, GatewayResult, MacResult, RoutingResult, RunResult};
use driftway_base::DropReason;

/// Reads a metric from a run's result; `None` if the run has no such part, as no routing on a path.
type NetworkMetricReader = fn(&RunResult) -> Option<f64>;

/// Reads fields of a part of the results, under their names in JSON.
macro_rules! fields {
    ($($part:ident: $($field:ident)*;)*) => {
        &[$($((
            concat!(stringify!($part), ".", stringify!($field)),
            |run| run.$part.as_ref().map(|of| of.$field as f64),
        ),)*)*]
    };
}

const FIELDS: &[(&str, NetworkMetricReader)] = fields! {
    routing: packets_sent bytes_sent discoveries failed_discoveries route_errors notices
        link_failures arp_failures false_link_failures link_retries vain_link_retries link_retries_sent replies_from_cache salvaged overheard
        nested_errors loss_notices passed_notices lost_notices resent_acks data_hops ack_hops icmp_hops data_routed acks_routed icmp_routed;
    mac: rts cts data ack broadcast retries collisions failed_no_cts failed_no_ack duplicates
        airtime_us control_data;
    gateway: connections established failed longest_buffer_bytes wireless_segments wireless_retransmissions
        wireless_timeouts wired_segments wired_retransmissions wired_timeouts;
};

/// Fields of the results that are no counts.
const RATIOS: [(&str, NetworkMetricReader); 4] = [
    ("routing.normalised_load", |run| run.routing.as_ref()?.normalised_load),
    ("mac.normalised_load", |run| run.mac.as_ref()?.normalised_load),
    ("mac.airtime_ratio", |run| run.mac.as_ref()?.airtime_ratio),
    (ENERGY, |run| run.energy_j),
];

/// The energy of all nodes.
const ENERGY: &str = "energy_j";

/// All packets that were dropped.
const DROPS: &str = "drops";

/// Packets that queues dropped.
const QUEUE_DROPS: &str = "queue_drops";

/// Reasons for which a queue drops a packet.
const QUEUE_REASONS: [DropReason; 4] =
    [DropReason::QueueOverflow, DropReason::Red, DropReason::Codel, DropReason::Pie];

/// The fairness of the flows' throughputs, by its older and by its usual name.
const FAIRNESS: &str = "fairness";
const JAIN_INDEX: &str = "jain_index";

/// The names of all metrics of a whole network: `routing.packets_sent`, `mac.collisions`, `drops`,
/// `drops.queue-overflow` …, `queue_drops`, `fairness`, `jain_index`, `routing.normalised_load` …
pub fn network_metrics() -> impl Iterator<Item = String> {
    let fields = FIELDS.iter().map(|(name, _)| (*name).to_owned());
    let reasons = DropReason::ALL.iter().map(|reason| format!("{DROPS}.{}", reason.name()));
    fields
        .chain(std::iter::once(DROPS.to_owned()))
        .chain(reasons)
        .chain([QUEUE_DROPS, FAIRNESS, JAIN_INDEX].map(str::to_owned))
        .chain(RATIOS.iter().map(|(name, _)| (*name).to_owned()))
}

/// The metrics of a whole network with their descriptions, in the order of [`network_metrics`].
pub fn network_metric_columns() -> Vec<ColumnInfo> {
    let parts = [
        ("routing", ColumnInfo::of_fields::<RoutingResult>()),
        ("mac", ColumnInfo::of_fields::<MacResult>()),
        ("gateway", ColumnInfo::of_fields::<GatewayResult>()),
    ];
    let run = ColumnInfo::of_fields::<RunResult>();
    let of_run = |name: &str| {
        let field = run.iter().find(|field| field.name == name);
        field.map(|field| field.meaning.to_string()).unwrap_or_default()
    };
    let column = |name: String| {
        let (part, field) = name.split_once('.').unwrap_or((&name, ""));
        let fields = parts.iter().find(|(of, _)| *of == part).map_or(&[][..], |(_, all)| all);
        let reason = DropReason::ALL.iter().find(|reason| reason.name() == field);
        let meaning = match (part, reason, fields.iter().find(|of| of.name == field)) {
            (DROPS, Some(reason), _) => {
                format!("Packets that were dropped for the reason `{}`.", reason.name())
            }
            (DROPS, None, _) => "All packets that were dropped.".to_owned(),
            (QUEUE_DROPS, ..) => "Packets that queues dropped, because they were full or early: \
                                  `queue-overflow`, `red`, `codel` and `pie`."
                .to_owned(),
            (FAIRNESS, ..) => "Jain's fairness index of the throughputs of TCP flows, or of all \
                               flows if none is TCP: from 1/n, if one flow has everything, to 1, if \
                               all have the same."
                .to_owned(),
            (JAIN_INDEX, ..) => of_run(JAIN_INDEX),
            (ENERGY, ..) => of_run(ENERGY),
            (_, _, of) => of.map(|of| of.meaning.to_string()).unwrap_or_default(),
        };
        let values = if is_count(&name) { Values::Integer } else { Values::Number };
        ColumnInfo { name: name.into(), values, meaning: meaning.into() }
    };
    network_metrics().map(column).collect()
}

/// True if the network metric of this name is an integer in each run.
pub fn is_count(network_metric: &str) -> bool {
    ![FAIRNESS, JAIN_INDEX].contains(&network_metric)
        && RATIOS.iter().all(|(name, _)| *name != network_metric)
}

/// The value of a network metric in a run; `None` if there is no such metric. The inner value is
/// `None` if the run lacks that part of the network.
pub fn network_metric(name: &str, run: &RunResult) -> Option<Option<f64>> {
    if let Some((_, read)) = FIELDS.iter().find(|(field, _)| *field == name) {
        return Some(read(run));
    }
    if let Some((_, read)) = RATIOS.iter().find(|(field, _)| *field == name) {
        return Some(read(run));
    }
    if name == FAIRNESS || name == JAIN_INDEX {
        return Some(fairness(&run.flows));
    }
    if name == QUEUE_DROPS {
        let of = |reason: DropReason| run.drops.get(reason.name()).copied().unwrap_or(0);
        return Some(Some(QUEUE_REASONS.map(of).iter().sum::<u64>() as f64));
    }
    let reason = name.strip_prefix(DROPS)?;
    if reason.is_empty() {
        return Some(Some(run.drops.values().sum::<u64>() as f64));
    }
    let reason = reason.strip_prefix('.')?;
    let known = DropReason::ALL.iter().any(|of| of.name() == reason);
    known.then(|| Some(run.drops.get(reason).copied().unwrap_or(0) as f64))
}

/// Jain's fairness index of the throughputs of TCP flows, or of all flows if none is TCP:
/// (Σx)² / (n Σx²), from 1/n, if one flow has everything, to 1, if all have the same (Jain, Chiu &
/// Hawe 1984, DEC-TR-301). `None` if no flow has any throughput.
pub fn fairness(flows: &[FlowResult]) -> Option<f64> {
    let any = flows.iter().any(|flow| flow.tcp.is_some());
    let shares = flows.iter().filter(|flow| !any || flow.tcp.is_some());
    let shares: Vec<f64> = shares.filter_map(|flow| flow.throughput_bps).collect();
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::results::{GatewayResult, MacResult, RoutingResult};

    #[test]
    fn each_field_has_its_name() {
        let run = RunResult {
            routing: Some(RoutingResult { packets_sent: 3, icmp_hops: 7, ..Default::default() }),
            mac: Some(MacResult { collisions: 5, ..Default::default() }),
            drops: [("queue-overflow".to_owned(), 2), ("red".to_owned(), 4)].into(),
            ..RunResult::default()
        };
        for (name, value) in [
            ("routing.packets_sent", 3.0),
            ("routing.icmp_hops", 7.0),
            ("mac.collisions", 5.0),
            ("drops", 6.0),
            ("drops.red", 4.0),
            ("queue_drops", 6.0),
            ("drops.partition", 0.0),
        ] {
            assert_eq!(network_metric(name, &run), Some(Some(value)), "{name}");
        }
        assert_eq!(network_metric("mac.collisions", &RunResult::default()), Some(None));
        for wrong in ["routing", "drops.nothing", "dropsx", "throughput_bps"] {
            assert_eq!(network_metric(wrong, &run), None, "{wrong}");
        }
        assert!(network_metrics().all(|name| network_metric(&name, &run).is_some()));
    }

    #[test]
    fn fairness_is_jains_index_of_the_tcp_flows() {
        let of = |shares: &[(Option<&str>, Option<f64>)]| {
            let flow = |(tcp, bps): &(Option<&str>, _)| FlowResult {
                tcp: tcp.map(str::to_owned),
                throughput_bps: *bps,
                ..FlowResult::default()
            };
            let flows = shares.iter().map(flow).collect();
            network_metric(FAIRNESS, &RunResult { flows, ..RunResult::default() }).unwrap()
        };
        let tcp = |bps| (Some("tahoe"), Some(bps));
        assert_eq!(of(&[tcp(7.0), tcp(7.0), tcp(7.0)]), Some(1.0));
        // One of n flows has everything.
        assert_eq!(of(&[tcp(8.0), tcp(0.0), tcp(0.0), tcp(0.0)]), Some(0.25));
        // (1 + 3)² / (2 (1 + 9))
        assert_eq!(of(&[tcp(1.0), tcp(3.0)]), Some(0.8));
        // A flow without any duration has no share, and UDP counts only if no flow is TCP.
        assert_eq!(of(&[tcp(5.0), tcp(5.0), (Some("tahoe"), None), (None, Some(90.0))]), Some(1.0));
        assert_eq!(of(&[(None, Some(1.0)), (None, Some(3.0))]), Some(0.8));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[tcp(0.0), tcp(0.0)]), None);
        assert!(!is_count(FAIRNESS) && is_count(DROPS));
    }

    /// Every field of the results is a metric.
    #[test]
    fn no_field_is_left_out() {
        let count = |value: serde_json::Value| value.as_object().unwrap().len();
        let routing = count(serde_json::to_value(RoutingResult::default()).unwrap());
        let mac = count(serde_json::to_value(MacResult::default()).unwrap());
        let gateway = count(serde_json::to_value(GatewayResult::default()).unwrap());
        let ratios = RATIOS.iter().filter(|(name, _)| name.contains('.')).count();
        assert_eq!(FIELDS.len() + ratios, routing + mac + gateway);
    }
}
