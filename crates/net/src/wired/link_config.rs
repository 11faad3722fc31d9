//! Links as a scenario configures them.

use driftway_base::Duration;
use driftway_link::{
    CodelConfig, DeliveryOrder, Discipline, Duplex, LinkConfig, QueueConfig, RedConfig,
};
use driftway_scenario::{BitRate, Link, Size};

/// Typical packet size in a queue (bytes), for RED's decay during idle time.
pub const TYPICAL_PACKET_BYTES: u32 = 500;

/// Converts the link of a scenario.
pub fn link_config(link: &Link) -> LinkConfig {
    let BitRate(rate) = link.rate;
    LinkConfig {
        rate,
        delay: link_delay(link.delay),
        errors: match link.errors() {
            driftway_scenario::LinkErrors::None => driftway_link::ErrorModel::None,
            driftway_scenario::LinkErrors::Bit(rate) => {
                driftway_link::ErrorModel::BitErrorRate(rate)
            }
            driftway_scenario::LinkErrors::Packet(rate) => {
                driftway_link::ErrorModel::FrameErrorRate(rate)
            }
        },
        queue: QueueConfig {
            limit: link.queue.packets as usize,
            discipline: discipline(&link.queue, rate.transmission_time(TYPICAL_PACKET_BYTES)),
            mark_loss: link.mark_loss,
        },
        duplex: match link.duplex {
            driftway_scenario::Duplex::Full => Duplex::Full,
            driftway_scenario::Duplex::Shared => Duplex::Shared,
            driftway_scenario::Duplex::PerPacket => Duplex::PerPacket,
        },
        order: match link.order {
            driftway_scenario::DeliveryOrder::Fifo => DeliveryOrder::Fifo,
            driftway_scenario::DeliveryOrder::Free => DeliveryOrder::Free,
        },
    }
}

/// Converts the discipline of a queue. `frame_time` is the transmission time of a typical packet, for
/// RED's decay during idle time.
pub fn discipline(queue: &driftway_scenario::Queue, frame_time: Duration) -> Discipline {
    if let Some(red) = queue.red() {
        return Discipline::Red(RedConfig {
            min_threshold: red.min_threshold,
            max_threshold: red.max_threshold,
            max_probability: red.max_probability,
            weight: red.weight,
            frame_time,
            ecn: red.ecn,
        });
    }
    if let Some(codel) = queue.codel() {
        return Discipline::Codel(CodelConfig {
            target: codel.target,
            interval: codel.interval,
            ecn: codel.ecn,
        });
    }
    Discipline::DropTail { ecn_threshold: queue.ecn_threshold.map(|packets| packets as usize) }
}

/// Converts the delay of a scenario.
pub fn link_delay(delay: driftway_scenario::Delay) -> driftway_link::Delay {
    let (low, high) = delay.bounds();
    if low == high {
        driftway_link::Delay::Fixed(low)
    } else {
        driftway_link::Delay::Uniform { low, high }
    }
}

/// Converts a size of a scenario to bytes.
pub fn packet_bytes(Size(bytes): Size) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_scenario::Time;

    #[test]
    fn delays_are_fixed_where_their_bounds_are_equal() {
        let ms = Duration::from_millis;
        let around = |spread| driftway_scenario::Delay::MeanSpread { mean: Time(ms(20)), spread };
        assert_eq!(
            link_delay(driftway_scenario::Delay::Fixed(Time(ms(20)))),
            driftway_link::Delay::Fixed(ms(20))
        );
        assert_eq!(link_delay(around(0.0)), driftway_link::Delay::Fixed(ms(20)));
        assert_eq!(
            link_delay(around(0.5)),
            driftway_link::Delay::Uniform { low: ms(10), high: ms(30) }
        );
    }
}
