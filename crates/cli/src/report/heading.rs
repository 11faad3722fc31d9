//! Title and subtitle of a set of results.

use std::path::Path;

use super::claims::Claims;
use super::variation::Variation;
use crate::result_dirs::ResultDir;
use crate::text::{capitalized, count, list};

/// Longest description that is used in a subtitle (characters).
const MAX_DESCRIPTION: usize = 100;

/// Common part of the scenarios' names, as far as it is true of all of them; otherwise the
/// directory's name.
pub fn title(dir: &Path, set: &[ResultDir], sweep: &Variation) -> String {
    let names: Vec<&str> =
        set.iter().map(|member| member.document.scenario.name.as_str()).collect();
    let name = Claims::of_all(&sweep.values).true_part(common_prefix(&names));
    if !name.is_empty() {
        return capitalized(&name);
    }
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    capitalized(&dir.file_name().map_or("a set".into(), |name| name.to_string_lossy()))
}

/// Lines of the subtitle: the scenarios' common description, if it is short and true of all; the
/// number of scenarios and runs; and the differences that are not in the arms' names.
pub fn subtitle(set: &[ResultDir], sweep: &Variation) -> Vec<String> {
    let mut descriptions = set.iter().map(|member| &member.document.scenario.description);
    let shared = descriptions.next().and_then(Option::as_ref);
    let shared = shared.filter(|first| {
        first.chars().count() <= MAX_DESCRIPTION
            && descriptions.all(|other| other.as_ref() == Some(first))
            && Claims::of_all(&sweep.values).are_consistent_with(first)
    });
    let runs: usize = set.iter().map(|member| member.document.runs.len()).sum();
    let against = sweep.axis.as_ref().map_or(String::new(), |a| format!(" against {}", a.name()));
    let amount =
        format!("{}, {}{against}", count(set.len() as u64, "scenario"), count(runs as u64, "run"));
    let unsaid = (!sweep.unnamed.is_empty())
        .then(|| format!("The scenarios also differ in: {}.", list(&sweep.unnamed)));
    shared.cloned().into_iter().chain([amount]).chain(unsaid).collect()
}

/// Common prefix of all names: whole words, without the punctuation that follows them.
fn common_prefix<'a>(names: &[&'a str]) -> &'a str {
    let Some((first, others)) = names.split_first() else { return "" };
    let shared = |end: usize| others.iter().all(|name| name.starts_with(&first[..end]));
    let ends = first.char_indices().map(|(at, _)| at).chain([first.len()]);
    let mut end = ends.take_while(|&end| shared(end)).last().unwrap_or(0);
    let goes_on = |name: &&str| name[end..].chars().next().is_some_and(char::is_alphanumeric);
    if names.iter().any(goes_on) {
        // The names diverge in the middle of a word.
        end = first[..end].trim_end_matches(char::is_alphanumeric).len();
    }
    first[..end].trim_end_matches(|c: char| !c.is_alphanumeric() && !")]%".contains(c))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_title_of_a_set_is_the_common_prefix_of_its_names() {
        for (names, title) in [
            (&["figure 8, TCP", "figure 8, ATCP"][..], "figure 8"),
            (&["four hops: 10 ms", "four hops: 15 ms"], "four hops"),
            (&["lossy", "lossy path"], "lossy"),
            (&["hops (four), a", "hops (four), b"], "hops (four)"),
            (&["atcp", "auto"], ""),
            (&["été à Nice", "été à Nîmes"], "été à"),
            (&["the same", "the same"], "the same"),
            (&[], ""),
        ] {
            assert_eq!(common_prefix(names), title, "{names:?}");
        }
    }
}
