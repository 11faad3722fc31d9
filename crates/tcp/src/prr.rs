//! Proportional rate reduction (RFC 9937): the amount to send for each acknowledgment in fast
//! recovery, such that the flight reaches ssthresh by its end without a pause of half a round trip.

/// State of one fast recovery, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// A recovery is in progress.
    active: bool,
    /// FlightSize at its start (§6: RecoverFS).
    recover_fs: u32,
    /// Bytes delivered in it (§6: prr_delivered).
    delivered: u32,
    /// Bytes sent in it (§6: prr_out).
    out: u32,
    /// The amount that may be sent is rounded up to whole segments, as in Linux.
    whole_segments: bool,
}

/// Data that an acknowledgment reports as delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Newly delivered bytes (DeliveredData).
    pub delivered_data: u32,
    /// SND.UNA has advanced and no further loss was detected (SafeACK).
    pub safe_ack: bool,
}

impl Prr {
    /// Starts a recovery with a RecoverFS of `recover_fs` bytes.
    pub(crate) fn begin(recover_fs: u32, whole_segments: bool) -> Self {
        Self { active: true, recover_fs, delivered: 0, out: 0, whole_segments }
    }

    /// A recovery is in progress.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// Ends the recovery.
    pub fn end(&mut self) {
        self.active = false;
    }

    /// Counts sent bytes.
    pub fn on_sent(&mut self, bytes: u32) {
        self.out = self.out.saturating_add(bytes);
    }

    /// Bytes that may be sent for this acknowledgment (§6: SndCnt).
    pub(crate) fn on_ack(&mut self, arrived: Delivery, pipe: u32, ssthresh: u32, mss: u32) -> u32 {
        let Delivery { delivered_data, safe_ack } = arrived;
        self.delivered = self.delivered.saturating_add(delivered_data);
        let snd_cnt = if pipe > ssthresh {
            let whole = u64::from(self.delivered) * u64::from(ssthresh);
            let mut out = whole.div_ceil(u64::from(self.recover_fs.max(1)));
            if self.whole_segments {
                out = out.next_multiple_of(u64::from(mss.max(1)));
            }
            out.saturating_sub(u64::from(self.out)).min(u64::from(u32::MAX)) as u32
        } else {
            // PRR-CRB (conservative reduction bound), and one segment more if SafeACK (PRR-SSRB,
            // slow-start reduction bound), but not beyond ssthresh.
            let one_for_one = self.delivered.saturating_sub(self.out).max(delivered_data);
            let more = if safe_ack { mss } else { 0 };
            one_for_one.saturating_add(more).min(ssthresh - pipe)
        };
        // Permits the fast retransmit itself.
        if self.out == 0 && snd_cnt == 0 { mss } else { snd_cnt }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn arrived(delivered_data: u32, safe_ack: bool) -> Delivery {
        Delivery { delivered_data, safe_ack }
    }

    #[test]
    fn above_ssthresh_sends_in_proportion_rounded_up() {
        let mut prr = Prr::begin(10_000, false);
        assert_eq!(prr.on_ack(arrived(1000, false), 9000, 7000, 1000), 700);
        prr.on_sent(1000);
        // 2000 of 10,000 delivered: 1400 may be sent, 1000 were.
        assert_eq!(prr.on_ack(arrived(1000, false), 9000, 7000, 1000), 400);
        assert_eq!(prr.on_ack(arrived(1, false), 9000, 7000, 1000), 401);
    }

    #[test]
    fn below_ssthresh_sends_one_for_one_and_a_segment_more_if_safe_ack() {
        let mut prr = Prr { delivered: 3000, out: 4000, ..Prr::begin(10_000, false) };
        assert_eq!(prr.on_ack(arrived(1000, false), 2000, 7000, 1000), 1000);
        assert_eq!(prr.on_ack(arrived(1000, true), 2000, 7000, 1000), 2000);
        assert_eq!(prr.on_ack(arrived(1000, true), 6500, 7000, 1000), 500, "up to ssthresh");
        // After a pause in sending it catches up.
        let mut prr = Prr { delivered: 6000, out: 1000, ..Prr::begin(10_000, false) };
        assert_eq!(prr.on_ack(arrived(1000, false), 0, 7000, 1000), 6000);
    }

    #[test]
    fn the_fast_retransmit_is_always_permitted() {
        let mut prr = Prr::begin(10_000, false);
        assert_eq!(prr.on_ack(arrived(1000, false), 5000, 5000, 1000), 1000);
    }
}
