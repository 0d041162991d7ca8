//! The domain's own source files, for what is promised of how they are written.

use std::fs;
use std::path::Path;

/// One file below `src`.
pub(crate) struct Source {
    /// Its path below `src`.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

impl Source {
    /// The system that the file belongs to, or `core`, `governed`, `world`; `lib` for the root.
    pub(crate) fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap();
        first.trim_end_matches(".rs")
    }

    /// The file's name; that of its folder for a `mod.rs`.
    pub(crate) fn part(&self) -> &str {
        let last = self.path.rsplit('/').next().unwrap().trim_end_matches(".rs");
        if last == "mod" { self.module() } else { last }
    }

    /// Its lines of code up to its own tests.
    pub(crate) fn code(&self) -> impl Iterator<Item = &str> {
        let lines = self.text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        lines.filter(|line| !line.trim_start().starts_with("//"))
    }
}

/// Every source file, by path.
pub(crate) fn all() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    collect(&root, &root, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.push(Source { path, text });
        }
    }
}

/// The names in a text that may be those of types. What a line begins with is a variant.
pub(crate) fn type_names(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).skip(1));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The definition of a struct or an enum. Text, lists and raw bytes are what definitions are made
/// of, and have none themselves. A body stands in the macro that declares it, without `pub struct`.
pub(crate) fn definition<'a>(sources: &'a [Source], name: &str) -> Option<&'a str> {
    let made = sources.iter().filter(|source| source.path != "core/payload.rs");
    made.map(|source| source.text.as_str()).find_map(|text| {
        let declared = ["pub struct ", "pub enum "].map(|kind| format!("{kind}{name} {{"));
        let in_macro = format!("    {name} {{\n        ///");
        declared.into_iter().chain([in_macro]).find_map(|beginning| {
            let start = text.find(&beginning)?;
            let start = start + beginning.len() - beginning.trim_start().len();
            let indent = start - text[..start].rfind('\n')? - 1;
            let end = text[start..].find(&format!("\n{}}}", " ".repeat(indent)))?;
            Some(&text[start..start + end])
        })
    })
}
