//! The short help: what fits on a screen of the program, and of each verb its common options.

use clap::Command;

/// The help of the program. `help --all` lists all verbs.
pub(crate) const PROGRAM: &str = "\
holdpoint: puts what automation does on a record, and asks a person first

  run -- CMD        run a command on the record;  --hold before  asks first
  approve, deny     answer what waits;  inbox  shows all of it
  runs, show, output, log     what ran, who said yes, what it printed
  verify, export    prove that nothing was changed; a page or file to hand on
  decision, policy, hook, mcp     questions, who may answer, agents' tools
  replay, diff, thread, copy, archive, continue, doctor, init, record, apply,
  completions

Every verb takes --log DIR, --config FILE, --json, --color WHEN and --no-pager.
  holdpoint VERB -h     the common options;  --help  all of them
  holdpoint help --all  every verb;  --version  the version
";

/// Where a log's archives lie, which it says by itself: `--help` has it.
const ARCHIVES: &str = "archive";

/// A line for each verb, below its group: the options that are left to `--help`, and two examples.
const SHORT: &str = "\
runs|after date|runs failed=true --since 2h|runs by=ada label=env=prod
show|depth format|show LOOP-71e982|show 12 --trace
output|attempt raw|output LOOP-71e982 -n 20|output LOOP-71e982 --follow
log|reverse|log -n 20 actor=ada|log -f kind=execution_loop.halted
replay|system whole|replay --at 2h|replay --at 12 --live --json
diff|whole|diff LOOP-71e982|diff 1 9 --when 'totals.faults_reported > 3'
verify|fail_fast|verify|verify --head HEAD.kept
export|force|export LOOP-71e982 --format html --output a.html|export --format csv --output a.csv
copy||copy .holdpoint kept|copy damaged mended --salvage
archive|keep_segments lock_wait|archive old --until 720h|archive old --keep-segments 2
doctor|lock_wait|doctor|doctor config
thread list|whole|thread list state=open|thread list --health
thread show|diagnostic reader lock_wait|thread show talk-1|thread show talk-1 --story";

/// The short help of a verb.
struct Short {
    verb: &'static str,
    rare: Vec<&'static str>,
    examples: Vec<String>,
}

impl Short {
    fn all() -> impl Iterator<Item = Self> {
        SHORT.lines().filter_map(|line| {
            let mut columns = line.split('|');
            let (verb, rare) = (columns.next()?, columns.next()?.split(' ').collect());
            Some(Self {
                verb,
                rare,
                examples: columns.map(|it| format!("holdpoint {it}")).collect(),
            })
        })
    }
}

/// Gives a verb, or each verb of a group, its short help.
pub(crate) fn shortened(command: Command) -> Command {
    let group = command.get_name().to_string();
    let command = of_verb(command, &group);
    command.mut_subcommands(|verb| {
        let words = format!("{group} {}", verb.get_name());
        of_verb(verb, &words)
    })
}

fn of_verb(command: Command, words: &str) -> Command {
    let Some(short) = Short::all().find(|short| short.verb == words) else { return command };
    let examples = format!("Examples:\n  {}", short.examples.join("\n  "));
    let more = command.get_after_help().map(|more| format!("{more}\n\n{examples}"));
    let is_rare = |id: &str| short.rare.contains(&id) || id == ARCHIVES;
    command
        .mut_args(|arg| {
            let is_rare = arg.get_long().is_some() && is_rare(arg.get_id().as_str());
            if is_rare { arg.hide_short_help(true) } else { arg }
        })
        .after_long_help(more.unwrap_or_else(|| examples.clone()))
        .after_help(examples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::CommandFactory;

    /// Lines and columns of a small screen.
    const ROOM: (usize, usize) = (40, 80);

    fn built() -> Command {
        let mut program = Arguments::command().term_width(ROOM.1);
        program.build();
        program
    }

    #[test]
    fn the_help_of_the_program_fits_a_screen_and_names_every_verb() {
        assert!(PROGRAM.lines().count() <= 24 && PROGRAM.lines().all(|line| line.len() <= ROOM.1));
        let words: Vec<&str> = PROGRAM.split(|c: char| !c.is_ascii_lowercase()).collect();
        for verb in built().get_subcommands() {
            assert!(words.contains(&verb.get_name()), "{}", verb.get_name());
        }
    }

    #[test]
    fn the_short_help_of_a_verb_fits_a_screen_with_two_examples_that_are_understood() {
        for short in Short::all() {
            let (mut program, mut named) = (built(), built());
            let verb = short.verb.split(' ').fold(&mut program, |command, word| {
                command.find_subcommand_mut(word).unwrap_or_else(|| panic!("{word}"))
            });
            let help = verb.render_help().to_string();
            assert!(help.lines().count() <= ROOM.0, "{}: {help}", short.verb);
            let long = verb.render_long_help().to_string();
            for option in short.rare.iter().filter(|option| !option.is_empty()) {
                let known = verb.get_arguments().any(|arg| arg.get_id().as_str() == *option);
                assert!(known, "{} {option}", short.verb);
            }
            for example in short.examples {
                assert!(help.contains(&example) && long.contains(&example), "{example}");
                let words = example.replace("'totals.faults_reported > 3'", "true");
                let read = named.try_get_matches_from_mut(words.split(' '));
                assert!(read.is_ok(), "{example}: {read:?}");
            }
        }
    }
}
