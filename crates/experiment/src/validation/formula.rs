//! Padhye's formula of the throughput of TCP.

/// The full formula of Padhye et al.: the steady-state sending rate of a Reno sender in segments
/// per second.
///
/// `loss` is the probability of a loss indication, `rtt` and `timeout` are in seconds, `window` is
/// the maximum window in segments, and `per_ack` the number of segments per acknowledgment.
// padhye-1998 §II-C, equations 13, 24, 29 and 32.
pub fn padhye_rate(loss: f64, rtt: f64, timeout: f64, window: f64, per_ack: f64) -> f64 {
    let (p, b) = (loss, per_ack);
    let middle = (2.0 + b) / (3.0 * b);
    let free = middle + (8.0 * (1.0 - p) / (3.0 * b * p) + middle * middle).sqrt();
    // The mean length of a sequence of timeouts, in units of the first one, times 1 − p.
    let doubled = 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))));
    let sent = |end: f64| (1.0 - p) / p + end + timeout_probability(p, end) / (1.0 - p);
    let silent = |end: f64| timeout_probability(p, end) * doubled * timeout / (1.0 - p);
    if free < window {
        sent(free) / (rtt * (b / 2.0 * free + 1.0) + silent(free))
    } else {
        let rounds = b / 8.0 * window + (1.0 - p) / (p * window) + 2.0;
        sent(window) / (rtt * rounds + silent(window))
    }
}

/// The probability that a loss in a window of `window` segments is detected by a timeout.
fn timeout_probability(p: f64, window: f64) -> f64 {
    let arrives = 1.0 - p;
    let kept = |n: f64| libm::pow(arrives, n);
    let few = 1.0 - kept(3.0);
    (few * (1.0 + kept(3.0) * (1.0 - kept(window - 3.0))) / (1.0 - kept(window))).min(1.0)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn padhye_without_timeouts_is_the_square_root_law() {
        // Rare losses, no window limit: 1/(RTT √(2bp/3)), mathis-1997.
        let rate = padhye_rate(1e-6, 0.1, 1.0, f64::INFINITY, 1.0);
        let law = 1.0 / (0.1 * (2e-6_f64 / 3.0).sqrt());
        assert!((rate / law - 1.0).abs() < 0.01, "{rate} {law}");
    }

    #[test]
    fn padhye_with_negligible_loss_sends_a_window_per_round_trip() {
        let rate = padhye_rate(1e-9, 0.1, 1.0, 40.0, 1.0);
        assert!((rate / 400.0 - 1.0).abs() < 1e-3, "{rate}");
    }

    #[test]
    fn padhye_by_hand() {
        // p = 0.1, b = 1: E[W] = 1 + √25 = 6; Q = 0.271·(1 + 0.729·0.271)/(1 − 0.531441);
        // f = 1 + 0.1 + 0.02 + 0.004 + 0.0008 + 0.00016 + 0.000032.
        let q = 0.271 * (1.0 + 0.729 * 0.271) / 0.468_559;
        let by_hand = (9.0 + 6.0 + q / 0.9) / (0.2 * (3.0 + 1.0) + q * 1.124_992 * 1.0 / 0.9);
        let rate = padhye_rate(0.1, 0.2, 1.0, 40.0, 1.0);
        assert!((rate / by_hand - 1.0).abs() < 1e-9, "{rate} {by_hand}");
    }
}
