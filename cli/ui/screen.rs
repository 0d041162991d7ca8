//! What a person reads before deciding. Texts of others (agents, commands, input, people) stand
//! below a name that this program gave them, folded by columns behind a mark, so that none can
//! write into the first column. What this program says of its own stands flush left, and comes
//! last. Of a command, what begins in the first column are quotes or a word without blanks.

mod alike;
mod brief;
mod conversation;
mod folds;
mod framed;
mod glued;
mod plain;

pub(crate) use brief::{PartTexts, PromptPart, brief};
pub(crate) use conversation::{Around, Conversation};
use folds::{beginning, wrapped, wrapped_command};
use framed::{FRAME, FRAME_COLUMNS, behind, framed};
pub(crate) use plain::with_few_marks;
use plain::{columns as columns_of_character, plain, plain_once, still, still_once};
use std::io::IsTerminal;
use std::os::fd::AsFd;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// What stands before what this program says about lines that it leaves away.
const LEFT_AWAY: &str = "... ";

/// Nothing is folded narrower than this.
const COLUMNS_MIN: usize = 20;
/// How wide a terminal is that does not say so.
const COLUMNS_OF_TERMINAL: usize = 80;
/// How high a terminal is that does not say so.
const ROWS_OF_TERMINAL: usize = 24;
/// The widest and highest screen that is filled: what is drawn is held in memory, and a terminal
/// may say anything of its size.
const COLUMNS_MAX: usize = 1000;
const ROWS_MAX: usize = 500;
/// How wide lines are that no terminal shows.
const COLUMNS_OF_PIPE: usize = 100;
/// How wide a table is that nobody folds: no line of it gets so long.
const COLUMNS_UNLIMITED: usize = 1 << 30;
/// How wide the names of rows are, with the space behind them.
const NAME_COLUMNS: usize = 16;
/// From here on what goes on stands below the values; narrower, it is indented a little.
const ROOMY_COLUMNS: usize = 60;
/// How long a name may be that stands without quotes, and how much of a longer one is shown.
const NAME_CHARACTERS_MAX: usize = 64;

/// How many lines of one text are shown in full, and what has all of a longer one.
pub(crate) const LINES_MAX: usize = 1000;
pub(crate) const JSON_HAS_ALL: &str = "--json has all";

/// How wide standard output is.
pub(crate) fn columns() -> usize {
    match std::io::stdout().is_terminal() {
        true => columns_of(std::io::stdout()),
        false => columns_of_pipe(),
    }
}

/// How wide a table is whose rows are looked through where no terminal shows them: then nothing of
/// them is cut, unless a width is stated.
pub(crate) fn columns_of_table() -> usize {
    let is_terminal = std::io::stdout().is_terminal();
    if !is_terminal && stated_columns().is_none() { COLUMNS_UNLIMITED } else { columns() }
}

/// How wide standard output is, where it is a terminal: what is read elsewhere is not folded.
pub(crate) fn columns_of_screen() -> Option<usize> {
    std::io::stdout().is_terminal().then(columns)
}

/// A line of this program, of which texts of others are made visible, in lines of so many columns:
/// each behind what stands before it, the first line and the others.
pub(crate) fn folded(text: &str, before: (&str, &str), columns: usize) -> Vec<String> {
    wrapped(&plain_once(text), before, columns)
}

/// How wide lines are that are folded for stderr.
pub(crate) fn columns_of_stderr() -> usize {
    match std::io::stderr().is_terminal() {
        true => columns_of(std::io::stderr()),
        false => columns_of_pipe(),
    }
}

fn columns_of_pipe() -> usize {
    stated_columns().unwrap_or(COLUMNS_OF_PIPE).max(COLUMNS_MIN)
}

/// How wide lines are that are folded for a terminal.
pub(crate) fn columns_of(terminal: impl AsFd) -> usize {
    size_of(terminal).1.max(COLUMNS_MIN)
}

/// The rows and columns of a terminal, within bounds whatever it says of them.
pub(crate) fn size_of(terminal: impl AsFd) -> (usize, usize) {
    let size = terminal_size::terminal_size_of(terminal);
    let rows = size.map(|(_, height)| usize::from(height.0)).filter(|rows| *rows > 0);
    let columns = size.map(|(width, _)| usize::from(width.0)).filter(|columns| *columns > 0);
    let columns = columns.or_else(stated_columns).unwrap_or(COLUMNS_OF_TERMINAL);
    (rows.unwrap_or(ROWS_OF_TERMINAL).min(ROWS_MAX), columns.min(COLUMNS_MAX))
}

fn stated_columns() -> Option<usize> {
    let stated = std::env::var("COLUMNS").ok()?.parse().ok()?;
    (1..=10_000).contains(&stated).then_some(stated)
}

/// What makes a terminal plain again, whatever a command has told it: what it began to say is over,
/// its colours are its own (the palette, those of letters, ground, cursor and of what is selected),
/// out of the other screen, no margins, lines that wrap, letters that are seen and are letters; and
/// a new line below all else.
const PLAIN: &str = "\x1b\\\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\\x1b]117\x1b\\\
                     \x1b]119\x1b\\\x1b]R\x1b\\\x1b[?5l\x1b[?1047l\x1b[?47l\x1b[?69l\x1b[?6l\
                     \x1b[r\x1b[?7h\x1b[4l\x1b[?25h\x1b[0m\x1b(B\x0f\x1b[999;1H\r\n";

/// What to write to a terminal before a question, behind the output of a command.
pub(crate) fn plain_terminal() -> &'static str {
    if follows_controls() { PLAIN } else { "\r\n" }
}

/// Tells whether the terminal does what controls say, and does not show them.
fn follows_controls() -> bool {
    std::env::var("TERM").is_ok_and(|name| !name.is_empty() && name != "dumb")
}

/// Lines of at most so many columns.
#[derive(Debug)]
pub(crate) struct Page {
    columns: usize,
    lines: Vec<String>,
}

impl Page {
    /// A page without lines.
    pub(crate) fn new(columns: usize) -> Self {
        Self { columns: columns.max(COLUMNS_MIN), lines: Vec::new() }
    }

    /// The lines.
    pub(crate) fn lines(self) -> Vec<String> {
        self.lines
    }

    /// A text of somebody else, below the name that it has here.
    pub(crate) fn foreign(&mut self, name: &str, text: &str) {
        self.own(&format!("{name}:"), 2);
        self.block(text.split('\n').map(plain), LINES_MAX, JSON_HAS_ALL);
    }

    /// A text of somebody else that was made visible when it was recorded, as command lines are.
    pub(crate) fn recorded(&mut self, name: &str, text: &str) {
        self.own(&format!("{name}:"), 2);
        self.block(std::iter::once(plain_once(text)), LINES_MAX, JSON_HAS_ALL);
    }

    /// The beginning of a text of somebody else, without a name: so many lines of it at most.
    pub(crate) fn beginning(&mut self, text: &str, most_lines: usize) {
        let words = text.split_whitespace().map(plain).collect::<Vec<_>>().join(" ");
        self.begin(&words, most_lines);
    }

    /// The same of a text that was made visible when it was recorded.
    pub(crate) fn recorded_beginning(&mut self, text: &str, most_lines: usize) {
        self.begin(&plain_once(text), most_lines);
    }

    /// The beginning of a text of somebody else, made visible already, on one line below its name;
    /// the name says where that is not all.
    pub(crate) fn in_one_line(&mut self, name: &str, text: &str) {
        let room = self.columns.saturating_sub(FRAME_COLUMNS);
        let what = if width(text) > room { ", its beginning:" } else { ":" };
        self.own(&format!("{name}{what}"), 2);
        self.lines.push(marked(text, self.columns));
    }

    fn begin(&mut self, text: &str, most_lines: usize) {
        let mut lines = framed(text, self.columns);
        if lines.len() > most_lines {
            lines.truncate(most_lines);
            if let Some(last) = lines.last_mut() {
                *last =
                    format!("{} ..", beginning(last, self.columns.saturating_sub(3)).trim_end());
            }
        }
        self.lines.extend(lines);
    }

    /// Lines that a command printed, each as [`seen`], behind the mark of others' texts.
    pub(crate) fn printed(&mut self, lines: &[String]) {
        let columns = self.columns;
        let lines = lines.iter().map(|line| line.replace('\t', "    "));
        self.lines.extend(lines.flat_map(|line| framed(&line, columns)));
    }

    /// What this program says under a name. Names of others in it are [`named`].
    pub(crate) fn row(&mut self, name: &str, value: &str) {
        let text = format!("{name:<NAME_COLUMNS$}{value}");
        self.own(text.trim_end(), self.indent());
    }

    /// A sentence or a title of this program.
    pub(crate) fn sentence(&mut self, text: &str) {
        self.own(text, 2);
    }

    /// A command to copy: where it is folded, a shell takes it as one.
    pub(crate) fn command(&mut self, name: &str, words: &[String]) {
        let before = (format!("{name:<NAME_COLUMNS$}"), " ".repeat(self.indent()));
        let text = plain_once(&words.join(" "));
        self.lines.extend(wrapped_command(&text, (&before.0, &before.1), self.columns));
    }

    /// The same below a sentence, without a name.
    pub(crate) fn pasted(&mut self, command: &str) {
        self.lines.extend(wrapped_command(&plain_once(command), ("  ", "    "), self.columns));
    }

    fn indent(&self) -> usize {
        if self.columns >= ROOMY_COLUMNS { NAME_COLUMNS } else { 2 }
    }

    fn own(&mut self, text: &str, indent: usize) {
        let others = " ".repeat(indent);
        self.lines.extend(wrapped(&plain_once(text), ("", &others), self.columns));
    }

    /// Texts in their frames, at most so many lines: of more the beginning, the end, and `all`,
    /// which says where all of it is.
    fn block(&mut self, texts: impl Iterator<Item = String>, most: usize, all: &str) {
        let lines: Vec<String> = texts.flat_map(|text| framed(&text, self.columns)).collect();
        if lines.len() <= most {
            self.lines.extend(lines);
            return;
        }
        let last = (most / 4).max(1).min(most.saturating_sub(2));
        let first = most.saturating_sub(last).saturating_sub(1);
        let end = lines.len().saturating_sub(last);
        let hidden = end.saturating_sub(first);
        self.lines.extend(lines.iter().take(first).cloned());
        self.own(&format!("{LEFT_AWAY}{hidden} more lines; {all}"), 4);
        self.lines.extend(lines.into_iter().skip(end));
    }
}

/// What became of a change, in words of this program: folded on a terminal, one line elsewhere.
pub(crate) fn told(line: &str) -> Vec<String> {
    if !std::io::stdout().is_terminal() {
        return vec![plain_once(line)];
    }
    let mut page = Page::new(columns());
    page.sentence(line);
    page.lines()
}

/// A name that somebody else chose, for a row: as it is where it can be nothing but a name, else in
/// quotes, and no longer than a line.
pub(crate) fn named(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:@/+#".contains(c);
    if !name.is_empty() && name.len() <= NAME_CHARACTERS_MAX && name.chars().all(is_plain) {
        return name.to_string();
    }
    quoted(name)
}

/// Tells whether [`named`] shows the whole of a text.
pub(crate) fn fits_in_row(text: &str) -> bool {
    text.chars().nth(NAME_CHARACTERS_MAX).is_none()
}

/// The beginning of what somebody else wrote, in quotes with no end but its own.
pub(crate) fn quoted(text: &str) -> String {
    quoted_up_to(NAME_CHARACTERS_MAX, text)
}

/// The same, of so many characters.
pub(crate) fn quoted_up_to(most: usize, text: &str) -> String {
    let beginning: String = text.chars().take(most).collect();
    let more = if beginning.len() < text.len() { ".. (cut)" } else { "" };
    format!("{}{more}", plain::quoted(&beginning))
}

/// A line that a command printed, for a terminal: tabs as they are, and whatever else a terminal
/// would follow, or cannot be seen, made visible.
pub(crate) fn seen(line: &[u8]) -> String {
    let mut shown = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        let pieces: Vec<String> = chunk.valid().split('\t').map(plain).collect();
        shown.push_str(&pieces.join("\t"));
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown
}

/// The lines that a command printed, each as [`seen`].
pub(crate) fn seen_lines(printed: &[u8]) -> Vec<String> {
    let lines = printed.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| seen(line.strip_suffix(b"\n").unwrap_or(line))).collect()
}

/// A text of somebody else on one line of a table: its words, with nothing between them that moves
/// what stands beside them.
pub(crate) fn in_row(text: &str) -> String {
    still(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The same of a text that was made visible when it was recorded.
pub(crate) fn recorded_in_row(text: &str) -> String {
    still_once(text)
}

/// A text of somebody else on a line that goes on to no other.
pub(crate) fn in_line(text: &str) -> String {
    plain(text)
}

/// The same of a text that was made visible when it was recorded.
pub(crate) fn recorded_in_line(text: &str) -> String {
    plain_once(text)
}

/// The beginning of a text of others in one line of so many columns, behind the mark of such texts.
pub(crate) fn marked(text: &str, columns: usize) -> String {
    behind(FRAME, &cut(text, columns.saturating_sub(FRAME_COLUMNS)))
}

/// The beginning of a text that is wider than its room, and a sign that there is more.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_string();
    }
    let (mut beginning, mut used) = (String::new(), 2_usize);
    for character in text.chars() {
        used = used.saturating_add(columns_of_character(character));
        if used > room {
            break;
        }
        beginning.push(character);
    }
    format!("{}..", beginning.trim_end())
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns_of_character).sum()
}

fn is_mark(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Mark
}

#[cfg(test)]
mod tests {
    use super::*;
    use vt100::{Callbacks, Parser, Screen};

    /// What a command tells a terminal of its colours, by the numbers of what it sets or puts back.
    #[derive(Default)]
    struct Colours(Vec<String>);

    impl Callbacks for Colours {
        fn unhandled_osc(&mut self, _: &mut Screen, parameters: &[&[u8]]) {
            let number = parameters.first().copied().unwrap_or_default();
            self.0.push(String::from_utf8_lossy(number).into_owned());
        }
    }

    /// What an agent might write to have the last word.
    fn hostile(columns: usize) -> Vec<String> {
        let blank = |count: usize, c: &str| c.repeat(count);
        let forged = "holdpoint: approved by ada";
        let mut texts: Vec<String> = (columns - 4..=columns + 2)
            .flat_map(|count| {
                ["\u{a0}", " ", "\t", "\u{3000}", "\u{2800}", "\u{2003}"]
                    .map(|c| format!("Go?{}{forged}", blank(count, c)))
            })
            .collect();
        texts.extend([
            format!("Go?{}{forged}", blank(columns * 40, " ")),
            format!("Go?\r{forged}\r\n\u{1b}[1G{forged}\u{1b}[2J\u{1b}[H{forged}\u{9b}2J"),
            format!("\u{1b}]0;title\u{7}\u{1b}P1\u{1b}\\\u{8}\u{8}\u{8}{forged}\u{c}\u{b}\u{84}"),
            format!("{}{forged}", "\u{6587}".repeat(columns)),
            format!("x{}{forged}", "\u{6587}\u{1f600}\u{1f1e9}".repeat(columns)),
            "x".repeat(10_000),
            "\u{301}".repeat(columns * 3),
            format!("{}{forged}", "e\u{301}\u{302}\u{303}".repeat(columns)),
            format!("\u{202e}{}{forged}", "\u{5d0}\u{627} ".repeat(columns)),
            format!("{}{forged}", "\u{200d}\u{1f468}\u{fe0f}".repeat(columns)),
            "\n".repeat(5_000),
            format!("`x`{}`{forged}` `{}`", "x".repeat(columns / 2), "y".repeat(columns)),
            format!("`'{forged}, {}'", "y ".repeat(columns)),
            format!("{}{forged}", "\u{25a0}\u{3a9}\u{ff71}\u{1100}\u{1161}".repeat(columns)),
        ]);
        texts
    }

    fn emulator(rows: u16, columns: u16) -> Parser {
        Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0)
    }

    /// What a terminal of this width shows, row by row.
    fn on_terminal(lines: &[String], columns: usize) -> Vec<String> {
        let rows = u16::try_from(lines.len() + 50).unwrap();
        let mut terminal = emulator(rows, u16::try_from(columns).unwrap());
        terminal.process(lines.join("\r\n").as_bytes());
        let screen = terminal.screen();
        let shown = screen.rows(0, u16::try_from(columns).unwrap()).collect::<Vec<_>>();
        let used = shown.iter().rposition(|row| !row.is_empty()).map_or(0, |at| at + 1);
        shown.into_iter().take(used).collect()
    }

    #[test]
    fn no_text_of_others_reaches_the_first_column_or_the_last_word() {
        for columns in [20, 40, 80, 120] {
            for text in hostile(columns) {
                let mut page = Page::new(columns);
                page.foreign("prompt", &text);
                page.row("asked by", "ada");
                let lines = page.lines();
                let shown = on_terminal(&lines, columns);
                assert_eq!(shown.len(), lines.len(), "a line took two rows: {text:.60}");
                assert_eq!(shown.first().map(String::as_str), Some("prompt:"));
                assert_eq!(shown.last().map(String::as_str), Some("asked by        ada"));
                for row in &shown[1..shown.len() - 1] {
                    let is_ours = row.starts_with("... ") || row.starts_with("    ");
                    let is_framed = row.starts_with("| ") || row.starts_with("|+") || row == "|";
                    assert!(is_framed || is_ours, "{row:?}: {text:.60}");
                }
                let cuts = lines.iter().filter(|line| !line.starts_with('|')).count();
                assert!(cuts <= 6 && lines.len() <= LINES_MAX + 6, "{cuts} of {}", lines.len());
            }
        }
    }

    #[test]
    fn names_in_rows_stay_names_and_rows_stay_in_their_columns() {
        for columns in [20, 40, 80, 120] {
            for text in hostile(columns) {
                let mut page = Page::new(columns);
                page.row("asked by", &format!("{} (agent, name not proven)", named(&text)));
                page.beginning(&text, 2);
                let lines = page.lines();
                let shown = on_terminal(&lines, columns);
                let first = shown.iter().position(|row| row.starts_with('|')).unwrap();
                for row in &shown[1..first] {
                    assert!(row.starts_with("  ") || row.starts_with(" +"), "{row:?}");
                }
                assert!(shown.len() - first <= 2, "{shown:?}");
                assert!(shown[first..].iter().all(|row| row.starts_with('|')), "{shown:?}");
            }
        }
    }

    #[test]
    fn a_command_that_bent_the_terminal_bends_no_question() {
        for bent in
            ["\u{1b}[8m", "\u{1b}[?1049h", "\u{1b}[?47h", "\u{1b}[2;4r\u{1b}[?6h", "\u{1b}(0"]
        {
            let mut terminal = emulator(24, 40);
            let said = format!("out{bent}\u{1b}[3;5Hforged{PLAIN}question\r\nCONTINUE? ");
            terminal.process(said.as_bytes());
            let screen = terminal.screen();
            let rows: Vec<String> = screen.rows(0, 40).collect();
            assert_eq!(rows[22..], ["question", "CONTINUE? "].map(String::from), "{bent:?}");
            assert!(!screen.alternate_screen(), "{bent:?}");
        }
    }

    /// White letters on white, or with the palette: each is put back by what stands 100 above it.
    #[test]
    fn a_command_that_changed_the_colours_hides_no_question() {
        for begun in ["", "\u{1b}]0;title", "\u{1b}Pq", "\u{1b}_x", "\u{1b}]4;0", "\u{1b}["] {
            let size = (24.try_into().unwrap(), 40.try_into().unwrap());
            let mut terminal = Parser::new_with_callbacks(size.0, size.1, 0, Colours::default());
            let set = [4, 10, 11, 12, 17, 19].map(|number| format!("\u{1b}]{number};0;#fff\u{7}"));
            let said = format!("out{}{begun}{PLAIN}question\r\nCONTINUE? ", set.concat());
            terminal.process(said.as_bytes());
            let told = &terminal.callbacks().0;
            for number in [4, 10, 11, 12, 17, 19] {
                let back = (number + 100).to_string();
                assert!(told.contains(&number.to_string()) && told.contains(&back), "{told:?}");
            }
            let rows: Vec<String> = terminal.screen().rows(0, 40).collect();
            assert_eq!(rows[22..], ["question", "CONTINUE? "].map(String::from), "{begun:?}");
        }
    }

    #[test]
    fn what_is_left_away_is_said_and_both_ends_are_shown() {
        let mut page = Page::new(80);
        let text: Vec<String> = (0..3000).map(|line| format!("line {line}")).collect();
        page.foreign("context", &text.join("\n"));
        let lines = page.lines();
        let said = "... 2001 more lines; --json has all";
        assert_eq!(lines.iter().position(|line| line == said), Some(750));
        assert_eq!(lines.last().map(String::as_str), Some("| line 2999"));
    }

    #[test]
    fn a_command_that_is_folded_is_still_one_command() {
        let words = ["holdpoint", "decision", "respond", "DP-0123456789abcdef", "--option", "yes"];
        let mut page = Page::new(40);
        page.command("answer", &words.map(String::from));
        let lines = page.lines();
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line) <= 40), "{lines:?}");
        let copied = lines.join("\n").replacen("answer", "", 1).replace("\\\n", " ");
        assert_eq!(copied.split_whitespace().collect::<Vec<_>>(), words);
    }

    #[test]
    fn a_name_is_bare_only_where_it_can_be_nothing_else() {
        assert_eq!(named("claude-code:8f1c"), "claude-code:8f1c");
        assert_eq!(named("ada (terminal)"), "\"ada (terminal)\"");
        assert_eq!(named(""), "\"\"");
        assert!(named(&"x".repeat(65)).ends_with("x\".. (cut)"));
    }
}
