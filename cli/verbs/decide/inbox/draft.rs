//! An answer that is being typed to one question, by its own words: nothing is an answer until it
//! is typed whole, and Enter alone never is.

use crate::questions::choice::Answer;
use crate::questions::respond::Reply;
use crate::questions::waiting_item::Item;
use crate::ui::named;
use holdpoint_domain::human_decision::HumanDecision;
use holdpoint_replay::question::Kind;

/// What is being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Word,
    /// Why, where somebody wants to say so before the word.
    Reason,
    /// Why, which the word needs.
    NeededReason,
    Target,
    Text,
    Guidance,
}

/// What was typed so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    field: Field,
    line: String,
    word: Option<String>,
    reason: Option<String>,
}

/// What a line comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entered {
    /// More is needed.
    More,
    /// It means nothing here, and why.
    Unclear(String),
    /// The answer.
    Whole(Reply),
}

/// The longest line that is taken, in characters: more than any answer may have.
const LINE_MAX: usize = 8192;

impl Default for Draft {
    fn default() -> Self {
        Self { field: Field::Word, line: String::new(), word: None, reason: None }
    }
}

impl Draft {
    /// Takes what is typed or pasted; a line end in it is none here.
    pub(super) fn push(&mut self, text: &str) {
        let room = LINE_MAX.saturating_sub(self.line.chars().count());
        let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        self.line.extend(visible.take(room));
    }

    /// Takes the last character back.
    pub(super) fn erase(&mut self) {
        self.line.pop();
    }

    /// Takes the line back.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }

    /// Begins another line, where the question takes such a one.
    pub(super) fn turn_to(&mut self, field: Field, item: &Item) -> Result<(), String> {
        let is_let = match field {
            Field::Text => item.allows_text,
            Field::Guidance => item.allows_guidance,
            Field::Word | Field::Reason | Field::NeededReason | Field::Target => true,
        };
        if !is_let {
            return Err("this question takes none".to_string());
        }
        (self.field, self.line) = (field, String::new());
        Ok(())
    }

    /// Whether something is typed, or asked for beside the word, that can be taken back.
    pub(super) fn is_begun(&self) -> bool {
        self.field != Field::Word || !self.line.is_empty()
    }

    /// Goes a step back. False: there is none.
    pub(super) fn step_back(&mut self) -> bool {
        if !self.is_begun() {
            return false;
        }
        *self = Self { reason: self.reason.take(), ..Self::default() };
        true
    }

    /// What is asked for, in words.
    pub(super) fn prompt(&self, item: &Item) -> String {
        match self.field {
            Field::Word => format!("{}?", names(&item.words)),
            Field::Reason => "reason (goes with the next word)?".to_string(),
            Field::NeededReason => {
                format!("reason for {}?", self.word.as_deref().unwrap_or_default())
            }
            Field::Target => format!("whom to ask ({})?", names(&item.targets)),
            Field::Text => "answer in your own words?".to_string(),
            Field::Guidance => "guidance for another proposal?".to_string(),
        }
    }

    /// Why, where that was said already: it goes with the next word.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The line as it was typed so far.
    pub(super) fn line(&self) -> &str {
        &self.line
    }

    /// The line is ended.
    pub(super) fn enter(&mut self, item: &Item) -> Entered {
        let typed = std::mem::take(&mut self.line);
        // A word is exactly what is offered; in a text blanks around it say nothing.
        let line = if self.field == Field::Word { typed } else { typed.trim().to_string() };
        let unclear = |why: &str| Entered::Unclear(why.to_string());
        match self.field {
            Field::Reason => {
                self.reason = Some(line).filter(|line| !line.is_empty());
                self.field = Field::Word;
                Entered::More
            }
            _ if line.is_empty() => unclear("empty input is no answer"),
            Field::Word => self.take_word(item, &line),
            Field::NeededReason => {
                self.reason = Some(line);
                self.complete(item)
            }
            Field::Target => match item.targets.contains(&line) {
                true => self.whole(item, Some(line)),
                false => {
                    Entered::Unclear(format!("it can be passed on to {}", names(&item.targets)))
                }
            },
            Field::Text => Entered::Whole(self.reply(item, Answer::Text(line), None)),
            Field::Guidance => Entered::Whole(self.reply(item, Answer::Guidance(line), None)),
        }
    }

    /// A word is its whole name, in whatever case where no other one is called so.
    fn take_word(&mut self, item: &Item, line: &str) -> Entered {
        let of_case = || item.words.iter().filter(|word| word.eq_ignore_ascii_case(line));
        let only = || of_case().next().filter(|_| of_case().count() == 1);
        let Some(word) = of_case().find(|word| *word == line).or_else(only) else {
            return Entered::Unclear(format!("type a whole word, {}", names(&item.words)));
        };
        self.word = Some(word.clone());
        self.complete(item)
    }

    /// Asks for what the word needs.
    fn complete(&mut self, item: &Item) -> Entered {
        let word = self.word.as_deref().filter(|_| item.kind == Kind::Hold);
        let is = |decision: HumanDecision| word == Some(decision.name());
        let needs_target = is(HumanDecision::Escalate);
        if (is(HumanDecision::Retry) || needs_target) && self.reason.is_none() {
            self.field = Field::NeededReason;
            return Entered::More;
        }
        match item.targets.as_slice() {
            [only] if needs_target => self.whole(item, Some(only.clone())),
            _ if needs_target => {
                self.field = Field::Target;
                Entered::More
            }
            _ => self.whole(item, None),
        }
    }

    fn whole(&mut self, item: &Item, to: Option<String>) -> Entered {
        let word = self.word.take().unwrap_or_default();
        Entered::Whole(self.reply(item, Answer::Choice(word), to))
    }

    fn reply(&mut self, item: &Item, answer: Answer, to: Option<String>) -> Reply {
        Reply { id: item.id.clone(), answer, reason: self.reason.take(), to }
    }
}

/// Words as they are typed.
fn names(words: &[String]) -> String {
    words.iter().map(|word| named(word)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::waiting_item::sample;

    fn enter(draft: &mut Draft, item: &Item, line: &str) -> Entered {
        draft.push(line);
        draft.enter(item)
    }

    #[test]
    fn enter_alone_and_what_is_not_offered_are_no_answers() {
        for item in [sample::hold(), sample::decision()] {
            let mut draft = Draft::default();
            let other = ["", " ", "y", "C", "CONT", "approve", "deny", "_accept", "yes please"];
            for line in other.into_iter().chain(["ABORT ", " ABORT", "yes ", "\u{a0}yes"]) {
                assert!(matches!(enter(&mut draft, &item, line), Entered::Unclear(_)), "{line:?}");
            }
        }
        let (hold, decision) = (sample::hold(), sample::decision());
        for (item, line) in [(&hold, "ABRT"), (&decision, "yess")] {
            let Entered::Unclear(why) = enter(&mut Draft::default(), item, line) else { panic!() };
            assert_eq!(why, format!("type a whole word, {}", names(&item.words)));
        }
    }

    #[test]
    fn a_word_is_taken_in_any_case_where_no_other_one_is_called_so() {
        let answer = |item: &Item, line: &str| match enter(&mut Draft::default(), item, line) {
            Entered::Whole(reply) => Some(reply.answer),
            Entered::More | Entered::Unclear(_) => None,
        };
        for line in ["abort", "Abort", "ABORT"] {
            assert_eq!(answer(&sample::hold(), line), Some(Answer::Choice("ABORT".into())));
        }
        assert_eq!(answer(&sample::decision(), "YES"), Some(Answer::Choice("yes".into())));
        let words = ["a", "A"].map(String::from).to_vec();
        let alike = Item { words, ..sample::decision() };
        assert_eq!(answer(&alike, "A"), Some(Answer::Choice("A".into())));
        let words = ["Ab", "aB"].map(String::from).to_vec();
        assert_eq!(answer(&Item { words, ..sample::decision() }, "ab"), None);
    }

    #[test]
    fn what_a_word_needs_is_asked_for() {
        let (item, mut draft) = (sample::hold(), Draft::default());
        assert_eq!(enter(&mut draft, &item, "ESCALATE"), Entered::More);
        assert!(draft.prompt(&item).starts_with("reason for ESCALATE"));
        assert!(matches!(enter(&mut draft, &item, " "), Entered::Unclear(_)));
        assert_eq!(enter(&mut draft, &item, "not mine"), Entered::More);
        assert!(matches!(enter(&mut draft, &item, "eve"), Entered::Unclear(_)));
        let Entered::Whole(typed) = enter(&mut draft, &item, "on-call") else { panic!() };
        assert_eq!(
            (typed.to.as_deref(), typed.reason.as_deref()),
            (Some("on-call"), Some("not mine"))
        );
    }

    #[test]
    fn own_words_guidance_and_a_reason_are_lines_of_their_own() {
        let (item, mut draft) = (sample::decision(), Draft::default());
        assert!(draft.turn_to(Field::Text, &item).is_err());
        draft.turn_to(Field::Guidance, &item).unwrap();
        let Entered::Whole(typed) = enter(&mut draft, &item, "a smaller one") else { panic!() };
        assert_eq!(typed.answer, Answer::Guidance("a smaller one".into()));
        let mut draft = Draft::default();
        draft.turn_to(Field::Reason, &item).unwrap();
        assert_eq!(enter(&mut draft, &item, "not on a Friday"), Entered::More);
        let Entered::Whole(typed) = enter(&mut draft, &item, "no") else { panic!() };
        assert_eq!(typed.reason.as_deref(), Some("not on a Friday"));
    }

    #[test]
    fn a_pasted_line_end_gives_no_answer() {
        let (item, mut draft) = (sample::hold(), Draft::default());
        draft.push("ABORT\r\nCONTINUE\n");
        assert!(matches!(draft.enter(&item), Entered::Unclear(_)));
    }
}
