//! Proportional rate reduction (RFC 9937): in fast recovery, for what arrives goes as much as brings
//! the flight down to ssthresh by its end, and no silence of half a round trip before.

/// One fast recovery's account, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// A recovery is under way.
    active: bool,
    /// What can arrive in it (§6: RecoverFS).
    recover_fs: u32,
    /// What has arrived in it (§6: prr_delivered).
    delivered: u32,
    /// What was sent in it (§6: prr_out).
    out: u32,
}

/// What a sender knows of an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Bytes that arrived, by what it says (DeliveredData).
    pub delivered_data: u32,
    /// SND.UNA moved, and nothing more is lost (SafeACK).
    pub safe_ack: bool,
}

impl Prr {
    /// A recovery begins in which so many bytes can arrive.
    pub(crate) fn begin(flight: u32) -> Self {
        Self { active: true, recover_fs: flight, delivered: 0, out: 0 }
    }

    /// Is a recovery under way?
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// The recovery is over, however it ended.
    pub fn end(&mut self) {
        self.active = false;
    }

    /// Something was sent.
    pub fn on_sent(&mut self, bytes: u32) {
        self.out = self.out.saturating_add(bytes);
    }

    /// How much may go now (§6).
    pub(crate) fn on_ack(&mut self, arrived: Delivery, pipe: u32, ssthresh: u32, mss: u32) -> u32 {
        let Delivery { delivered_data: bytes, safe_ack: safe } = arrived;
        self.delivered = self.delivered.saturating_add(bytes);
        let goes = if pipe > ssthresh {
            let whole = u64::from(self.delivered) * u64::from(ssthresh);
            let out = whole.div_ceil(u64::from(self.recover_fs.max(1)));
            out.saturating_sub(u64::from(self.out)).min(u64::from(u32::MAX)) as u32
        } else {
            // One for one (the conservative bound), and one segment more while all goes well (the
            // slow-start bound), but not beyond ssthresh.
            let one_for_one = self.delivered.saturating_sub(self.out).max(bytes);
            let more = if safe { mss } else { 0 };
            one_for_one.saturating_add(more).min(ssthresh - pipe)
        };
        // The fast retransmit itself.
        if self.out == 0 && goes == 0 { mss } else { goes }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn arrived(bytes: u32, safe: bool) -> Delivery {
        Delivery { delivered_data: bytes, safe_ack: safe }
    }

    #[test]
    fn above_ssthresh_in_proportion_rounded_up() {
        let mut prr = Prr { active: true, recover_fs: 10_000, delivered: 0, out: 0 };
        assert_eq!(prr.on_ack(arrived(1000, false), 9000, 7000, 1000), 700);
        prr.on_sent(1000);
        // 2000 of 10,000 have arrived, 1400 may have gone and 1000 have.
        assert_eq!(prr.on_ack(arrived(1000, false), 9000, 7000, 1000), 400);
        assert_eq!(prr.on_ack(arrived(1, false), 9000, 7000, 1000), 401);
    }

    #[test]
    fn below_ssthresh_one_for_one_and_a_segment_more_where_it_is_safe() {
        let mut prr = Prr { active: true, recover_fs: 10_000, delivered: 3000, out: 4000 };
        assert_eq!(prr.on_ack(arrived(1000, false), 2000, 7000, 1000), 1000);
        assert_eq!(prr.on_ack(arrived(1000, true), 2000, 7000, 1000), 2000);
        assert_eq!(prr.on_ack(arrived(1000, true), 6500, 7000, 1000), 500, "up to ssthresh");
        // After a gap in what was sent it catches up.
        let mut prr = Prr { active: true, recover_fs: 10_000, delivered: 6000, out: 1000 };
        assert_eq!(prr.on_ack(arrived(1000, false), 0, 7000, 1000), 6000);
    }

    #[test]
    fn the_first_retransmission_goes_in_any_case() {
        let mut prr = Prr { active: true, recover_fs: 10_000, delivered: 0, out: 0 };
        assert_eq!(prr.on_ack(arrived(1000, false), 5000, 5000, 1000), 1000);
    }
}
