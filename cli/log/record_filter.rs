//! Which records are wanted, as a person says it, and what is said of a name that nothing has.

use crate::args::condition::{Condition, FilterFields};
use crate::log::position::Point;
use crate::log::question_look::Look;
use crate::log::records::first_wanted;
use crate::log::run_id::{expect_sound, whole};
use crate::log::{Directory, IdOf};
use crate::ui::suggest::Closest;
use crate::ui::{Exit, Failure, excerpt};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::world::REGISTRY;
use holdpoint_replay::records::is_kind;
use holdpoint_replay::{ActorFilter, Filter, NameKind, Order, TextFilter, Until, each_name};

/// Conditions on records. All must hold.
#[derive(Debug, clap::Args)]
pub(crate) struct WantedArgs {
    /// Filter by `kind`, `loop`, `decision`, `entity`, `actor`, `correlation` or `text`; all must
    /// match.
    ///
    /// A kind is one such as `execution_loop.halted`, or a system such as `execution_loop`; a
    /// decision an ID, a prefix of one, or an issue; an entity an ID of any kind, or TENANT/ID of a
    /// thread, session or work order; an actor `ada` or `HUMAN ada`. `text` matches the line or a
    /// text of the event, `itext` ignores case. Raw evidence is not searched.
    #[arg(value_name = "FIELD=VALUE", value_parser = Condition::of::<Filter>)]
    wanted: Vec<Condition>,
}

impl WantedArgs {
    /// The filter. Exit 2 where there is no such kind, 3 where there is no such decision.
    pub(crate) fn filter(self, directory: &Directory) -> Result<Filter, Failure> {
        let mut filter = Condition::put(&self.wanted, Filter::default())?;
        filter.kind.as_deref().map_or(Ok(()), expect_kind)?;
        let whole = |id: Option<String>| id.map(|id| whole(directory, id)).transpose();
        (filter.loop_id, filter.entity) = (whole(filter.loop_id)?, whole(filter.entity)?);
        if let Some(wanted) = filter.decision.take() {
            let found = decision(directory, &wanted)?;
            // Records of a hold are about its request.
            match IdOf::of(&found) {
                Some(IdOf::Request) if filter.entity.is_none() => filter.entity = Some(found),
                _ => filter.decision = Some(found),
            }
        }
        Ok(filter)
    }
}

impl FilterFields for Filter {
    const NAMES: &'static str = "kind entity loop decision actor correlation text itext";

    fn put(&mut self, field: &str, value: &str) -> Result<(), String> {
        let text = Some(value.to_string());
        match field {
            "kind" => self.kind = text,
            "entity" => self.entity = text,
            "loop" => self.loop_id = text,
            "decision" => self.decision = text,
            "actor" => self.actor = Some(actor_of(value)),
            "correlation" => self.correlation = text,
            _ => {
                let ignores_case = field == "itext";
                self.text = Some(TextFilter { text: value.to_string(), ignores_case });
            }
        }
        Ok(())
    }
}

/// Tells whether a record is there that is wanted.
fn is_any(directory: &Directory, filter: &Filter) -> Result<bool, Failure> {
    let (found, searched) = first_wanted(directory, filter, Order::NewestFirst)?;
    if found.is_none() {
        expect_sound(&searched)?;
    }
    Ok(found.is_some())
}

/// How all records are shown.
pub(crate) const SHOW_ALL: &str = "`holdpoint log` without the condition shows all";

/// That every name in a filter that gave nothing is somewhere in the log. Exit 3 where one is not;
/// the closest one is suggested, and where none is close, something else is advised.
pub(crate) fn expect_known(
    directory: &Directory,
    filter: &Filter,
    otherwise: &str,
) -> Result<(), Failure> {
    let about = |of: NameKind, wanted: &str| match of {
        NameKind::Entity => Filter { entity: Some(wanted.to_string()), ..Filter::default() },
        NameKind::Loop => Filter { loop_id: Some(wanted.to_string()), ..Filter::default() },
        NameKind::Correlation => {
            Filter { correlation: Some(wanted.to_string()), ..Filter::default() }
        }
        NameKind::Actor => Filter {
            actor: Some(ActorFilter { kind: None, id: wanted.to_string() }),
            ..Filter::default()
        },
    };
    let names = [
        (NameKind::Entity, filter.entity.as_deref(), "loop, request, decision, thread or stream"),
        (NameKind::Loop, filter.loop_id.as_deref(), "loop"),
        (NameKind::Actor, filter.actor.as_ref().map(|actor| actor.id.as_str()), "actor"),
        (NameKind::Correlation, filter.correlation.as_deref(), "story"),
    ];
    for (of, wanted, noun) in names {
        if let Some(wanted) = wanted
            && !is_any(directory, &about(of, wanted))?
        {
            let mut closest = Closest::to(wanted);
            directory.read(|storage, options| {
                each_name(storage, options, &mut |name| {
                    if name.of == of {
                        closest.take(name.name);
                    }
                })
            })?;
            let known = closest.expect(noun, otherwise);
            known.map_err(|failure| directory.or_missing(failure))?;
        }
    }
    Ok(())
}

/// The id of the decision that is meant. A round that ended long ago is in the log and no longer in
/// the state.
pub(crate) fn decision(directory: &Directory, wanted: &str) -> Result<String, Failure> {
    let about = Filter { decision: Some(wanted.to_string()), ..Filter::default() };
    if is_any(directory, &about)? {
        return Ok(wanted.to_string());
    }
    let look = Look::at(directory, Until::End)?;
    look.expect_log(directory)?;
    let found = look.state.find(wanted).map_err(|failure| directory.or_missing(failure))?;
    Ok(found.id().to_string())
}

/// `HUMAN ada`, as it is shown, or a name alone.
fn actor_of(text: &str) -> ActorFilter {
    let named = text.split_once(' ');
    let known = named.and_then(|(kind, id)| Some((Actor::from_name(kind)?, id)));
    match known {
        Some((kind, id)) => ActorFilter { kind: Some(kind), id: id.to_string() },
        None => ActorFilter { kind: None, id: text.to_string() },
    }
}

/// That there are records of such a kind, or of such a system.
fn expect_kind(wanted: &str) -> Result<(), Failure> {
    let is_known = REGISTRY.iter().any(|kind| is_kind(kind.name, wanted));
    if is_known || wanted.starts_with("kind ") {
        return Ok(());
    }
    let mut closest = Closest::to(wanted);
    for kind in REGISTRY {
        closest.take(kind.name);
        closest.take(kind.system);
    }
    let stat = "`holdpoint log --stat` shows those there are";
    closest
        .expect("kind of record", stat)
        .map_err(|failure| Failure::new(Exit::USAGE, "no_such_kind", failure.message()))
}

/// That what begins does not begin behind its end. Exit 2.
pub(crate) fn expect_order<T: PartialOrd + ToString>(
    begin: (&str, Option<T>),
    end: (&str, Option<T>),
) -> Result<(), Failure> {
    match (begin.1, end.1) {
        (Some(first), Some(last)) if first > last => {
            let (first, last) = (excerpt(&first.to_string()), excerpt(&last.to_string()));
            let message = format!(
                "{} {first} lies behind {} {last}, so that nothing can be between: exchange them",
                begin.0, end.0
            );
            Err(Failure::new(Exit::USAGE, "empty_range", message))
        }
        _ => Ok(()),
    }
}

/// The records from one place to another.
pub(crate) fn range(since: Option<Point>, until: Option<Point>) -> Result<Filter, Failure> {
    let (first, since) = since.map_or((None, None), Point::beginning);
    let (last, until) = until.map_or((None, None), Point::end);
    expect_order(("--since", first), ("--until", last))?;
    expect_order(("--since", since), ("--until", until))?;
    Ok(Filter { first, last, since, until, ..Filter::default() })
}

/// The same of two places, where both are sequences or both are times.
pub(crate) fn expect_places_in_order(
    begin: (&str, Option<Until>),
    end: (&str, Option<Until>),
) -> Result<(), Failure> {
    let (first, last) = (sequence_or_time(begin.1), sequence_or_time(end.1));
    expect_order((begin.0, first.0), (end.0, last.0))?;
    expect_order((begin.0, first.1), (end.0, last.1))
}

fn sequence_or_time(place: Option<Until>) -> (Option<u64>, Option<Timestamp>) {
    match place {
        Some(Until::Sequence(sequence)) => (Some(sequence), None),
        Some(Until::Time(time)) => (None, Some(time)),
        Some(Until::End) | None => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_named_alone_or_as_it_is_shown() {
        let ada = |kind| ActorFilter { kind, id: "ada".to_string() };
        assert_eq!(actor_of("ada"), ada(None));
        assert_eq!(actor_of("HUMAN ada"), ada(Some(Actor::Human)));
        assert_eq!(actor_of("Mr ada").id, "Mr ada");
    }

    #[test]
    fn a_kind_that_no_program_knows_is_a_mistake_and_the_closest_is_named() {
        assert!(expect_kind("execution_loop").is_ok() && expect_kind("kind 999").is_ok());
        let failure = expect_kind("execution_lop.halted").unwrap_err();
        assert!(failure.message().contains("execution_loop.halted?"), "{}", failure.message());
    }
}
