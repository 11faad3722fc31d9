//! The short-term model (draft-ietf-ccwg-bbr-04 §5.5.10.3): bounds that follow the losses of a round
//! while nothing is probed, until the next probe.

/// Part that is kept in a round with losses (§2.7: Beta).
pub(super) const BETA: f64 = 0.7;

/// Deliveries of the last round, and the bounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShortTerm {
    /// Bound of the bandwidth (bw_shortterm; bytes per second), and of bytes in flight
    /// (inflight_shortterm).
    pub bandwidth: Option<f64>,
    pub in_flight: Option<f64>,
    /// Maxima of the delivery rate and of what was delivered, in a round (bw_latest,
    /// inflight_latest).
    latest_rate: f64,
    latest_delivered: f64,
    /// A round of losses ends with data sent when this much had been delivered.
    round_delivered: u64,
    round_started: bool,
    loss_in_round: bool,
}

/// A delivery, as the model sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Delivery rate (bytes per second); zero without one.
    pub rate: f64,
    /// Bytes in the sample.
    pub delivered: f64,
    /// Bytes delivered before the sample, and so far.
    pub prior: u64,
    pub total: u64,
}

impl ShortTerm {
    /// Notes a loss when `delivered` bytes have been delivered (BBRNoteLoss).
    pub fn on_loss(&mut self, delivered: u64) {
        if !self.loss_in_round {
            self.round_delivered = delivered;
        }
        self.loss_in_round = true;
    }
    /// Notes an acknowledgment that delivers nothing.
    pub fn on_nothing_delivered(&mut self) {
        self.round_started = false;
    }
    /// Starts the handling of a delivery (BBRUpdateLatestDeliverySignals).
    pub fn on_delivered(&mut self, delivery: &Delivery) {
        self.latest_rate = self.latest_rate.max(delivery.rate);
        self.latest_delivered = self.latest_delivered.max(delivery.delivered);
        self.round_started = delivery.prior >= self.round_delivered;
        if self.round_started {
            self.round_delivered = delivery.total;
        }
    }
    /// Lowers the bounds at the end of a round with losses, unless more is sent on purpose
    /// (BBRAdaptLowerBoundsFromCongestion). Without bounds, those of `bandwidth` and `cwnd` count.
    pub fn end_round(&mut self, accelerates: bool, bandwidth: f64, cwnd: f64) {
        if !self.round_started {
            return;
        }
        if self.loss_in_round && !accelerates {
            let (rate, volume) =
                (self.bandwidth.unwrap_or(bandwidth), self.in_flight.unwrap_or(cwnd));
            self.bandwidth = Some(self.latest_rate.max(BETA * rate));
            self.in_flight = Some(self.latest_delivered.max(BETA * volume));
        }
        self.loss_in_round = false;
    }
    /// Ends the handling of a delivery (BBRAdvanceLatestDeliverySignals).
    pub fn advance(&mut self, delivery: &Delivery) {
        if self.round_started {
            (self.latest_rate, self.latest_delivered) = (delivery.rate, delivery.delivered);
        }
    }
    /// Forgets losses and deliveries (BBRResetCongestionSignals).
    pub fn reset_signals(&mut self) {
        (self.loss_in_round, self.latest_rate, self.latest_delivered) = (false, 0.0, 0.0);
    }
    /// Forgets the bounds (BBRResetShortTermModel).
    pub fn reset_bounds(&mut self) {
        (self.bandwidth, self.in_flight) = (None, None);
    }
    /// A round of losses ends with this acknowledgment.
    pub fn round_has_ended(&self) -> bool {
        self.round_started
    }
    /// Bytes delivered in the last round.
    pub fn latest_delivered(&self) -> f64 {
        self.latest_delivered
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn delivery(rate: f64, prior: u64, total: u64) -> Delivery {
        Delivery { rate, delivered: rate / 10.0, prior, total }
    }

    fn round(model: &mut ShortTerm, accelerates: bool, delivery: &Delivery) {
        model.on_delivered(delivery);
        model.end_round(accelerates, 1000.0, 200.0);
        model.advance(delivery);
    }

    #[test]
    fn the_bounds_follow_what_is_delivered_but_fall_by_three_tenths_at_most() {
        let mut model = ShortTerm::default();
        round(&mut model, false, &delivery(900.0, 0, 100));
        model.on_loss(100);
        round(&mut model, false, &delivery(900.0, 99, 200));
        assert_eq!(model.bandwidth, None, "the round is not over");
        round(&mut model, false, &delivery(950.0, 100, 300));
        assert_eq!((model.bandwidth, model.in_flight), (Some(950.0), Some(140.0)));
        model.on_loss(300);
        round(&mut model, false, &delivery(100.0, 300, 400));
        // The maxima of a round include the acknowledgment that ended the one before.
        assert_eq!((model.bandwidth, model.in_flight), (Some(950.0), Some(98.0)));
        model.on_loss(400);
        round(&mut model, false, &delivery(100.0, 400, 500));
        assert_eq!((model.bandwidth, model.in_flight), (Some(665.0), Some(68.6)));
        model.reset_bounds();
        model.on_loss(500);
        round(&mut model, true, &delivery(100.0, 500, 600));
        assert_eq!(model.bandwidth, None, "losses of a probe");
    }
}
