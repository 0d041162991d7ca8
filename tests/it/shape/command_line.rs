//! Every verb that does something and every long option, with those that help hides.

use clap::{Arg, Command};
use serde::Deserialize;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CommandLine {
    /// By all of its words; another name of a verb is one more.
    pub(super) verbs: BTreeSet<String>,
    /// Each name once, whichever verbs have it.
    pub(super) options: BTreeSet<String>,
}

impl CommandLine {
    pub(super) fn of(mut program: Command) -> Self {
        program.build();
        let mut all = Self::default();
        all.visit(&program, "");
        all
    }

    fn visit(&mut self, verb: &Command, words: &str) {
        self.options.extend(verb.get_arguments().flat_map(long_names));
        let below = verb.get_subcommands().filter(|verb| verb.get_name() != "help");
        let mut is_leaf = true;
        for verb in below {
            is_leaf = false;
            for name in std::iter::once(verb.get_name()).chain(verb.get_all_aliases()) {
                self.visit(verb, format!("{words} {name}").trim());
            }
        }
        if is_leaf {
            self.verbs.insert(words.into());
        }
    }
}

fn long_names(argument: &Arg) -> Vec<String> {
    let names =
        argument.get_long().into_iter().chain(argument.get_all_aliases().unwrap_or_default());
    names.map(|name| format!("--{name}")).collect()
}

#[test]
fn hidden_verbs_options_and_other_names_are_counted() {
    let argument = |name| Arg::new(name).long(name);
    let program = Command::new("holdpoint").disable_help_flag(true).disable_help_subcommand(true);
    let program = program.arg(argument("a").alias("b").hide(true)).subcommands([
        Command::new("one").alias("uno").hide(true).disable_help_flag(true),
        Command::new("two").disable_help_flag(true).disable_help_subcommand(true).subcommand(
            Command::new("three").disable_help_flag(true).arg(argument("c").visible_alias("a")),
        ),
    ]);
    let CommandLine { verbs, options } = CommandLine::of(program);
    assert_eq!(verbs, ["one", "two three", "uno"].map(String::from).into());
    assert_eq!(options, ["--a", "--b", "--c"].map(String::from).into());
}
