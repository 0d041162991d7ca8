//! The inbox over a whole terminal: what is shown, and what a key does to it. It reads nothing and
//! writes nothing; whoever shows it carries out what it asks for.

use super::draft::{Draft, Entered, Field};
use super::item::Item;
use super::rows::{Rows, SHORT_ID_CHARACTERS, lines_each, rows};
use crate::answer::Typed;
use crate::screen::{Page, cut, in_row, width};
use holdpoint_domain::Time;
use std::mem::discriminant;
use std::ops::Range;

/// So many messages are shown.
const MESSAGES_MAX: usize = 3;
/// So many sentences are shown of what cannot be known.
const PROBLEMS_MAX: usize = 2;
/// What stands before the selected question, and before everything else in the list.
const CHOSEN: &str = "> ";
const OTHER: &str = "  ";

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
    Give(Place, Typed),
}

/// A question, by its log and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) log: usize,
    pub(super) id: String,
}

/// A question as it is read before it is answered: in so many columns, at a moment.
pub(super) type Shown = Box<dyn Fn(usize, Time) -> Vec<String>>;

/// What is shown.
pub(super) enum View {
    List,
    Question(Box<Opened>),
    Output(Printed),
}

/// A question that is being answered.
pub(super) struct Opened {
    pub(super) item: Item,
    pub(super) shown: Shown,
    pub(super) draft: Draft,
    /// What became of it meanwhile.
    pub(super) over: Option<String>,
    /// How many lines of its end are below what is seen: at first all that there is no room for.
    pub(super) below: usize,
}

/// What a run printed.
pub(super) struct Printed {
    /// What each part is, in words of this program, and its lines, made visible.
    pub(super) parts: Vec<(String, Vec<String>)>,
    below: usize,
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
    messages: Vec<String>,
    /// How many lines a page has.
    page: usize,
}

/// What a terminal is to show.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) lines: Vec<String>,
    /// The lines of what is selected.
    pub(super) selected: Range<usize>,
    /// Where the next character goes: column and row.
    pub(super) cursor: Option<(usize, usize)>,
}

impl Opened {
    pub(super) fn new(item: Item, shown: Shown) -> Self {
        Self { item, shown, draft: Draft::default(), over: None, below: usize::MAX }
    }

    fn place(&self) -> Place {
        Place { log: self.item.log, id: self.item.id.clone() }
    }
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
            page: 1,
        }
    }

    /// Says something, which stays until as much was said after it, or something else is looked at.
    pub(super) fn say(&mut self, message: &str) {
        let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
        self.messages.push(words);
        let over = self.messages.len().saturating_sub(MESSAGES_MAX);
        self.messages.drain(..over);
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
    pub(super) fn say_of(&mut self, id: &str, came_to: &str) {
        let short = id.get(..SHORT_ID_CHARACTERS).unwrap_or(id);
        self.say(&format!("{short}: {came_to}"));
    }

    /// Tells that a question is over, and how.
    pub(super) fn ended(&mut self, item: &Item, ending: &str) {
        self.say_of(&item.id, ending);
        let opened = match &mut self.view {
            View::Question(opened) => Some(opened),
            View::Output(printed) => printed.back.as_mut(),
            View::List => None,
        };
        if let Some(opened) = opened.filter(|opened| opened.item.id == item.id) {
            opened.over = Some(ending.to_string());
        }
    }

    /// Shows what a run printed, and goes back from there to what is shown now.
    pub(super) fn show_output(&mut self, parts: Vec<(String, Vec<String>)>) {
        let back = match std::mem::replace(&mut self.view, View::List) {
            View::Question(opened) => Some(opened),
            View::Output(printed) => printed.back,
            View::List => None,
        };
        self.view = View::Output(Printed { parts, below: 0, back });
    }

    /// A key was pressed: what is to be done outside, if anything.
    pub(super) fn press(&mut self, key: &Key) -> Option<Action> {
        if *key == Key::Control('c') {
            return Some(Action::Quit);
        }
        let before = (self.selected, discriminant(&self.view));
        let action = match std::mem::replace(&mut self.view, View::List) {
            View::List => self.press_in_list(key),
            View::Question(opened) => self.press_in_question(opened, key),
            View::Output(printed) => {
                self.press_in_output(printed, key);
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
            Key::Escape if opened.over.is_some() || !opened.draft.step_back() => return None,
            Key::Escape => {}
            Key::Control('o') => action = Some(Action::Output(opened.place())),
            Key::PageUp => opened.below = opened.below.saturating_add(page),
            Key::PageDown => opened.below = opened.below.saturating_sub(page),
            Key::Up => opened.below = opened.below.saturating_add(1),
            Key::Down => opened.below = opened.below.saturating_sub(1),
            Key::Home => opened.below = usize::MAX,
            Key::End => opened.below = 0,
            _ if opened.over.is_some() => {}
            Key::Character(c) => opened.draft.push(c.encode_utf8(&mut [0; 4])),
            Key::Pasted(text) => opened.draft.push(text),
            Key::Backspace => opened.draft.erase(),
            Key::Control('u') => opened.draft.clear(),
            Key::Control(c) => self.turn(&mut opened, *c),
            Key::Enter => match opened.draft.enter(&opened.item) {
                Entered::More => {}
                Entered::Unclear(why) => self.say(&why),
                Entered::Whole(typed) => action = Some(Action::Give(opened.place(), typed)),
            },
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
            self.say(&why);
        }
    }

    fn press_in_output(&mut self, mut printed: Printed, key: &Key) {
        match key {
            Key::Escape | Key::Character('q') | Key::Control('o') => {
                self.view = printed.back.map_or(View::List, View::Question);
                return;
            }
            Key::PageUp => printed.below = printed.below.saturating_add(self.page),
            Key::PageDown => printed.below = printed.below.saturating_sub(self.page),
            Key::Up | Key::Character('k') => printed.below = printed.below.saturating_add(1),
            Key::Down | Key::Character('j') => printed.below = printed.below.saturating_sub(1),
            Key::Home => printed.below = usize::MAX,
            Key::End => printed.below = 0,
            Key::Character(_) | Key::Pasted(_) | Key::Control(_) => {}
            Key::Enter | Key::Backspace => {}
        }
        self.view = View::Output(printed);
    }

    /// What a terminal of so many rows and columns shows at a moment. Every line fits.
    pub(super) fn frame(&mut self, now: Time, (height, columns): (usize, usize)) -> Frame {
        let mut frame = match &mut self.view {
            View::List => list(self, now, (height, columns)),
            View::Question(opened) => {
                let lines = (opened.shown)(columns, now);
                let foot = foot(opened, &self.messages, columns);
                let (lines, page) = above(lines, &foot, height, &mut opened.below);
                self.page = page;
                let typed = lines.iter().rev().nth(1).map_or(0, |line| width(line));
                let typed = typed.min(columns.saturating_sub(1));
                let cursor = opened.over.is_none().then(|| (typed, height.saturating_sub(2)));
                Frame { lines, selected: 0..0, cursor }
            }
            View::Output(printed) => {
                let lines = output(&printed.parts, columns);
                let foot = help("Esc back  PgUp PgDn", columns);
                let (lines, page) = above(lines, &[foot], height, &mut printed.below);
                self.page = page;
                Frame { lines, selected: 0..0, cursor: None }
            }
        };
        // What is answered by stands below, and stays where there is little room.
        frame.lines.drain(..frame.lines.len().saturating_sub(height));
        frame
    }
}

/// Sentences of this program, each folded.
fn sentences<'a>(said: impl IntoIterator<Item = &'a String>, columns: usize) -> Vec<String> {
    let mut page = Page::new(columns);
    said.into_iter().for_each(|sentence| page.sentence(sentence));
    page.lines()
}

/// The newest messages that fit, in a third of the terminal.
fn newest(messages: &[String], (height, columns): (usize, usize)) -> Vec<String> {
    let most = (height / 3).max(MESSAGES_MAX);
    let mut shown: Vec<String> = Vec::new();
    for message in messages.iter().rev() {
        let mut lines = sentences([message], columns);
        if !shown.is_empty() && lines.len().saturating_add(shown.len()) > most {
            break;
        }
        lines.truncate(most);
        lines.append(&mut shown);
        shown = lines;
    }
    shown
}

fn help(keys: &str, columns: usize) -> String {
    cut(keys, columns)
}

fn list(screen: &mut Screen, now: Time, (height, columns): (usize, usize)) -> Frame {
    let waiting = screen.items.iter().filter(|item| item.waits()).count();
    let logs = format!("{} log{}", screen.known, if screen.known == 1 { "" } else { "s" });
    let title = match waiting {
        0 if !screen.problems.is_empty() => format!("nothing that waits is known in {logs}"),
        0 => format!("nothing waits in {logs}"),
        1 => format!("1 waits in {logs}"),
        _ => format!("{waiting} wait in {logs}"),
    };
    let mut head = sentences([&title], columns);
    let more = screen.problems.len().saturating_sub(PROBLEMS_MAX);
    head.extend(sentences(screen.problems.iter().take(PROBLEMS_MAX), columns));
    if more > 0 {
        head.extend(sentences([&format!("and {more} more that cannot be known")], columns));
    }
    let mut foot = newest(&screen.messages, (height, columns));
    foot.push(help("Enter open  o output  q quit", columns));
    let room = height.saturating_sub(head.len()).saturating_sub(foot.len()).max(3);
    let items: Vec<&Item> = screen.items.iter().collect();
    let narrower = columns.saturating_sub(width(CHOSEN));
    let each = lines_each(narrower);
    // One line is the titles'.
    screen.page = (room.saturating_sub(1) / each).max(1);
    let first = screen.selected.saturating_sub(screen.page / 2);
    let first = first.min(items.len().saturating_sub(screen.page));
    let seen = items.get(first..).unwrap_or_default();
    let seen = seen.get(..screen.page).unwrap_or(seen);
    let Rows { titles, rows } = rows(seen, now, narrower);
    let mut lines = head;
    if !seen.is_empty() {
        lines.push(format!("{OTHER}{titles}").trim_end().to_string());
    }
    let mut selected = 0..0;
    for (at, row) in rows.iter().enumerate() {
        let is_it = first.saturating_add(at) == screen.selected;
        let begin = lines.len();
        let mark = if is_it { CHOSEN } else { OTHER };
        let marks = std::iter::once(mark).chain(std::iter::repeat(OTHER));
        lines.extend(row.iter().zip(marks).map(|(line, mark)| format!("{mark}{line}")));
        if is_it {
            selected = begin..lines.len();
        }
    }
    lines.resize(height.saturating_sub(foot.len()).max(lines.len()), String::new());
    lines.extend(foot);
    Frame { lines, selected, cursor: None }
}

/// What stands below a question: what was said, what is asked for and what was typed, and the keys.
fn foot(opened: &Opened, messages: &[String], columns: usize) -> Vec<String> {
    let newest = messages.last();
    let mut foot = match &opened.over {
        Some(over) => sentences([&format!("it is over: {over}")], columns),
        None => sentences(newest, columns),
    };
    if opened.over.is_some() {
        foot.push(String::new());
        foot.push(help("Esc back  PgUp PgDn", columns));
        return foot;
    }
    let prompt = sentences([&opened.draft.prompt(&opened.item)], columns);
    foot.extend(prompt);
    foot.push(typed(opened.draft.line(), columns));
    let item = &opened.item;
    let is_begun = opened.draft.is_begun();
    let keys = [
        ("Enter give  Esc clear", is_begun),
        ("Enter give  Esc back", !is_begun),
        ("^O output", item.loop_id.is_some()),
        ("^R reason", true),
        ("^T own words", item.allows_text),
        ("^G guidance", item.allows_guidance),
    ];
    let keys: Vec<&str> = keys.iter().filter(|(_, is)| *is).map(|(key, _)| *key).collect();
    foot.push(help(&keys.join("  "), columns));
    foot
}

/// The end of what was typed, behind a mark.
fn typed(line: &str, columns: usize) -> String {
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
fn in_typed(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(in_row).collect();
    words.join(" ")
}

/// The lines of a text that fit above its foot, and how many those are: its end, or so many lines
/// further up.
fn above(
    text: Vec<String>,
    foot: &[String],
    height: usize,
    below: &mut usize,
) -> (Vec<String>, usize) {
    let room = height.saturating_sub(foot.len()).max(1);
    let hidden = text.len().saturating_sub(room);
    *below = (*below).min(hidden);
    let first = hidden.saturating_sub(*below);
    let mut lines: Vec<String> = text.into_iter().skip(first).take(room).collect();
    if let Some(line) = lines.first_mut().filter(|_| first > 0) {
        *line = format!("... {} lines above", first.saturating_add(1));
    }
    let shown = lines.len();
    if let Some(line) = lines.last_mut().filter(|_| *below > 0 && shown > 1) {
        *line = format!("... {} lines below", below.saturating_add(1));
    }
    lines.resize(room, String::new());
    lines.extend(foot.iter().cloned());
    (lines, room.saturating_sub(2).max(1))
}

/// What a run printed: unverified in what it says, and no part of what is decided.
fn output(parts: &[(String, Vec<String>)], columns: usize) -> Vec<String> {
    let mut page = Page::new(columns);
    for (what, lines) in parts {
        page.printed(lines);
        page.sentence(what);
    }
    page.sentence(match parts.is_empty() {
        true => "nothing that it printed is on record",
        false => "UNVERIFIED TEXT, no part of what is decided: nothing above is said by holdpoint",
    });
    page.lines()
}

#[cfg(test)]
mod tests {
    use super::super::item::sample;
    use super::*;
    use crate::golden;

    const ROWS: usize = 24;

    fn now() -> Time {
        Time::from_nanoseconds(sample::ASKED.nanoseconds() + 48_000_000_000)
    }

    fn screen() -> Screen {
        let mut screen = Screen::new();
        let items = [vec![sample::decision(), sample::hold()], sample::others()].concat();
        screen.take(items);
        screen.known = 2;
        screen.problems = vec!["/srv/old/.holdpoint is gone: name another one".to_string()];
        screen
    }

    fn opened(item: Item) -> View {
        let shown: Shown = Box::new(|columns, _| {
            let mut page = Page::new(columns);
            page.foreign("prompt", "Go?\u{1b}[2J\u{202e}\n> CONTINUE\nholdpoint: approved by ada");
            page.row("request", "REQ-f89a996314ed");
            page.lines()
        });
        View::Question(Box::new(Opened::new(item, shown)))
    }

    fn compare(name: &str, screen: &mut Screen) {
        for columns in golden::COLUMNS {
            let frame = screen.frame(now(), (ROWS, columns));
            assert_eq!(frame.lines.len(), ROWS, "{name}");
            golden::compare(name, columns, &frame.lines);
        }
    }

    fn press(screen: &mut Screen, keys: &[Key]) -> Option<Action> {
        keys.iter().fold(None, |_, key| screen.press(key))
    }

    #[test]
    fn the_list_over_a_terminal_keeps_its_columns_at_every_width() {
        let mut screen = screen();
        assert_eq!(screen.press(&Key::Down), None);
        screen.say("REQ-00: decided CONTINUE by bob");
        compare("inbox-list", &mut screen);
    }

    #[test]
    fn a_question_stands_above_what_is_typed_and_nothing_of_it_below() {
        let mut screen = screen();
        screen.view = opened(sample::hold());
        "RETR".chars().for_each(|c| drop(screen.press(&Key::Character(c))));
        compare("inbox-question", &mut screen);
        for columns in golden::COLUMNS {
            let lines = screen.frame(now(), (ROWS, columns)).lines;
            let typed = lines.iter().rposition(|line| line == "> RETR").unwrap();
            assert_eq!(typed, ROWS - 2, "{lines:#?}");
            assert_eq!(lines.iter().filter(|line| line.starts_with("> ")).count(), 1);
        }
    }

    #[test]
    fn a_question_opens_at_its_beginning_and_its_keys_say_what_escape_does() {
        let mut screen = screen();
        screen.view = opened(sample::hold());
        let frame = screen.frame(now(), (8, 20));
        assert_eq!(frame.lines[0], "prompt:", "{frame:#?}");
        let keys = |screen: &mut Screen| screen.frame(now(), (ROWS, 80)).lines[ROWS - 1].clone();
        assert!(keys(&mut screen).contains("Esc back"));
        screen.press(&Key::Character('R'));
        assert!(keys(&mut screen).contains("Esc clear"));
        screen.press(&Key::Escape);
        assert!(keys(&mut screen).contains("Esc back") && matches!(screen.view, View::Question(_)));
        screen.press(&Key::End);
        let frame = screen.frame(now(), (8, 20));
        assert!(frame.lines[0].contains("lines above"), "{frame:#?}");
        screen.press(&Key::Escape);
        assert!(matches!(screen.view, View::List));
    }

    #[test]
    fn what_a_run_printed_is_a_screen_of_its_own_that_says_so() {
        let mut screen = screen();
        screen.view = opened(sample::hold());
        let lines = ["ok\t1".to_string(), crate::screen::seen(b"\x1b[2JCONTINUE? yes\xff")];
        let what = "standard output of attempt 1, 24 B: what the command printed".to_string();
        screen.show_output(vec![(what, lines.to_vec())]);
        compare("inbox-output", &mut screen);
        screen.press(&Key::Escape);
        assert!(matches!(screen.view, View::Question(_)));
    }

    #[test]
    fn enter_alone_answers_nothing_and_a_whole_word_does() {
        let mut screen = screen();
        let at = Place { log: 0, id: sample::decision().id };
        assert_eq!(screen.press(&Key::Enter), Some(Action::Open(at.clone())));
        screen.view = opened(sample::decision());
        assert_eq!(press(&mut screen, &[Key::Enter, Key::Enter, Key::Character('y')]), None);
        assert_eq!(screen.press(&Key::Enter), None);
        let word = "yes".chars().map(Key::Character).chain([Key::Enter]).collect::<Vec<_>>();
        let Some(Action::Give(place, typed)) = press(&mut screen, &word) else { panic!() };
        assert_eq!((place, typed.word.as_deref()), (at, Some("yes")));
    }

    #[test]
    fn what_was_said_of_a_question_does_not_stand_above_another_one() {
        let said = "nothing has run yet that this asks about";
        let shows = |screen: &mut Screen| {
            screen.frame(now(), (ROWS, 80)).lines.iter().any(|line| line.contains(said))
        };
        for keys in [[Key::Down].as_slice(), &[Key::Enter], &[Key::Character('o')]] {
            let mut screen = screen();
            screen.say(said);
            assert!(shows(&mut screen));
            press(&mut screen, keys);
            assert!(!shows(&mut screen), "{keys:?}");
        }
        let mut screen = screen();
        screen.view = opened(sample::hold());
        screen.say(said);
        screen.press(&Key::PageUp);
        assert!(shows(&mut screen), "it is the same question");
        screen.press(&Key::Escape);
        assert!(!shows(&mut screen));
    }

    #[test]
    fn a_question_that_somebody_else_answered_takes_no_answer() {
        let mut screen = screen();
        screen.view = opened(sample::hold());
        screen.ended(&sample::hold(), "decided ABORT by bob");
        let word = "ABORT".chars().map(Key::Character).chain([Key::Enter]).collect::<Vec<_>>();
        assert_eq!(press(&mut screen, &word), None);
        let lines = screen.frame(now(), (ROWS, 80)).lines.join("\n");
        assert!(lines.contains("it is over: decided ABORT by bob"), "{lines}");
    }

    #[test]
    fn ten_thousand_questions_fit_any_terminal_and_each_is_reached() {
        let mut screen = screen();
        let items = (0..10_000).map(|at| Item { id: format!("REQ-{at:08}"), ..sample::hold() });
        screen.take(items.collect());
        for (rows, columns) in [(24, 80), (5, 20), (1, 20), (50, 200)] {
            screen.press(&Key::End);
            let frame = screen.frame(now(), (rows, columns));
            assert!(frame.lines.len() <= rows, "{rows} {columns}");
            assert!(frame.lines.iter().all(|line| width(line) <= columns), "{frame:#?}");
            let place = Place { log: 0, id: "REQ-00009999".to_string() };
            assert_eq!(screen.press(&Key::Enter), Some(Action::Open(place)));
            screen.press(&Key::Home);
        }
        let frame = screen.frame(now(), (24, 80));
        assert!(frame.lines.iter().any(|line| line.starts_with("> ")), "{frame:#?}");
    }

    #[test]
    fn whoever_has_chosen_a_question_stays_at_it_while_others_come_and_go() {
        let mut screen = screen();
        screen.press(&Key::Down);
        let mut items = vec![sample::others().remove(0), sample::hold()];
        screen.take(items.clone());
        let at = |item: &Item| Some(Action::Open(Place { log: 0, id: item.id.clone() }));
        assert_eq!(screen.press(&Key::Enter), at(&sample::hold()));
        items.truncate(1);
        screen.take(items.clone());
        assert_eq!(screen.press(&Key::Enter), at(&items[0]));
    }
}
