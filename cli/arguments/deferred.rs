//! Options of a verb that are declared only where the verb is named: declaring those of all verbs
//! takes a third of the processor time of a short run.

use crate::arguments::help::shortened;
use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

/// The options of a verb, or the verbs of a group.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }

    fn update_from_arg_matches_mut(&mut self, matches: &mut ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches_mut(matches)
    }
}

/// Declares the options of a verb, whose summary stands with the verb and not with its options.
fn declared(verb: Command, declare: fn(Command) -> Command) -> Command {
    let (about, long) = (verb.get_about().cloned(), verb.get_long_about().cloned());
    shortened(declare(verb).about(Resettable::from(about)).long_about(Resettable::from(long)))
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(verb: Command) -> Command {
        verb.defer(|verb| declared(verb, T::augment_args))
    }

    fn augment_args_for_update(verb: Command) -> Command {
        verb.defer(T::augment_args_for_update)
    }
}

impl<T: Subcommand> Subcommand for Deferred<T> {
    fn augment_subcommands(group: Command) -> Command {
        group.defer(|group| shortened(T::augment_subcommands(group)))
    }

    fn augment_subcommands_for_update(group: Command) -> Command {
        group.defer(T::augment_subcommands_for_update)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}
