//! A question that is being answered.

use super::Place;
use super::room::{Part, at_most, help, sentences};
use crate::questions::waiting_item::Item;
use crate::ui::screen::{cut, in_row, width};
use crate::verbs::decide::inbox::draft::Draft;
use holdpoint_domain::Time;

/// Each part of the foot takes so much of the terminal's height at most.
const FOOT_PART: usize = 4;
/// From here on there is room for a line more.
const ROOMY_ROWS: usize = 12;

/// A question as it is read before it is answered: in so many columns, at a moment.
pub(crate) type Renderer = Box<dyn Fn(usize, Time) -> Vec<String>>;

/// A question that is being answered.
pub(crate) struct Opened {
    pub(crate) item: Item,
    pub(crate) shown: Renderer,
    pub(crate) draft: Draft,
    /// What became of it meanwhile.
    pub(crate) over: Option<String>,
    /// Why it is not to be seen any more as it is, where it is not: what was seen last is shown.
    pub(crate) lost: Option<String>,
    /// That its time was over when it was shown, and what follows from that.
    pub(super) late: Option<String>,
    /// What of it is seen: at first what it is about, which nothing below it pushes away.
    pub(crate) part: Part,
}

impl Opened {
    pub(crate) fn new(item: Item, shown: Renderer) -> Self {
        let (over, part) = (item.over().map(String::from), Part::BEGINNING);
        Self { item, shown, draft: Draft::default(), over, lost: None, late: None, part }
    }

    /// Whether nothing can be answered any more.
    pub(super) fn is_shut(&self) -> bool {
        self.over.is_some() || self.lost.is_some() || self.late.is_some()
    }

    pub(crate) fn place(&self) -> Place {
        Place { log: self.item.log, id: self.item.id.clone() }
    }
}

/// What stands below a question: what was said, what is asked for and what was typed, and the keys.
/// Of a low terminal most is left to the question.
pub(super) fn foot(
    opened: &Opened,
    said: Option<&String>,
    (height, columns): (usize, usize),
) -> Vec<String> {
    let most = (height / FOOT_PART).max(1);
    let over = opened.over.as_ref().map(|over| format!("it is over: {over}"));
    if let Some(why) = over.as_ref().or(opened.lost.as_ref()).or(opened.late.as_ref()) {
        let mut foot = at_most(sentences([why], columns), most.saturating_mul(2));
        if height >= ROOMY_ROWS {
            foot.push(String::new());
        }
        foot.push(help(&["Esc back", "PgUp PgDn", "? keys"], columns));
        return foot;
    }
    let mut foot = at_most(sentences(said, columns), most);
    // A low terminal has no room for both, and what was said leaves with the next key.
    let reason = opened.draft.reason().filter(|_| said.is_none() || height >= ROOMY_ROWS);
    foot.extend(reason.map(|reason| cut(&format!("reason: {}", in_row(reason)), columns)));
    foot.extend(at_most(sentences([&opened.draft.prompt(&opened.item)], columns), most));
    foot.push(typed(opened.draft.line(), columns));
    let item = &opened.item;
    let is_begun = opened.draft.is_begun();
    let keys = [
        ("Enter give", true),
        ("Esc clear", is_begun),
        ("Esc back", !is_begun),
        ("? keys", !is_begun),
        ("^O output", item.loop_id.is_some()),
        ("^R reason", true),
        ("^T own words", item.allows_text),
        ("^G guidance", item.allows_guidance),
    ];
    let keys: Vec<&str> = keys.iter().filter(|(_, is)| *is).map(|(key, _)| *key).collect();
    foot.push(help(&keys, columns));
    foot
}

/// The end of what was typed, behind a mark.
pub(super) fn typed(line: &str, columns: usize) -> String {
    let line = in_typed(line);
    let room = columns.saturating_sub(3);
    let mut end = String::new();
    for character in line.chars().rev() {
        let longer = format!("{character}{end}");
        if width(&longer) > room {
            break;
        }
        end = longer;
    }
    format!("> {end}")
}

/// What was typed, made visible, with the blanks at its end.
pub(super) fn in_typed(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(in_row).collect();
    words.join(" ")
}
