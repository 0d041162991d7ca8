//! A question as a prompt has it: the command first, and few enough lines to be read at one look.

use super::framed::framed;
use super::plain::plain;
use super::{LEFT_AWAY, Page, marked, width};

/// Lines that a command has at least: its beginning, how much is not shown, and its end.
const COMMAND_LINES: usize = 3;
/// Columns of the names of what stands below a command.
const KIND_WIDTH: usize = 10;
/// Text before a value.
const VALUE: &str = " = ";

/// A part of a question below its command: its name where there is no room for it, how early it is
/// given room, from 0, which always is, and its lines.
pub(crate) struct PromptPart(pub(crate) &'static str, pub(crate) u8, pub(crate) PartTexts);

/// The texts of a part.
pub(crate) enum PartTexts {
    /// Lines of this program.
    Own(Vec<String>),
    /// Texts of others. The short form of one ends before its last ` = `.
    Foreign(Vec<String>),
}

impl PromptPart {
    /// A row of this program; none where it has no value.
    pub(crate) fn row(columns: usize, (name, rank): (&'static str, u8), value: &str) -> Self {
        let mut page = Page::new(columns);
        (!value.is_empty()).then(|| page.row(name, value));
        Self(name, rank, PartTexts::Own(page.lines))
    }

    /// The first of these forms of a sentence that is one line, else the last one.
    pub(crate) fn sentence(
        columns: usize,
        (name, rank): (&'static str, u8),
        forms: &[String],
    ) -> Self {
        let mut page = Page::new(columns);
        let fitting = forms.iter().find(|form| width(form) <= columns);
        fitting.or(forms.last()).iter().for_each(|form| page.sentence(form));
        Self(name, rank, PartTexts::Own(page.lines))
    }

    /// The lines that it takes at least.
    const fn size(&self) -> usize {
        match &self.2 {
            PartTexts::Own(lines) => lines.len(),
            PartTexts::Foreign(texts) if texts.is_empty() => 0,
            PartTexts::Foreign(_) => 1,
        }
    }

    /// Its lines, of others at most so many.
    fn lines(&self, columns: usize, most: usize) -> Vec<String> {
        match &self.2 {
            PartTexts::Own(lines) => lines.clone(),
            PartTexts::Foreign(texts) => foreign(self.0, texts, columns, most),
        }
    }
}

/// All texts where so many lines have room for them, else as many of their short forms as do, and
/// the number of the others.
fn foreign(kind: &str, texts: &[String], columns: usize, most: usize) -> Vec<String> {
    let line = |text: &str| plain(&format!("  {kind:<KIND_WIDTH$} = {text}"));
    let framed = |text: &str| framed(&line(text), columns);
    let whole: Vec<String> = texts.iter().flat_map(|text| framed(text)).collect();
    let short: Vec<&str> =
        texts.iter().map(|text| text.rsplit_once(VALUE).map_or(&**text, |(it, _)| it)).collect();
    let some = |count: usize| match texts.len().saturating_sub(count) {
        0 => short.join(", "),
        more => format!("{} and {more} more", short.get(..count).unwrap_or_default().join(", ")),
    };
    let forms = (1..=texts.len()).rev().map(|count| framed(&some(count)));
    let counted = || match texts.len() {
        1 => some(1),
        all => format!("{all} of them"),
    };
    let fitting = std::iter::once(whole).chain(forms).find(|lines| lines.len() <= most);
    fitting.unwrap_or_else(|| vec![marked(&line(&counted()), columns)])
}

/// A question in lines of so many columns, at most so many: the command, made visible already, and
/// below it the parts for which there is room. `all` says where all of it is.
pub(crate) fn brief(
    command: &str,
    parts: &[PromptPart],
    (columns, most, all): (usize, usize, &str),
) -> Vec<String> {
    let mut page = Page::new(columns);
    let least = framed(command, page.columns).len().min(COMMAND_LINES);
    let parts: Vec<&PromptPart> = parts.iter().filter(|part| part.size() > 0).collect();
    let room = most.saturating_sub(least);
    let needed = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.size()));
    // What is left away takes a line itself.
    let mut spare = room.saturating_sub(usize::from(needed > room));
    let mut ranked = parts.clone();
    ranked.sort_by_key(|part| part.1);
    let (shown, left): (Vec<&PromptPart>, Vec<&PromptPart>) =
        ranked.into_iter().partition(|part| {
            let has_room = part.size() <= spare || part.1 == 0;
            spare = spare.saturating_sub(if has_room { part.size() } else { 0 });
            has_room
        });
    page.block(std::iter::once(command.to_string()), least.saturating_add(spare), all);
    spare = spare.saturating_add(least).saturating_sub(page.lines.len());
    let is_shown = |part: &PromptPart| shown.iter().any(|it| it.0 == part.0);
    for part in parts.into_iter().filter(|part| is_shown(part)) {
        let lines = part.lines(page.columns, part.size().saturating_add(spare));
        spare = spare.saturating_sub(lines.len().saturating_sub(part.size()));
        page.lines.extend(lines);
    }
    if !left.is_empty() {
        let names: Vec<&str> = left.iter().map(|part| part.0).collect();
        let names = format!("{LEFT_AWAY}{}: {all}", names.join(", "));
        let count = format!("{LEFT_AWAY}{} more; {all}", left.len());
        page.own(if width(&names) <= page.columns { &names } else { &count }, 4);
    }
    page.lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 9;

    fn shown(command: &str, kinds: &[(&'static str, Vec<String>)], columns: usize) -> Vec<String> {
        let own =
            PromptPart("asked by", 0, PartTexts::Own(vec!["asked by        ada".to_string(); 3]));
        let kinds = kinds
            .iter()
            .map(|(name, texts)| PromptPart(name, 1, PartTexts::Foreign(texts.clone())));
        let parts: Vec<PromptPart> = kinds.chain([own]).collect();
        brief(command, &parts, (columns, MOST, "`details` shows all"))
    }

    #[test]
    fn a_question_has_few_lines_whatever_stands_beside_its_command() {
        let names: Vec<String> = (0..60).map(|at| format!("NAME_{at}")).collect();
        let all = ["NOT bound", "program", "code", "PATH", "input", "file", "disclosed"];
        for kinds in 0..all.len() {
            for (count, words) in [(1, 1), (4, 30), (60, 900)] {
                let named = all[..kinds].iter();
                let beside: Vec<_> = named.map(|it| (*it, names[..count].to_vec())).collect();
                let command = "word ".repeat(words);
                for columns in [40, 41, 59, 60, 61, 80, 120] {
                    let lines = shown(command.trim_end(), &beside, columns);
                    assert!(lines.len() <= MOST, "{lines:#?}");
                    assert!(lines[0].starts_with("| word"), "{lines:#?}");
                    assert!(lines.iter().filter(|it| it.starts_with("asked by")).count() == 3);
                    let said = lines.iter().filter(|it| it.starts_with("|   ")).count();
                    let is_all = said >= kinds || lines.iter().any(|it| it.starts_with("... "));
                    assert!(is_all, "{kinds} {lines:#?}");
                    let is_first = lines.iter().any(|it| it.starts_with("|   NOT bound  = "));
                    assert!(is_first || kinds == 0, "{lines:#?}");
                }
            }
        }
    }

    #[test]
    fn names_for_which_there_is_no_room_are_counted() {
        let names = |count| (0..count).map(|at| format!("NAME_{at} = {at}")).collect();
        let lines = shown("true", &[("code", names(30))], 80);
        assert!(lines[1].starts_with("|   code       = NAME_0, NAME_1"), "{lines:#?}");
        assert!(lines[..6].join("").contains("NAME_29"), "{lines:#?}");
        let few = [("code", names(1))];
        assert_eq!(shown("true", &few, 80)[1], "|   code       = NAME_0 = 0");
        let lines = shown("true", &[("code", names(300))], 80);
        let said = lines[1..6].join("");
        let count = said.matches("NAME_").count();
        assert!(count > 25 && said.ends_with(&format!(" and {} more", 300 - count)), "{lines:#?}");
        let long: Vec<String> = (0..40).map(|at| "x".repeat(50 + at)).collect();
        let lines = shown(&"word ".repeat(900), &[("NOT bound", long)], 40);
        assert!(lines.contains(&"|   NOT bound  = 40 of them".to_string()), "{lines:#?}");
    }
}
