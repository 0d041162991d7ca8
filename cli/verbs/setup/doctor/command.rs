//! The command line of a hook, as a shell takes it apart. What a shell would work out is left as it
//! is, but for the directory of the project.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What may stand behind the program: it turns every failure into a block.
const BLOCKS_ON_FAILURE: [&str; 3] = ["|| exit 2", "||exit 2", "|| { cat >/dev/null; exit 2; }"];
/// The same with words on stderr, without which some hosts run the tool all the same. `cat` reads
/// what a program that is not there did not.
const SAYS_SO: [(&str, &str); 2] =
    [("|| { echo '", "' >&2; exit 2; }"), ("|| { cat >/dev/null; echo '", "' >&2; exit 2; }")];

/// How the host names the directory of the project.
const PROJECT: [&str; 2] = ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"];

/// A command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    words: Vec<String>,
    /// What follows the first command, and decides over the exit code.
    pub(super) rest: String,
    /// What becomes of a program that cannot be started or fails.
    pub(super) on_failure: OnFailure,
}

/// What a command line says of a program that cannot be started or fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// Nothing: its exit code stands.
    Nothing,
    /// Exit 2.
    Blocks,
    /// Exit 2, and something on stderr.
    BlocksAndSaysSo,
}

impl Line {
    /// Takes a command line apart.
    pub(super) fn split(command: &str) -> Self {
        let (bare, on_failure) = without_end(command.trim());
        let mut words = Words::default();
        let mut rest = String::new();
        let mut characters = bare.chars();
        while let Some(character) = characters.next() {
            if !words.take(character) {
                rest = std::iter::once(character).chain(characters).collect();
                break;
            }
        }
        Self { words: words.finish(), rest: rest.trim().to_string(), on_failure }
    }

    /// The program, behind the variables that are set for it.
    pub(super) fn program(&self) -> Option<&str> {
        self.words_of_program().next().map(String::as_str)
    }

    /// The variables that are set for the program, by name.
    pub(super) fn settings(&self) -> Vec<&str> {
        let ends_at = self.words.len().saturating_sub(self.words_of_program().count());
        let settings = self.words.iter().take(ends_at);
        settings.filter_map(|word| word.split_once('=')).map(|(name, _)| name).collect()
    }

    /// The words behind the program.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.words_of_program().skip(1).map(String::as_str)
    }

    /// The words from `holdpoint` on, where that is the program.
    pub(super) fn of_holdpoint(&self) -> Option<Vec<String>> {
        let name = Path::new(self.program()?).file_name()?;
        (name == "holdpoint").then(|| self.words_of_program().cloned().collect())
    }

    fn words_of_program(&self) -> impl Iterator<Item = &String> {
        let is_setting = |word: &&String| {
            let name = word.split_once('=').map_or("", |(name, _)| name);
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        self.words.iter().skip_while(is_setting)
    }
}

/// A command line without what turns failures into a block.
fn without_end(command: &str) -> (&str, OnFailure) {
    let bare = BLOCKS_ON_FAILURE.iter().find_map(|end| command.strip_suffix(end));
    if let Some(bare) = bare {
        return (bare, OnFailure::Blocks);
    }
    let said = SAYS_SO.iter().find_map(|(before, behind)| {
        command.strip_suffix(behind).and_then(|command| command.rsplit_once(before))
    });
    match said.filter(|(_, words)| !words.is_empty() && !words.contains('\'')) {
        Some((bare, _)) => (bare, OnFailure::BlocksAndSaysSo),
        None => (command, OnFailure::Nothing),
    }
}

/// Words while they are read.
#[derive(Default)]
struct Words {
    words: Vec<String>,
    word: Option<String>,
    quote: Option<char>,
    is_escaped: bool,
}

impl Words {
    /// Takes a character. False: the first command ends before it.
    fn take(&mut self, character: char) -> bool {
        let is_literal = std::mem::take(&mut self.is_escaped);
        match (self.quote, character) {
            _ if is_literal => self.push(character),
            (None | Some('"'), '\\') => self.is_escaped = true,
            (Some(quote), _) if character == quote => self.quote = None,
            (Some(_), _) => self.push(character),
            (None, '\'' | '"') => {
                self.quote = Some(character);
                self.word.get_or_insert_default();
            }
            (None, ' ' | '\t') => self.words.extend(self.word.take()),
            (None, ';' | '&' | '|' | '<' | '>' | '`' | '(' | ')' | '\n') => return false,
            (None, _) => self.push(character),
        }
        true
    }

    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().push(character);
    }

    fn finish(mut self) -> Vec<String> {
        self.words.extend(self.word.take());
        let here = env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
        let expanded = |word: &String| {
            PROJECT.iter().fold(word.clone(), |word, name| word.replace(name, &here))
        };
        self.words.iter().map(expanded).collect()
    }
}

/// Whether a program can be started: by its path, or from a directory of PATH.
pub(super) fn is_executable(program: &str) -> bool {
    if program.contains('/') {
        return may_run(Path::new(program));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder: PathBuf| may_run(&folder.join(program)))
}

fn may_run(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_taken_apart_as_a_shell_does() {
        let table: [(&str, &[&str], &str); 11] = [
            ("holdpoint hook stop", &["holdpoint", "hook", "stop"], ""),
            (" A=1  holdpoint\thook ", &["holdpoint", "hook"], ""),
            (
                r#""/a b/holdpoint" --log 'c d' "" \"e"#,
                &["/a b/holdpoint", "--log", "c d", "", "\"e"],
                "",
            ),
            ("holdpoint hook stop || exit 2", &["holdpoint", "hook", "stop"], ""),
            (
                "holdpoint hook stop || { echo 'it failed' >&2; exit 2; }",
                &["holdpoint", "hook", "stop"],
                "",
            ),
            (
                "holdpoint hook stop || { cat >/dev/null; exit 2; }",
                &["holdpoint", "hook", "stop"],
                "",
            ),
            (
                "holdpoint hook stop || { cat >/dev/null; echo 'it failed' >&2; exit 2; }",
                &["holdpoint", "hook", "stop"],
                "",
            ),
            ("holdpoint hook stop || true", &["holdpoint", "hook", "stop"], "|| true"),
            ("holdpoint hook stop; exit 0", &["holdpoint", "hook", "stop"], "; exit 0"),
            ("holdpoint hook stop 2>/dev/null", &["holdpoint", "hook", "stop", "2"], ">/dev/null"),
            ("", &[], ""),
        ];
        for (command, words, rest) in table {
            let line = Line::split(command);
            let found: Vec<&str> = line.program().into_iter().chain(line.arguments()).collect();
            assert_eq!((found.as_slice(), line.rest.as_str()), (words, rest), "{command}");
        }
    }

    #[test]
    fn the_project_is_where_one_is_and_only_holdpoint_is_holdpoint() {
        let line = Line::split("holdpoint --log \"$CLAUDE_PROJECT_DIR/.holdpoint\" hook stop");
        let log = line.of_holdpoint().unwrap().get(2).cloned().unwrap();
        assert_eq!(Path::new(&log), env::current_dir().unwrap().join(".holdpoint"));
        assert_eq!(Line::split("holdpoints hook stop").of_holdpoint(), None);
        let set = Line::split("PATH=/x A= holdpoint --log a=b hook stop");
        assert_eq!(set.settings(), ["PATH", "A"]);
    }
}
