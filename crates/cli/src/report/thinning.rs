//! Thinning of step lines, so that a page stays small and no extreme is lost.

/// Largest number of steps drawn of the step lines of one kind; of more, the extremes of each stretch are drawn.
pub const MAX_STEPS: usize = 6_000;

/// Start and end of a time span (s).
pub type Span = (f64, f64);

/// The empty time span.
pub const EMPTY_SPAN: Span = (f64::INFINITY, f64::NEG_INFINITY);

/// Returns true if a time is in a span.
pub const fn span_contains((from, to): Span, at: f64) -> bool {
    from <= at && at <= to
}

/// Selects at most about `most` of the steps: the lowest and the highest of each stretch, which are shorter within
/// `shown`, so that the others are too close to be seen and no extreme is lost.
pub fn thin(corners: &[(f64, f64)], shown: Span, most: usize) -> Vec<(f64, f64)> {
    if corners.len() <= most {
        return corners.to_vec();
    }
    let from = corners.partition_point(|(at, _)| *at < shown.0);
    let to = corners.partition_point(|(at, _)| *at <= shown.1).max(from);
    let outside = most / 2 / 2;
    let parts =
        [(&corners[..from], outside), (&corners[from..to], most / 2), (&corners[to..], outside)];
    parts.into_iter().flat_map(|(part, most)| extremes(part, most)).collect()
}

/// Selects at most about `most` of the steps of a stretch.
fn extremes(corners: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if corners.len() <= most {
        return corners.to_vec();
    }
    let stretch = corners.len().div_ceil((most / 2).max(1));
    let kept = |corners: &[(f64, f64)]| {
        let by_height = |a: &usize, b: &usize| corners[*a].1.total_cmp(&corners[*b].1);
        let lowest = (0..corners.len()).min_by(by_height);
        let highest = (0..corners.len()).max_by(by_height);
        let mut kept: Vec<usize> = lowest.into_iter().chain(highest).collect();
        kept.sort_unstable();
        kept.dedup();
        kept.into_iter().map(|index| corners[index]).collect::<Vec<_>>()
    };
    corners.chunks(stretch).flat_map(kept).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes() {
        let corners: Vec<(f64, f64)> = (0..100_000)
            .map(|i| (f64::from(i), if i == 54_321 { 1e6 } else { f64::from(i % 7) }))
            .collect();
        let thinned = thin(&corners, (70_000.0, 70_099.0), MAX_STEPS);
        assert!(thinned.len() <= MAX_STEPS + 102);
        assert!(thin(&corners, (0.0, 1e9), MAX_STEPS).len() <= MAX_STEPS);
        assert!(thin(&corners, EMPTY_SPAN, MAX_STEPS).len() <= MAX_STEPS);
        assert_eq!(
            thinned.iter().filter(|c| span_contains((70_000.0, 70_099.0), c.0)).count(),
            100
        );
        assert!(thinned.contains(&(54_321.0, 1e6)));
        assert!(thinned.is_sorted_by(|a, b| a.0 <= b.0));
    }
}
