//! Hooks that are scripts of their own around a list of decisions: the ways in which they are known
//! to guard nothing.

use super::check::Check;
use super::command::Line;
use super::hooks::HOOKS;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest script that is read, in bytes (1 MiB).
const SCRIPT_BYTES_MAX: u64 = 1 << 20;

/// What such a script asks.
const ASKS: &str = "decision list";

/// What is wrong with the script that a hook is or runs, where it asks for decisions.
pub(super) fn flaws_of(command: &str, line: &Line) -> Vec<Check> {
    let words = line.program().into_iter().chain(line.arguments());
    let files = words.filter_map(|word| read(Path::new(word)));
    std::iter::once(command.to_string()).chain(files).flat_map(|text| flaws(&text)).collect()
}

/// What is wrong with a script.
fn flaws(text: &str) -> Vec<Check> {
    if !text.contains(ASKS) {
        return Vec::new();
    }
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let code = code.join("\n");
    let mut flaws = Vec::new();
    if has_words(&code, &["exit", "1"]) {
        let message =
            "its script ends with `exit 1`, after which the host runs the tool all the same";
        flaws.push(Check::fail(HOOKS, message, "`exit 2` blocks"));
    }
    if has_words(&code, &["[", "-n"]) || has_words(&code, &["test", "-n"]) {
        let message = "its script takes any output for a pending decision: an empty list prints []";
        flaws.push(Check::fail(HOOKS, message, "compare with the empty list: != \"[]\""));
    }
    if code.contains("2>/dev/null") {
        let message = "its script throws away why the list could not be read";
        flaws.push(Check::warn(HOOKS, message, "leave stderr alone, and exit 2 when it fails"));
    }
    flaws
}

/// Whether these words stand behind one another.
fn has_words(code: &str, words: &[&str]) -> bool {
    let separated = code.replace([';', '&', '|', '(', ')', '{', '}'], " ");
    let found: Vec<&str> = separated.split_whitespace().collect();
    found.windows(words.len()).any(|window| window == words)
}

/// A script; `None` where the word names none.
fn read(file: &Path) -> Option<String> {
    if !file.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(SCRIPT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    // A program is not looked into.
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_flaws_are_found_in_scripts_that_list_decisions_and_nowhere_else() {
        let broken = "pending=$(bd decision list --json 2>/dev/null)\n\
                      if [ -n \"$pending\" ]; then exit 1; fi";
        assert_eq!(flaws(broken).len(), 3);
        let sound = "#!/bin/sh\n# never `exit 1` [ -n\n\
                     pending=$(holdpoint decision list --json) || exit 2\n\
                     [ \"$pending\" = \"[]\" ] || exit 2\n";
        assert_eq!(flaws(sound), []);
        assert_eq!(flaws("if [ -n \"$x\" ]; then exit 1; fi"), []);
        assert_eq!(flaws("decision list; exit 10"), []);
    }
}
