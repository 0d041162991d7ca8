//! The inbox over a whole terminal: what is shown, and what a key does to it. It reads nothing and
//! writes nothing; whoever shows it carries out what it asks for.

mod list;
mod question;
mod room;
#[cfg(test)]
mod tests;

use super::draft::{Entered, Field};
use super::rows::SHORT_ID_CHARACTERS;
use crate::questions::printed::{Parts, printed_lines};
use crate::questions::respond::Reply;
use crate::questions::waiting_item::Item;
use crate::ui::Page;
use crate::ui::screen::width;
use holdpoint_domain::Time;
use list::list;
use question::foot;
pub(super) use question::{Opened, Renderer};
use room::{MESSAGES_MAX, Part, above, help};
use std::mem::discriminant;
use std::ops::Range;

/// A key, as far as it means something here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    Pasted(String),
    Control(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

/// What is to be done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    /// Show this question.
    Open(Place),
    /// Show what the run of this question printed.
    Output(Place),
    Give(Place, Reply),
}

/// A question, by its log and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) log: usize,
    pub(super) id: String,
}

/// What is shown.
pub(super) enum View {
    List,
    Question(Box<Opened>),
    Output(Printed),
    /// The keys, and the question to which one goes back.
    Keys(Option<Box<Opened>>),
}

/// The meaning of a line, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// Something that presses or cannot be known.
    Warning,
    /// A question whose time is over.
    Overdue,
    /// Something that ended, titles of columns, or keys.
    Faint,
    /// A text of somebody else.
    Foreign,
}

/// What a run printed.
pub(super) struct Printed {
    parts: Parts,
    part: Part,
    /// The question from which one came here.
    back: Option<Box<Opened>>,
}

/// All of it.
pub(super) struct Screen {
    pub(super) items: Vec<Item>,
    /// How many logs were read.
    pub(super) known: usize,
    /// What cannot be known.
    pub(super) problems: Vec<String>,
    pub(super) view: View,
    selected: usize,
    /// What was said of what others did.
    messages: Vec<String>,
    /// What was said of the last key.
    reply: Option<String>,
    /// How many lines a page has.
    page: usize,
}

/// What a terminal is to show.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) lines: Vec<String>,
    /// Colours of lines, by their places.
    pub(super) tones: Vec<(usize, Tone)>,
    /// The lines of what is selected.
    pub(super) selected: Range<usize>,
    /// Where the next character goes: column and row.
    pub(super) cursor: Option<(usize, usize)>,
}

/// Keys, and what each does.
const KEYS: [(&str, &str); 9] = [
    ("arrows, k, j", "choose or scroll; PgUp, PgDn, Home, End go further"),
    ("Enter", "opens the question"),
    ("o, Ctrl-O", "shows what the run printed"),
    ("q, Ctrl-C", "ends"),
    ("a word, Enter", "answers; where that takes a person, the word that is typed next does"),
    ("Ctrl-R", "a reason, sent with the next word"),
    ("Ctrl-T, Ctrl-G", "a text; guidance, where the question takes one"),
    ("Ctrl-U", "clears what was typed"),
    ("Esc", "discards what was typed, or goes back to the list"),
];

fn keys(columns: usize) -> Vec<String> {
    let mut page = Page::new(columns);
    KEYS.iter().for_each(|(key, meaning)| page.row(key, meaning));
    page.lines()
}

impl Screen {
    pub(super) fn new() -> Self {
        Self {
            items: Vec::new(),
            known: 0,
            problems: Vec::new(),
            view: View::List,
            selected: 0,
            messages: Vec::new(),
            reply: None,
            page: 1,
        }
    }

    /// Says something, which stays until as much was said after it, or something else is looked at.
    fn say(&mut self, message: &str) {
        self.messages.push(one_line(message));
        let over = self.messages.len().saturating_sub(MESSAGES_MAX);
        self.messages.drain(..over);
    }

    /// Says what came of the last key: it leaves with the next one.
    pub(super) fn reply(&mut self, reply: &str) {
        self.reply = Some(one_line(reply));
    }

    /// Goes back to the list, and says what an answer that was given here came to.
    pub(super) fn answered(&mut self, id: &str, came_to: &str) {
        self.view = View::List;
        self.messages.clear();
        self.reply = None;
        self.say_of(id, came_to);
    }

    /// Takes what waits now. Whoever looks at a question goes on looking at that one.
    pub(super) fn take(&mut self, items: Vec<Item>) {
        let selected = self.items.get(self.selected).map(|item| (item.log, item.id.clone()));
        let at = selected
            .and_then(|(log, id)| items.iter().position(|item| item.log == log && item.id == id));
        self.selected = at.unwrap_or(self.selected).min(items.len().saturating_sub(1));
        self.items = items;
    }

    /// Says what became of a question.
    fn say_of(&mut self, id: &str, came_to: &str) {
        let short = id.get(..SHORT_ID_CHARACTERS).unwrap_or(id);
        self.say(&format!("{short}: {came_to}"));
    }

    /// Tells that a question is over, and how.
    pub(super) fn ended(&mut self, item: &Item, ending: &str) {
        self.say_of(&item.id, ending);
        if let Some(opened) = self.opened().filter(|opened| opened.item.id == item.id) {
            opened.over = Some(ending.to_string());
        }
    }

    /// The question that is looked at, or to which one goes back from here.
    pub(super) fn opened(&mut self) -> Option<&mut Opened> {
        match &mut self.view {
            View::Question(opened) => Some(opened),
            View::Output(printed) => printed.back.as_deref_mut(),
            View::Keys(back) => back.as_deref_mut(),
            View::List => None,
        }
    }

    /// Shows what a run printed, and goes back from there to what is shown now.
    pub(super) fn show_output(&mut self, parts: Parts) {
        let back = match std::mem::replace(&mut self.view, View::List) {
            View::Question(opened) => Some(opened),
            View::Output(printed) => printed.back,
            View::List | View::Keys(_) => None,
        };
        self.view = View::Output(Printed { parts, part: Part::END, back });
    }

    /// A key was pressed: what is to be done outside, if anything.
    pub(super) fn press(&mut self, key: &Key) -> Option<Action> {
        if *key == Key::Control('c') {
            return Some(Action::Quit);
        }
        self.reply = None;
        let before = (self.selected, discriminant(&self.view));
        let action = match std::mem::replace(&mut self.view, View::List) {
            View::List => self.press_in_list(key),
            View::Question(opened) => self.press_in_question(opened, key),
            View::Output(printed) => {
                self.press_in_output(printed, key);
                None
            }
            View::Keys(back) => {
                self.view = back.map_or(View::List, View::Question);
                None
            }
        };
        let is_left = before != (self.selected, discriminant(&self.view));
        if is_left || matches!(action, Some(Action::Open(_) | Action::Output(_))) {
            // What was said of what was shown is not said of something else.
            self.messages.clear();
        }
        action
    }

    fn press_in_list(&mut self, key: &Key) -> Option<Action> {
        let last = self.items.len().saturating_sub(1);
        let at = self.selected;
        let place = self.items.get(at).map(|item| Place { log: item.log, id: item.id.clone() });
        match key {
            Key::Character('q') => return Some(Action::Quit),
            Key::Enter => return place.map(Action::Open),
            Key::Character('?') => self.view = View::Keys(None),
            Key::Character('o') | Key::Control('o') => return place.map(Action::Output),
            Key::Up | Key::Character('k') => self.selected = at.saturating_sub(1),
            Key::Down | Key::Character('j') => self.selected = at.saturating_add(1).min(last),
            Key::PageUp => self.selected = at.saturating_sub(self.page),
            Key::PageDown => self.selected = at.saturating_add(self.page).min(last),
            Key::Home => self.selected = 0,
            Key::End => self.selected = last,
            Key::Character(_) | Key::Pasted(_) | Key::Control(_) | Key::Escape | Key::Backspace => {
            }
        }
        None
    }

    fn press_in_question(&mut self, mut opened: Box<Opened>, key: &Key) -> Option<Action> {
        let page = self.page;
        let mut action = None;
        match key {
            Key::Escape if opened.is_shut() || !opened.draft.step_back() => return None,
            Key::Escape => {}
            Key::Control('o') => action = Some(Action::Output(opened.place())),
            Key::Character('?') if opened.is_shut() || !opened.draft.is_begun() => {
                self.view = View::Keys(Some(opened));
                return None;
            }
            _ if opened.part.press(key, page) || opened.is_shut() => {}
            Key::Character(c) => opened.draft.push(c.encode_utf8(&mut [0; 4])),
            Key::Pasted(text) => opened.draft.push(text),
            Key::Backspace => opened.draft.erase(),
            Key::Control('u') => opened.draft.clear(),
            Key::Control(c) => self.turn(&mut opened, *c),
            Key::Enter => match opened.draft.enter(&opened.item) {
                Entered::More => {}
                Entered::Unclear(why) => self.reply(&why),
                Entered::Whole(reply) => action = Some(Action::Give(opened.place(), reply)),
            },
            Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Home | Key::End => {}
        }
        self.view = View::Question(opened);
        action
    }

    fn turn(&mut self, opened: &mut Opened, key: char) {
        let field = match key {
            't' => Field::Text,
            'g' => Field::Guidance,
            'r' => Field::Reason,
            _ => return,
        };
        if let Err(why) = opened.draft.turn_to(field, &opened.item) {
            self.reply(&why);
        }
    }

    fn press_in_output(&mut self, mut printed: Printed, key: &Key) {
        match key {
            Key::Escape | Key::Character('q') | Key::Control('o') => {
                self.view = printed.back.map_or(View::List, View::Question);
                return;
            }
            Key::Character('k') => printed.part.press(&Key::Up, self.page),
            Key::Character('j') => printed.part.press(&Key::Down, self.page),
            key => printed.part.press(key, self.page),
        };
        self.view = View::Output(printed);
    }

    /// What a terminal of so many rows and columns shows at a moment. Every line fits.
    pub(super) fn frame(&mut self, now: Time, (height, columns): (usize, usize)) -> Frame {
        let mut frame = match &mut self.view {
            View::List => list(self, now, (height, columns)),
            View::Question(opened) => {
                opened.late = opened.item.time_over(now);
                let lines = (opened.shown)(columns, now);
                let said = self.reply.as_ref().or(self.messages.last());
                let foot = foot(opened, said, (height, columns));
                let above = above(lines, (foot, columns), height, &mut opened.part);
                self.page = above.page;
                let lines = above.lines;
                let typed = lines.iter().rev().nth(1).map_or(0, |line| width(line));
                let typed = typed.min(columns.saturating_sub(1));
                let cursor = (!opened.is_shut()).then(|| (typed, height.saturating_sub(2)));
                Frame { lines, cursor, ..Frame::default() }
            }
            View::Keys(_) => {
                let mut lines = keys(columns);
                lines.resize(height.saturating_sub(1).max(lines.len()), String::new());
                lines.push(help(&["any key goes back"], columns));
                Frame { lines, ..Frame::default() }
            }
            View::Output(printed) => {
                let lines = printed_lines(&printed.parts, columns, usize::MAX);
                let foot = vec![help(&["Esc back", "PgUp PgDn"], columns)];
                let above = above(lines, (foot, columns), height, &mut printed.part);
                self.page = above.page;
                Frame { lines: above.lines, ..Frame::default() }
            }
        };
        let lines = frame.lines.iter().enumerate();
        let foreign = lines.filter(|(_, line)| line.trim_start().starts_with('|'));
        frame.tones.extend(foreign.map(|(at, _)| (at, Tone::Foreign)));
        frame.tones.push((frame.lines.len().saturating_sub(1), Tone::Faint));
        // What is answered by stands below, and stays where there is little room.
        let over = frame.lines.len().saturating_sub(height);
        frame.lines.drain(..over);
        frame.tones.retain_mut(|(at, _)| at.checked_sub(over).inspect(|to| *at = *to).is_some());
        let Range { start, end } = frame.selected;
        frame.selected = start.saturating_sub(over)..end.saturating_sub(over);
        frame
    }
}

/// A text on one line, whatever blanks it has.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
