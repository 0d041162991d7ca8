//! Types and documentation of a Rust source, without what only tests are built of.

use super::count::{Comments, stripped, without_tests};

/// Participles in the place of a noun: a type says what it is.
const PARTICIPLES: [&str; 18] = [
    "Told", "Shown", "Said", "Asked", "Kept", "Stated", "Sought", "Meant", "Given", "Wanted",
    "Known", "Seen", "Found", "Named", "Made", "Drawn", "Tied", "Carried",
];
/// Words that open a clause.
const CLAUSES: [&str; 12] = [
    "what", "whether", "where", "that", "of", "who", "whoever", "which", "whose", "as", "how",
    "when",
];
const KINDS: [&str; 4] = ["struct ", "enum ", "union ", "trait "];

/// The names of the types that code without comments declares.
pub(super) fn types(code: &str) -> Vec<String> {
    without_tests(code)
        .lines()
        .filter_map(|line| declared(line.trim()))
        .filter(|name| !name.is_empty())
        .collect()
}

fn declared(line: &str) -> Option<String> {
    let item = line.strip_prefix("pub").filter(|rest| rest.starts_with([' ', '(']));
    let item = item.map_or(line, |rest| rest.split_once(' ').unwrap_or_default().1);
    let name = KINDS.iter().find_map(|kind| item.strip_prefix(kind))?;
    Some(name.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect())
}

/// Whether the last word of a type's name is a participle.
pub(super) fn is_participle(name: &str) -> bool {
    PARTICIPLES.contains(&&name[name.rfind(char::is_uppercase).unwrap_or(0)..])
}

/// The documentation of an item.
pub(super) struct Doc {
    pub(super) opens_with_clause: bool,
    /// Of a file, of what is `pub`, and of all that stands in a public enum or trait.
    pub(super) is_public: bool,
}

/// The documentation of a source, item by item.
pub(super) fn docs(source: &str) -> Vec<Doc> {
    let code = without_tests(&stripped(source, Comments::Docs));
    let mut docs = Vec::new();
    let mut end_of_public = None;
    let mut lines = code.lines().peekable();
    while let Some(line) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if end_of_public.as_deref() == Some(line) {
            end_of_public = None;
        } else if end_of_public.is_none() && opens_public(line.trim()) {
            end_of_public = Some(format!("{indent}}}"));
        }
        let Some((mark, text)) = doc(line) else { continue };
        while lines.next_if(|next| doc(next).is_some_and(|(next, _)| next == mark)).is_some() {}
        let is_public = mark == "//!" || end_of_public.is_some() || is_public(lines.clone());
        docs.push(Doc { opens_with_clause: opens_with_clause(text), is_public });
    }
    docs
}

fn doc(line: &str) -> Option<(&str, &str)> {
    let (mark, text) = line.trim_start().split_at_checked(3)?;
    (["///", "//!"].contains(&mark) && !text.starts_with('/')).then_some((mark, text))
}

fn opens_public(line: &str) -> bool {
    line.ends_with('{') && (line.starts_with("pub enum ") || line.starts_with("pub trait "))
}

/// Whether the item behind attributes is `pub`.
fn is_public<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let mut in_attribute = false;
    let mut items = lines.map(str::trim).skip_while(|line| {
        let is_attribute = in_attribute || line.starts_with("#[");
        in_attribute = is_attribute && !line.ends_with(']');
        is_attribute
    });
    items.next().is_some_and(|item| item.starts_with("pub "))
}

fn opens_with_clause(text: &str) -> bool {
    let first = text.trim_start().split(|letter: char| !letter.is_alphabetic()).next();
    first.is_some_and(|first| CLAUSES.contains(&first.to_lowercase().as_str()))
}

#[test]
fn types_are_told_from_what_looks_like_them() {
    let source = "pub struct A;\n    pub(crate) enum B { C }\n// struct D;\ntrait E {}\n\
        const F: &str = \"\nstruct G;\";\nstruct $H;\n#[cfg(test)]\nmod tests { struct I; }\n";
    assert_eq!(types(&stripped(source, Comments::None)), ["A", "B", "E"]);
    assert_eq!(
        ["Told", "RunTold", "ToldRun", "Retold"].map(is_participle),
        [true, true, false, false]
    );
}

#[test]
fn documentation_is_known_by_its_opening_and_its_item() {
    for (source, opens_with_clause, is_public) in [
        ("/// What it is.\npub fn a() {}", true, true),
        (
            "/// Returns it.\n/// What else.\n#[must_use]\n#[a(\n    b\n)]\npub fn a() {}",
            false,
            true,
        ),
        ("/// Whether.\npub(crate) fn a() {}", true, false),
        ("/// `what` it is.\nfn a() {}", false, false),
        ("/// Whatever it is.\nfn a() {}", false, false),
        ("//! How { it is.\n", true, true),
        ("pub enum A {\n    /// Of b.\n    B,\n}", true, true),
        ("enum A {\n    /// Of b.\n    B,\n}", true, false),
        ("pub enum A {\n}\n/// A's.\nfn a() {}", false, false),
    ] {
        let [doc] = &docs(source)[..] else { panic!("{source}") };
        assert_eq!(
            (doc.opens_with_clause, doc.is_public),
            (opens_with_clause, is_public),
            "{source}"
        );
    }
    assert!(
        docs("//// What?\n// What?\n#[cfg(test)]\nmod tests {\n    /// What?\n    fn a() {}\n}")
            .is_empty()
    );
}
