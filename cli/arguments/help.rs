//! The short help: what fits on a screen of the program, and of each verb its common options.

use crate::ui::screen::columns;
use clap::Command;

/// The help of the program. `help --all` lists all verbs.
pub(crate) const PROGRAM: &str = "\
holdpoint: puts what automation does on a record, and asks a person first

Record
  run -- CMD                run and record a command; --hold before asks first
  init, record, apply       a new log, an event, commands as JSON Lines
Ask and answer
  inbox, approve, deny      what waits for a person, and the answer
  decision, policy          questions and approvals; who may answer
  hook, mcp                 the tools of an agent
Look
  runs, show, output, log   what ran, who said yes, what it printed
  replay, diff, thread      the state at a point; what differs; conversations
Prove and keep
  verify, export            that nothing was changed; a page or file to hand on
  copy, archive, continue   a copy, old records moved, a cut log
Set up
  doctor, completions       what is wrong here; shells and the manual

Every verb takes --log, --config, --json, --color, --no-pager and --read-only.
  holdpoint VERB -h         the common options; --help all of them
  holdpoint help --all      every verb; --version the version
";

/// Narrower, what an option does stands below it.
const ROOMY_COLUMNS: usize = 60;

/// Tells whether the text of an option has no room beside it.
pub(crate) fn is_narrow() -> bool {
    columns() < ROOMY_COLUMNS
}

/// Directories of a log's archives, which it says by itself: `--help` has it.
const ARCHIVES: &str = "archive";

/// A line for each verb, below its group: the options that are left to `--help`, or behind `=`
/// those that are not, and two examples.
const SHORT: &str = "\
init||init|init /var/lib/holdpoint/log
run|=timeout hold approvers expires no_wait approval tty label|run -- make test|\
run --hold before --expires 1h -- ./deploy.sh
apply||apply commands.jsonl|apply --schema
record|=stream event_type correlation lines|record --stream orders/17 --type shipped order.json|\
record --stream orders --type shipped --lines orders.jsonl
inbox||inbox|inbox --add /srv/app/.holdpoint
approve|=reason yes|approve REQ-ee147a|approve DP-881e77 --reason reviewed
deny|=reason yes|deny REQ-ee147a|deny DP-881e77 --reason untested
decision create|=prompt option expires wait|\
decision create gt-42 --prompt Ship? --option y:Yes --option n:No|\
decision create --prompt Ship? --option @ways.json --wait=10m
decision list|=kind limit|decision list|decision list state=pending urgency=high
decision show||decision show DP-881e77|decision show DP-881e77 --chain
decision wait||decision wait DP-881e77 --timeout 10m|decision wait --follow
decision respond|=text guidance reason to|decision respond DP-881e77 yes|\
decision respond REQ-ee147a RETRY --reason flaky
decision cancel|=reason|decision cancel DP-881e77|decision cancel DP-881e77 --reason obsolete
decision consume||decision consume DP-881e77 --bind tool=Bash --bind input={}|\
decision consume DP-881e77 --bind tool=Bash --bind input=@call.json
decision expire||decision expire|decision expire --json
decision notify|=to reason|decision notify DP-881e77|decision notify DP-881e77 --to dave
policy show||policy show|policy show --json
policy set||policy set default=before quorum=2|policy set approvers=ada,bob --no-wait
hook|=tools wait approvers require_answer|hook pre-tool-use --tool Bash|hook session-start
mcp||mcp|mcp --requested-by planner
continue||continue .holdpoint|continue /var/lib/holdpoint/log
completions||completions bash|completions man --output man1
thread render||thread render response.json|thread render response.json --json
runs|after date|runs failed=true --since 2h|runs by=ada label=env=prod
show|depth format|show LOOP-71e982|show 12 --trace
output|attempt raw|output LOOP-71e982 -n 20|output LOOP-71e982 --follow
log|reverse|log -n 20 actor=ada|log -f kind=execution_loop.halted
replay|system whole|replay --at 2h|replay --at 12 --live --json
diff|whole|diff LOOP-71e982|diff 1 9 --when 'totals.faults_reported > 3'
verify|fail_fast|verify|verify --head HEAD.kept
export|force|export LOOP-71e982 --format html --output a.html|export --format csv --output a.csv
copy||copy .holdpoint kept|copy damaged mended --salvage
archive|keep_segments|archive old --until 720h|archive old --keep-segments 2
doctor||doctor|doctor config
thread list|whole|thread list state=open|thread list --health
thread show|diagnostic reader|thread show talk-1|thread show talk-1 --story";

/// The short help of a verb.
struct Short {
    verb: &'static str,
    options: Vec<&'static str>,
    /// True if only these options are shown, else all but these.
    shows_these: bool,
    examples: Vec<String>,
}

impl Short {
    fn all() -> impl Iterator<Item = Self> {
        SHORT.lines().filter_map(|line| {
            let mut columns = line.split('|');
            let (verb, options) = (columns.next()?, columns.next()?);
            Some(Self {
                verb,
                options: options.trim_start_matches('=').split(' ').collect(),
                shows_these: options.starts_with('='),
                examples: columns.map(|it| format!("holdpoint {it}")).collect(),
            })
        })
    }

    fn examples(&self) -> String {
        format!("Examples:\n  {}", self.examples.join("\n  "))
    }

    fn shows(&self, option: &str) -> bool {
        self.options.contains(&option) == self.shows_these && option != ARCHIVES
    }
}

/// The examples of a verb whose options are declared with the program's.
pub(crate) fn examples(verb: &str) -> String {
    Short::all().find(|short| short.verb == verb).map_or_else(String::new, |it| it.examples())
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
    let examples = short.examples();
    let more = command.get_after_help().map(|more| format!("{more}\n\n{examples}"));
    command
        .mut_args(|arg| {
            let is_rare = arg.get_long().is_some() && !short.shows(arg.get_id().as_str());
            if is_rare { arg.hide_short_help(true) } else { arg }
        })
        .after_long_help(more.unwrap_or_else(|| examples.clone()))
        .after_help(examples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use crate::arguments::usage::as_wide_as;
    use crate::golden;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    /// Lines and columns of a small screen.
    const ROOM: (usize, usize) = (40, 80);

    fn built() -> Command {
        let mut program = Arguments::command().term_width(ROOM.1);
        program.build();
        program
    }

    #[test]
    fn the_help_of_the_program_fits_a_screen_and_names_every_verb_under_a_heading() {
        assert!(PROGRAM.lines().count() <= 24 && PROGRAM.lines().all(|line| line.len() <= ROOM.1));
        for heading in ["Record", "Ask and answer", "Look", "Prove and keep", "Set up"] {
            assert!(PROGRAM.contains(&format!("\n{heading}\n  ")), "{heading}");
        }
        let words: Vec<&str> = PROGRAM.split(|c: char| !c.is_ascii_lowercase()).collect();
        for verb in built().get_subcommands() {
            assert!(words.contains(&verb.get_name()), "{}", verb.get_name());
        }
    }

    #[test]
    fn the_short_help_of_each_verb_fits_a_screen_with_two_examples_that_are_understood() {
        let verbs: Vec<String> = Short::all().map(|short| short.verb.to_string()).collect();
        assert_eq!(leaves(&built(), ""), BTreeSet::from_iter(verbs));
        for short in Short::all() {
            let (mut program, mut named) = (built(), built());
            let verb = short.verb.split(' ').fold(&mut program, |command, word| {
                command.find_subcommand_mut(word).unwrap_or_else(|| panic!("{word}"))
            });
            let help = verb.render_help().to_string();
            assert!(help.lines().count() <= ROOM.0, "{}: {help}", short.verb);
            assert!(!help.starts_with("Options of") && !help.starts_with("Usage"), "{help}");
            let long = verb.render_long_help().to_string();
            for option in short.options.iter().filter(|option| !option.is_empty()) {
                let known = verb.get_arguments().any(|arg| arg.get_id().as_str() == *option);
                assert!(known, "{} {option}", short.verb);
            }
            assert_eq!(short.examples.len(), 2, "{}", short.verb);
            for example in short.examples {
                assert!(help.contains(&example) && long.contains(&example), "{example}");
                let words = example.replace("'totals.faults_reported > 3'", "true");
                let read = named.try_get_matches_from_mut(words.split(' '));
                assert!(read.is_ok(), "{example}: {read:?}");
            }
        }
    }

    #[test]
    fn the_short_help_breaks_no_word_at_any_width() {
        for words in ["run", "decision respond", "export"] {
            for columns in [40, 80, 120] {
                let is_narrow = columns < ROOMY_COLUMNS;
                let program = Arguments::command().term_width(columns);
                let mut program = program.next_line_help(is_narrow);
                program.build();
                let verb = words
                    .split(' ')
                    .fold(&mut program, |command, word| command.find_subcommand_mut(word).unwrap());
                let help = as_wide_as(&verb.render_help().to_string(), columns);
                let lines: Vec<String> = help.lines().map(String::from).collect();
                golden::compare(&format!("help-{}", words.replace(' ', "-")), columns, &lines);
            }
        }
    }

    /// The verbs below a command that have none below them.
    fn leaves(command: &Command, group: &str) -> BTreeSet<String> {
        let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        let below = verbs.flat_map(|verb| {
            let words = format!("{group} {}", verb.get_name()).trim_start().to_string();
            match verb.has_subcommands() {
                true => leaves(verb, &words),
                false => BTreeSet::from([words]),
            }
        });
        below.collect()
    }
}
