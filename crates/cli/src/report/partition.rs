//! Partitions of scenarios by the values of a key, and keys that determine others.

use std::collections::{BTreeMap, BTreeSet};

/// Keys of a scenario with their values.
pub type Keys = BTreeMap<String, String>;

/// Key that stands for the number of flows.
pub const FLOWS: &str = "flows";

/// Value of a key; empty if the scenario lacks it.
pub fn key_value<'a>(keys: &'a Keys, key: &str) -> &'a str {
    keys.get(key).map_or("", String::as_str)
}

/// The scenarios without their names, descriptions and references, and without the flows that not
/// all of them have; the number of flows is added instead.
pub fn comparable(set: &[Keys]) -> Vec<Keys> {
    let flow = |key: &str| key.strip_prefix("flow.")?.split('.').next()?.parse::<usize>().ok();
    let counts: Vec<usize> = set
        .iter()
        .map(|keys| keys.keys().filter_map(|key| flow(key)).max().map_or(0, |last| last + 1))
        .collect();
    let common = counts.iter().copied().min().unwrap_or(0);
    let says = |key: &str| key == "name" || key == "description" || key.starts_with("reference");
    let is_common = |key: &str| flow(key).is_none_or(|flow| flow < common);
    let reduced = |(keys, count): (&Keys, &usize)| {
        let kept = keys.iter().filter(|(key, _)| !says(key) && is_common(key));
        let mut kept: Keys = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        kept.insert(FLOWS.to_owned(), count.to_string());
        kept
    };
    set.iter().zip(&counts).map(reduced).collect()
}

/// The index of the first scenario with the same value of a key, for each scenario.
pub fn partition(set: &[Keys], key: &str) -> Vec<usize> {
    let first =
        |keys: &Keys| set.iter().position(|other| key_value(other, key) == key_value(keys, key));
    set.iter().map(|keys| first(keys).unwrap_or(0)).collect()
}

/// Common refinement: for each scenario, the index of the first one in the same class of all
/// `partitions`; empty without partitions.
pub fn refinement(partitions: &[Vec<usize>]) -> Vec<usize> {
    let of = |index: usize| partitions.iter().map(move |partition| partition[index]);
    let all = partitions.first().map_or(0, Vec::len);
    (0..all)
        .map(|index| (0..index).find(|&first| of(first).eq(of(index))).unwrap_or(index))
        .collect()
}

/// Returns true if scenarios in the same class of `one` are also in the same class of `other`.
pub fn determines(one: &[usize], other: &[usize]) -> bool {
    one.iter().zip(other).all(|(&first, class)| other.get(first) == Some(class))
}

/// Number of different values.
pub fn distinct_count<T: Ord>(values: &[T]) -> usize {
    values.iter().collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_finer_partition_determines_a_coarser_one() {
        assert!(determines(&[0, 1, 0, 3], &[0, 0, 0, 3]));
        assert!(!determines(&[0, 0, 0, 3], &[0, 1, 0, 3]));
        assert_eq!(refinement(&[vec![0, 0, 2, 2], vec![0, 1, 0, 1]]), [0, 1, 2, 3]);
        assert_eq!(refinement(&[vec![0, 0, 2, 2], vec![0, 0, 2, 2]]), [0, 0, 2, 2]);
    }

    #[test]
    fn flows_that_some_scenarios_lack_are_replaced_by_their_number() {
        let set = [1, 3].map(|count| {
            let flows = (0..count).map(|flow| (format!("flow.{flow}.aid"), "none".to_owned()));
            flows.chain([("name".to_owned(), count.to_string())]).collect::<Keys>()
        });
        let keys = comparable(&set);
        assert_eq!(keys[1].keys().collect::<Vec<_>>(), ["flow.0.aid", "flows"]);
        assert_eq!((key_value(&keys[0], "flows"), key_value(&keys[1], "flows")), ("1", "3"));
    }
}
