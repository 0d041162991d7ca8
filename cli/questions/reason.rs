//! What a reason may be that somebody gives for the answer to a hold.

use crate::ui::{Exit, Failure};
use holdpoint_domain::core::text::{hidden_character, is_readable};

/// A reason is one line in which everything can be seen. It is recorded so that nothing in it is
/// hidden: a line end would read like one that somebody wrote out. One in which nothing is seen is
/// no reason: whether there has to be one is for the rules to say.
pub(crate) fn check_reason(reason: &str) -> Result<(), Failure> {
    let hidden = hidden_character(reason).filter(|_| is_readable(reason));
    let Some((place, c)) = hidden else { return Ok(()) };
    let what = match c {
        '\n' | '\r' | '\u{2028}' | '\u{2029}' => "a line end".to_string(),
        c => format!("the hidden character U+{:04X}", u32::from(c)),
    };
    let message = format!(
        "a reason is one line in which nothing is hidden, and this one has {what} at byte {place}: \
         leave it out; nothing is recorded"
    );
    Err(Failure::new(Exit::USAGE, "bad_reason", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_in_which_nothing_is_hidden() {
        let seen = "na\u{ef}ve \u{6587}\u{1f600} 'x' \"y\"";
        for reason in ["", " \u{200b}", "flaky", r"a\u{a}b", seen] {
            assert_eq!(check_reason(reason), Ok(()), "{reason:?}");
        }
        for (reason, what) in [
            ("a\nb", "has a line end at byte 1"),
            ("\u{e9}\r", "has a line end at byte 2"),
            ("a\tb", "has the hidden character U+0009 at byte 1"),
            ("a\u{202e}b", "has the hidden character U+202E at byte 1"),
        ] {
            let failure = check_reason(reason).unwrap_err();
            assert!(failure.message().contains(what), "{}", failure.message());
            assert_eq!((failure.exit, failure.code()), (Exit::USAGE, "bad_reason"));
        }
    }
}
