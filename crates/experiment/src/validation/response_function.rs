//! Response functions: the mean congestion window of TCP that loses one segment of 1/p.

/// Mean window in segments of a sender that adds one segment per round trip and halves its window at a
/// loss; every segment is acknowledged.
// mathis-1997: W = C/√p, C = √(3/2) with periodic losses and without delayed ACKs.
pub fn mathis_window(loss: f64) -> f64 {
    (1.5 / loss).sqrt()
}

/// CUBIC's constant C in segments per cubic second, and its factor β at a loss.
// RFC 9438 §4.6, §5.
const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// Mean window of CUBIC in segments: the greater of its cubic and of its Reno-friendly region. `rtt` in
/// seconds.
// RFC 9438 §5.1: AVG_W_cubic = ⁴√(C(3 + β)/(4(1 − β))) · ⁴√(RTT³)/⁴√(p³); §4.3: with α_cubic the
// window of a Reno-friendly epoch is that of Reno.
pub fn cubic_window(loss: f64, rtt: f64) -> f64 {
    let factor = libm::pow(C * (3.0 + BETA) / (4.0 * (1.0 - BETA)), 0.25);
    let cubic = factor * libm::pow(rtt / loss, 0.75);
    cubic.max(mathis_window(loss))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn windows_are_those_of_the_tables() {
        assert!((mathis_window(0.01) - 12.247).abs() < 1e-3);
        // RFC 8312 §5.1, Table 1 (RTT 0.1 s, C = 0.4), repeated in RFC 9438: whole segments.
        for (loss, window) in [(1e-2, 12.0), (1e-3, 38.0), (1e-4, 187.0), (1e-5, 1054.0)] {
            assert!((cubic_window(loss, 0.1) - window).abs() < 1.0, "{loss}");
        }
    }
}
