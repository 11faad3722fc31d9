//! What is wrong with a scenario, and where.

/// The one of `names` that `word` was most likely meant to be.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let near = names
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(&word, &name.to_lowercase()), name));
    let best = near.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= 0.5).then_some(best.1)
}
