//! What an owner's document names: its headings, what its blocks of code declare, the first cells
//! of its tables, and whatever stands in its text as code.

use crate::conformance_table::has_word;

/// One of the owner's documents.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    headings: Vec<String>,
    names: Vec<String>,
}

impl Owned {
    pub(crate) fn of(text: &str) -> Self {
        let mut owned = Self::default();
        let mut language = None;
        for line in text.lines() {
            match (line.trim_start().strip_prefix("```"), language) {
                (Some(named), None) => language = Some(named.trim()),
                (Some(_), Some(_)) => language = None,
                (None, Some(language)) => owned.read_code(language, line),
                (None, None) => owned.read_line(line),
            }
        }
        owned
    }

    pub(crate) fn title(&self) -> &str {
        self.headings.first().map_or("", String::as_str)
    }

    fn read_line(&mut self, line: &str) {
        if let Some(heading) = heading(line) {
            self.headings.push(heading.to_string());
        }
        if line.starts_with("|-") {
            // What stands above this is the head of a table.
            self.names.pop();
        } else if let Some(row) = line.strip_prefix('|') {
            let first = row.split('|').next().unwrap_or("").trim();
            self.names.push(first.trim_matches(['`', '*']).to_string());
        } else {
            let code = line.split('`').skip(1).step_by(2);
            self.names.extend(code.flat_map(words).map(String::from));
        }
    }

    /// What a line declares: members and fields, functions and types, columns.
    fn read_code(&mut self, language: &str, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_name = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let declared = match (language, &words[..]) {
            ("python", [kind @ ("def" | "class"), name, ..]) => {
                let _ = kind;
                name.split(['(', ':']).next()
            }
            ("python", [name, "=", "auto()", ..]) => Some(*name),
            ("python", [name, _, ..]) => name.strip_suffix(':'),
            ("go", ["type", name, ..]) => Some(*name),
            ("go", [name, kind, ..]) if line.starts_with("    ") && is_field(kind) => Some(*name),
            ("go", [call, ..]) => call.split_once("(ctx").map(|(name, _)| name),
            ("sql", [name, "TEXT" | "INTEGER" | "DATETIME", ..]) => Some(*name),
            _ => None,
        };
        self.names.extend(declared.filter(|name| is_name(name)).map(String::from));
    }

    /// What another document lacks of this one: headings, in their order, and names.
    pub(crate) fn missing_in(&self, text: &str) -> Vec<String> {
        let mut ahead = text.lines().filter_map(heading);
        let unmet = self.headings.iter().filter(|wanted| !ahead.any(|found| found == *wanted));
        let mut missing: Vec<String> = unmet.map(|wanted| format!("heading {wanted}")).collect();
        let unnamed = self.names.iter().filter(|name| !has_word(text, name));
        missing.extend(unnamed.map(|name| format!("name {name}")));
        missing
    }
}

/// The names in a piece of code.
fn words(code: &str) -> impl Iterator<Item = &str> {
    let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.len() > 1 && word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The type of a field of a Go structure.
fn is_field(kind: &str) -> bool {
    ["string", "int", "*time.Time", "time.Time"].contains(&kind)
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let is_heading = rest.len() < line.len() && rest.starts_with(' ');
    is_heading.then(|| rest.trim())
}
