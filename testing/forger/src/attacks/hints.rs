use super::heads::set_anchor;
use super::moved::{another, on, on_archive};
use super::places::{AttackResult, a_record_where, active_segment, first_record_of, room};
use super::{Attack, Forged, row};
use crate::chain::{Position, Reach};
use crate::derived::altered;
use crate::layout::head;
use crate::log::{File, Log, RecordAt};
use crate::pair::{LOG, Pair};
use crate::payload::{
    Archived, HISTORY_ARCHIVED, history_archived, segment_indexed, stated_archive,
};

/// The name of another directory beside the log.
const ELSEWHERE: &str = "elsewhere";

pub(super) const ATTACKS: &[Attack<Pair>] = &[
    row("hint-to-nothing", "The log says that its archive is where nothing is.", |pair, _| {
        point(pair, ELSEWHERE)
    }),
    row("hint-to-log-itself", "The log says that it is its own archive.", |pair, _| {
        point(pair, LOG)
    }),
    row(
        "hint-to-archive-of-other-log",
        "The log says that its archive is another log's that says the same.",
        |pair, _| {
            let other = pair.archive().of_other_identity();
            another(pair, ELSEWHERE, other.ok_or("it does not begin at genesis")?);
            point(pair, ELSEWHERE)
        },
    ),
    row(
        "hint-to-other-history",
        "The log says that its archive is one of another history.",
        |pair, _| {
            let first = first_record_of(pair.archive(), 0)?;
            let other = pair.archive().of_other_history(first);
            another(pair, ELSEWHERE, other.ok_or("there is no room for it")?);
            point(pair, ELSEWHERE)
        },
    ),
    row(
        "hint-to-forged-copy",
        "The log says that its archive is a copy of it in which a record was forged.",
        |pair, v| {
            let mut copy = pair.archive().clone();
            on(&mut copy, v, "forge-payload-and-link")?;
            another(pair, ELSEWHERE, copy);
            point(pair, ELSEWHERE)
        },
    ),
    row(
        "hint-once-more-elsewhere",
        "The log states its anchor once more, with a directory where nothing is.",
        |pair, _| once_more(pair, |stated| stated.to = ELSEWHERE.to_owned()),
    ),
    row(
        "archived-statement-once-more-of-other-link",
        "The log states its anchor once more, with another link.",
        |pair, _| once_more(pair, |stated| stated.link[0] ^= 1),
    ),
    row(
        "archived-statement-of-other-state",
        "The state at the log's anchor was forged, and the log chained anew with HEAD.",
        |pair, _| {
            state(pair.log_mut(), |stated| {
                stated.state = altered(&stated.state).unwrap_or_default();
            })
        },
    ),
    row(
        "archived-statement-of-other-link",
        "The statement of the log's anchor has another link, and the log was chained anew.",
        |pair, _| state(pair.log_mut(), |stated| stated.link[0] ^= 1),
    ),
    row(
        "archived-statement-of-other-anchor",
        "The statement of the log's anchor names another record, and the log was chained anew.",
        |pair, _| state(pair.log_mut(), |stated| stated.anchor -= 1),
    ),
    row(
        "archived-anchor-of-other-link",
        "The log's HEAD has an anchor of another link.",
        |pair, v| on(pair.log_mut(), v, "anchor-of-other-link"),
    ),
    row("archived-anchor-back", "The log's HEAD has an earlier anchor.", anchor_back),
    row(
        "archived-anchor-at-nothing",
        "The log's HEAD says that it begins at its beginning.",
        |pair, _| {
            let genesis = crate::link::genesis(&pair.log().segment(0).log());
            set_anchor(pair.log_mut(), &Position { sequence: 0, link: genesis, time: 0 })
        },
    ),
    row(
        "archived-anchor-moved-on",
        "The log's HEAD has a later anchor, and the segments before it are gone.",
        |pair, v| on(pair.log_mut(), v, "anchor-with-segments-removed"),
    ),
    row(
        "archived-index-lies-with-statement",
        "An archived segment's index leaves out a term, and the log states its digest.",
        |pair, v| index_with_statement(pair, v, "index-without-term"),
    ),
    row(
        "archived-index-of-no-terms-with-statement",
        "An archived segment's index has no terms, and the log states its digest.",
        |pair, v| index_with_statement(pair, v, "index-of-no-terms"),
    ),
];

fn point(pair: &mut Pair, to: &str) -> Forged {
    state(pair.log_mut(), |stated| stated.to = to.to_owned())
}

/// What the log says of where its first records are.
fn statement(log: &Log) -> AttackResult<(RecordAt, Archived)> {
    let head = log.head().ok_or("there is no HEAD")?;
    let (anchor, link) = (head.number(head::ANCHOR_SEQUENCE), head.array(head::ANCHOR_LINK));
    let at = a_record_where(log, 2, |at| log.record(at).kind() == HISTORY_ARCHIVED)?;
    let stated = stated_archive(&log.record(at).payload, anchor, link);
    Ok((at, stated.ok_or("nothing states the anchor")?))
}

/// Lets the log say something else of it, and chains it anew with HEAD.
pub(super) fn state(log: &mut Log, change: impl FnOnce(&mut Archived)) -> Forged {
    let (at, mut stated) = statement(log)?;
    change(&mut stated);
    log.record_mut(at).set_payload(history_archived(&stated).payload);
    room(log.remake(at, Reach::Log))?;
    log.head_follows();
    Ok(())
}

/// Lets the log say something else of it once more, behind its newest record.
fn once_more(pair: &mut Pair, change: impl FnOnce(&mut Archived)) -> Forged {
    let (_, mut stated) = statement(pair.log())?;
    change(&mut stated);
    active_segment(pair.log())?;
    pair.log_mut().append(&[history_archived(&stated)]);
    pair.log_mut().head_follows();
    Ok(())
}

fn anchor_back(pair: &mut Pair, _: u64) -> Forged {
    let last = pair.archive().segments().len().saturating_sub(1);
    let anchor = pair.archive().before(first_record_of(pair.archive(), last)?);
    set_anchor(pair.log_mut(), &anchor)
}

fn index_with_statement(pair: &mut Pair, variant: u64, lie: &str) -> Forged {
    let before = pair.archive().clone();
    on_archive(pair, variant, lie)?;
    let archive = pair.archive();
    let changed = archive.files.iter().find(|(path, file)| before.files.get(*path) != Some(file));
    let Some((path, File::Index(index))) = changed else { return Err("no index was changed") };
    let segment = archive.files.get(&path.replace(".idx", ".seg")).and_then(File::segment);
    let segment = segment.ok_or("the index is no segment's")?;
    let last = segment.last_record().ok_or("the segment has no record")?.sequence();
    let version = crate::index::VERSION;
    let told = segment_indexed(segment.first_sequence(), last, version, &index.digest());
    active_segment(pair.log())?;
    pair.log_mut().append(&[told]);
    pair.log_mut().head_follows();
    Ok(())
}
