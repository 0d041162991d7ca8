//! What a project's configuration may say.

use holdpoint_engine::floors::{EvidenceTable, HoldTable, QuestionsTable};
use serde::Deserialize;

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// When and how a person is asked.
    pub(crate) hold: HoldTable,
    /// What goes on record.
    pub(crate) evidence: EvidenceTable,
    /// How many questions may be open at once: fewer than elsewhere.
    pub(crate) questions: QuestionsTable,
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_engine::floors::parse;

    #[test]
    fn an_empty_file_says_nothing() {
        assert_eq!(parse(b""), Ok(Settings::default()));
        assert_eq!(parse(b"[hold]\n[evidence]\n"), Ok(Settings::default()));
    }

    #[test]
    fn what_a_file_may_not_say_is_told_with_line_and_column() {
        let table: [(&[u8], &str, &str); 6] = [
            (b"[hold]\nwait = 1\n", "2:1: ", "unknown field `wait`"),
            (b"x = 1", "1:1: ", "unknown field `x`"),
            (b"[policy]\nlog = \"/a\"", "1:2: ", "unknown field `policy`"),
            (b"[hold]\n[[hold.escalation_targets]]\ntarget = \"a\"", "2:1: ", "missing field"),
            (b"[inbox]\nlogs = [\"/a\"]", "1:2: ", "unknown field `inbox`"),
            (b"[evidence]\nredact = [\"a\\u0000b\"]", "2:10: ", "hidden character"),
        ];
        for (file, place, message) in table {
            let found = parse::<Settings>(file).unwrap_err().to_string();
            assert!(found.starts_with(place), "{place}: {found}");
            assert!(found.contains(message), "{message}: {found}");
        }
    }

    #[test]
    fn more_names_than_a_record_holds_are_refused() {
        let file = format!("[hold]\napprovers = [{}]", "\"a\",".repeat(17));
        let refused = parse::<Settings>(file.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains("the limit is 16"), "{refused}");
    }
}
