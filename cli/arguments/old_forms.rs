//! Forms of the command line that were replaced.

use std::ffi::{OsStr, OsString};

/// Each old form, as it follows `holdpoint`, and what replaces it, a line each. An option in a form
/// stands for that option anywhere behind the verb.
const OLD_FORMS: &str = include_str!("../../tests/old_words.txt");

/// Verbs of other programs, and what does the same here.
const ELSEWHERE: [(&str, &str); 6] = [
    ("ls", "runs"),
    ("ps", "runs"),
    ("history", "runs"),
    ("status", "inbox"),
    ("logs", "log"),
    ("config", "doctor config"),
];

/// Names what does here what a verb of another program does.
pub(crate) fn known_elsewhere(verbs: &[&OsStr]) -> Option<String> {
    let verb = verbs.first()?;
    let (there, here) = ELSEWHERE.iter().find(|(there, _)| *verb == OsStr::new(there))?;
    Some(format!("there is no `holdpoint {there}`: `holdpoint {here}` does that"))
}

/// Names the replacement of an old form, in one sentence; `None` where these words are no old form.
/// `verbs` are the words that are no options, `words` all of them.
pub(crate) fn replacement(verbs: &[&OsStr], words: &[OsString]) -> Option<String> {
    let mut forms = OLD_FORMS.lines().filter_map(|line| line.split_once(" => "));
    let (old, new) = forms.find(|(old, _)| is_of_form(old, verbs, words))?;
    Some(format!("`holdpoint {old}` is now `{new}`"))
}

fn is_of_form(form: &str, verbs: &[&OsStr], words: &[OsString]) -> bool {
    let (options, form): (Vec<&str>, Vec<&str>) =
        form.split(' ').partition(|word| word.starts_with('-'));
    let has_verbs = verbs.len() >= form.len() && form.iter().zip(verbs).all(|(a, b)| a == b);
    has_verbs && options.iter().all(|option| words.iter().any(|word| is_option(option, word)))
}

/// Tells whether a word is an option, with its value behind `=` or without one.
fn is_option(option: &str, word: &OsStr) -> bool {
    let rest = word.as_encoded_bytes().strip_prefix(option.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_form_is_found_by_its_verbs_and_options() {
        let is_of = |form, line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let verbs: Vec<&OsStr> =
                words.iter().map(OsString::as_os_str).filter(|word| *word != "--all").collect();
            is_of_form(form, &verbs, &words)
        };
        assert!(is_of("hold list", "hold list --all") && is_of("hold --all", "hold list --all"));
        assert!(!is_of("hold list", "hold") && !is_of("hold --all", "hold list"));
        assert!(is_of("runs --by", "runs --by=ada") && !is_of("runs --by", "runs --bygone=ada"));
    }
}
