use super::places::{
    AttackResult, a_record_where, a_sealed_segment, active_segment, mixed, pick, put, room,
};
use super::{Attack, Forged, row};
use crate::append::Fact;
use crate::block::number;
use crate::chain::Reach;
use crate::derived::alter;
use crate::index::{self, Index, LINKS, OFFSETS, ROWS, TIMES};
use crate::layout;
use crate::log::{File, Log};
use crate::payload;

pub(super) const ATTACKS: &[Attack] = &[
    row(
        "index-without-term",
        "A term was taken out of an index, all its digests made anew.",
        |log, v| lie(log, v, without_term),
    ),
    row(
        "index-without-record",
        "A record was taken out of every list of an index, all its digests made anew.",
        |log, v| lie(log, v, without_record),
    ),
    row(
        "index-of-no-terms",
        "All terms were taken out of an index, all its digests made anew.",
        |log, v| lie(log, v, without_terms),
    ),
    row(
        "index-of-other-offset",
        "A record of an index lies where its neighbour does, all its digests made anew.",
        |log, v| lie(log, v, other_offset),
    ),
    row(
        "index-of-other-times",
        "The times of an index are a day late, all its digests made anew.",
        |log, v| lie(log, v, other_times),
    ),
    row(
        "index-of-other-link",
        "An index names another last link, its checksum made anew.",
        |log, v| lie(log, v, other_link),
    ),
    row(
        "index-of-other-links",
        "A link that an index states is another one, all its digests made anew.",
        |log, v| lie(log, v, other_links),
    ),
    row(
        "index-of-other-segment",
        "An index was replaced by that of another segment.",
        of_other_segment,
    ),
    row(
        "index-lies-with-statement",
        "An index lost a term, and the chain states its new digest; HEAD follows.",
        |log, v| lies_with_statement(log, v, without_term),
    ),
    row(
        "index-of-no-terms-with-statement",
        "An index lost all its terms, and the chain states its new digest; HEAD follows.",
        |log, v| lies_with_statement(log, v, without_terms),
    ),
    row(
        "index-of-no-keys-with-statement",
        "An index lost all its keys, and the chain states its new digest; HEAD follows.",
        |log, v| lies_with_statement(log, v, without_keys),
    ),
    row(
        "index-of-other-offset-with-statement",
        "A record of an index lies elsewhere, and the chain states its new digest; HEAD follows.",
        |log, v| lies_with_statement(log, v, other_offset),
    ),
    row(
        "index-of-other-links-with-statement",
        "An index states another link, and the chain states its digest; HEAD follows.",
        |log, v| lies_with_statement(log, v, other_links),
    ),
    row(
        "index-of-forged-segment-with-statement",
        "A segment was forged with its index, which the chain states once more; HEAD follows.",
        of_forged_segment,
    ),
    row(
        "index-of-forged-segment-with-other-statement",
        "A segment was forged with its index and the statement on it; from there on all is anew.",
        of_forged_segment_alone,
    ),
    row(
        "index-of-no-terms-with-other-statement",
        "An index lost all its terms, and its own statement says so; from there on all is anew.",
        |log, v| lies_with_other_statement(log, v, without_terms),
    ),
    row(
        "index-of-no-rows-with-other-statement",
        "An index lost all its rows, and its own statement says so; from there on all is anew.",
        |log, v| lies_with_other_statement(log, v, without_rows),
    ),
    row(
        "index-statement-false",
        "The chain states a false digest of an index; HEAD follows.",
        statement_false,
    ),
    row(
        "index-statement-false-without-head",
        "The chain states a false digest of an index; HEAD stayed.",
        statement_without_head,
    ),
    row(
        "index-statement-true-then-false",
        "The chain states the true and then a lying index, which is there.",
        true_then_false,
    ),
    row(
        "index-statement-false-then-true",
        "The chain states a lying and then the true index; the lying one is there.",
        false_then_true,
    ),
    row(
        "index-statement-of-other-range",
        "The chain states the true digest for other records.",
        other_range,
    ),
    row(
        "index-statement-of-future",
        "The chain states an index of records that are not there yet.",
        future,
    ),
];

/// How an index is made to lie.
type Change = fn(&mut Index, u64) -> Forged;

/// A sealed segment's place, the path of its index, and the index.
fn an_index(log: &Log, variant: u64) -> AttackResult<(usize, String, Index)> {
    let segment = a_sealed_segment(log, variant)?;
    let path = index::path(log.segment(segment).first_sequence());
    match log.files.get(&path) {
        Some(File::Index(index)) => Ok((segment, path, index.clone())),
        _ => Err("the segment has no index"),
    }
}

fn lie(log: &mut Log, variant: u64, change: Change) -> Forged {
    let (_, path, mut index) = an_index(log, variant)?;
    change(&mut index, variant)?;
    put(log, &path, File::Index(index));
    Ok(())
}

fn without_term(index: &mut Index, variant: u64) -> Forged {
    let mut terms = index.terms().ok_or("the table of terms does not hold")?;
    let place = pick(variant, terms.len()).ok_or("the index has no term")?;
    let hash = *terms.keys().nth(place).ok_or("the index has no term")?;
    terms.remove(&hash);
    index.set_terms(&terms).ok_or("the sections do not hold")
}

fn without_record(index: &mut Index, variant: u64) -> Forged {
    let mut terms = index.terms().ok_or("the table of terms does not hold")?;
    let numbers: std::collections::BTreeSet<u64> = terms.values().flatten().copied().collect();
    let place = pick(variant, numbers.len()).ok_or("no record has a term")?;
    let number = numbers.into_iter().nth(place);
    for list in terms.values_mut() {
        list.retain(|one| Some(*one) != number);
    }
    terms.retain(|_, list| !list.is_empty());
    index.set_terms(&terms).ok_or("the sections do not hold")
}

fn without_terms(index: &mut Index, _: u64) -> Forged {
    index.set_terms(&index::Table::new()).ok_or("the sections do not hold")
}

fn without_keys(index: &mut Index, _: u64) -> Forged {
    let is_empty = index.keys().is_none_or(|keys| keys.is_empty());
    (!is_empty).then_some(()).ok_or("the index has no key")?;
    index.set_keys(&index::Table::new()).ok_or("the sections do not hold")
}

fn without_rows(index: &mut Index, _: u64) -> Forged {
    let rows = index.section(ROWS).ok_or("the sections do not hold")?;
    let none = vec![0; 8];
    (rows != none).then_some(()).ok_or("the index has no row")?;
    index.replace(ROWS, none).ok_or("the sections do not hold")
}

fn other_offset(index: &mut Index, variant: u64) -> Forged {
    let mut offsets = index.section(OFFSETS).ok_or("the sections do not hold")?;
    let count = offsets.len() / 4 - 1;
    let at = pick(variant, count).ok_or("the index is of one record")? * 4;
    let next: [u8; 4] = offsets[at + 4..at + 8].try_into().map_err(|_| "four bytes are four")?;
    offsets[at..at + 4].copy_from_slice(&next);
    index.replace(OFFSETS, offsets).ok_or("the sections do not hold")
}

fn other_times(index: &mut Index, _: u64) -> Forged {
    const DAY_NS: u64 = 86_400_000_000_000;
    let times = index.section(TIMES).ok_or("the sections do not hold")?;
    let late = times.chunks_exact(8).map(|time| number(time) + DAY_NS);
    let late = late.flat_map(u64::to_le_bytes).collect();
    index.replace(TIMES, late).ok_or("the sections do not hold")
}

fn other_link(index: &mut Index, variant: u64) -> Forged {
    index.header.flip(layout::index::LAST_LINK, mixed(variant));
    crate::checksum::remake_of_block(&mut index.header);
    Ok(())
}

fn other_links(index: &mut Index, variant: u64) -> Forged {
    let mut links = index.section(LINKS).ok_or("the sections do not hold")?;
    let at = pick(variant, links.len()).ok_or("the index states no link")?;
    links[at] ^= 1;
    index.replace(LINKS, links).ok_or("the sections do not hold")
}

fn of_other_segment(log: &mut Log, variant: u64) -> Forged {
    let (segment, path, _) = an_index(log, variant)?;
    let others = (0..log.segments().len()).filter(|place| *place != segment);
    let of_others = others.map(|place| index::path(log.segment(place).first_sequence()));
    let other = of_others.filter_map(|path| log.files.get(&path)).next();
    let other = other.ok_or("no other segment has an index")?.clone();
    put(log, &path, other);
    Ok(())
}

/// What the chain says of an index that is what it says.
fn statement(log: &Log, segment: usize, digest: &[u8; 32]) -> AttackResult<Fact> {
    let segment = log.segment(segment);
    let last = segment.last_record().ok_or("the segment has no record")?.sequence();
    Ok(payload::segment_indexed(segment.first_sequence(), last, index::VERSION, digest))
}

fn state(log: &mut Log, facts: &[Fact]) -> Forged {
    active_segment(log)?;
    for fact in facts {
        log.append(std::slice::from_ref(fact));
    }
    Ok(())
}

fn lies_with_statement(log: &mut Log, variant: u64, change: Change) -> Forged {
    lie(log, variant, change)?;
    let (segment, _, index) = an_index(log, variant)?;
    let told = statement(log, segment, &index.digest())?;
    state(log, &[told])?;
    log.head_follows();
    Ok(())
}

fn of_forged_segment(log: &mut Log, variant: u64) -> Forged {
    let (segment, _, forged) = forge_with_index(log, variant)?;
    let told = statement(log, segment, &forged)?;
    state(log, &[told])?;
    log.head_follows();
    Ok(())
}

/// Leaves no other statement that would contradict.
fn of_forged_segment_alone(log: &mut Log, variant: u64) -> Forged {
    let (_, genuine, forged) = forge_with_index(log, variant)?;
    state_instead(log, &genuine, &forged)
}

/// Leaves no other statement that would contradict.
fn lies_with_other_statement(log: &mut Log, variant: u64, change: Change) -> Forged {
    let (_, path, mut index) = an_index(log, variant)?;
    let genuine = index.digest();
    change(&mut index, variant)?;
    let forged = index.digest();
    put(log, &path, File::Index(index));
    state_instead(log, &genuine, &forged)
}

/// Forges the record that states an index, and the chain behind it.
fn state_instead(log: &mut Log, genuine: &[u8; 32], forged: &[u8; 32]) -> Forged {
    let place_in = |payload: &[u8]| payload.windows(32).position(|bytes| bytes == genuine);
    let at = a_record_where(log, 0, |at| {
        let record = log.record(at);
        record.kind() == payload::SEGMENT_INDEXED && place_in(&record.payload).is_some()
    })?;
    let mut payload = log.record(at).payload.clone();
    let place = place_in(&payload).ok_or("the chain does not state the index")?;
    payload[place..place + 32].copy_from_slice(forged);
    log.record_mut(at).set_payload(payload);
    room(log.remake(at, Reach::Log))?;
    log.head_follows();
    Ok(())
}

/// Forges a record, the chain behind it up to the seal, and the index; gives the place of the
/// segment and the digests of the genuine index and the forged one.
fn forge_with_index(log: &mut Log, variant: u64) -> AttackResult<(usize, [u8; 32], [u8; 32])> {
    let (segment, path, mut index) = an_index(log, variant)?;
    let genuine = index.digest();
    let at = a_record_where(log, variant, |at| at.segment == segment)?;
    alter(log.record_mut(at))?;
    room(log.remake(at, Reach::Seal))?;
    index.set_links(log.segment(segment)).ok_or("the sections do not hold")?;
    let forged = index.digest();
    put(log, &path, File::Index(index));
    Ok((segment, genuine, forged))
}

fn statement_without_head(log: &mut Log, variant: u64) -> Forged {
    let segment = a_sealed_segment(log, variant)?;
    let told = statement(log, segment, &[0xa5; 32])?;
    state(log, &[told])
}

fn statement_false(log: &mut Log, variant: u64) -> Forged {
    statement_without_head(log, variant)?;
    log.head_follows();
    Ok(())
}

fn true_then_false(log: &mut Log, variant: u64) -> Forged {
    two_statements(log, variant, |genuine, lying| [genuine, lying])
}

fn false_then_true(log: &mut Log, variant: u64) -> Forged {
    two_statements(log, variant, |genuine, lying| [lying, genuine])
}

fn two_statements(log: &mut Log, variant: u64, order: fn(Fact, Fact) -> [Fact; 2]) -> Forged {
    let (segment, _, index) = an_index(log, variant)?;
    let genuine = statement(log, segment, &index.digest())?;
    lie(log, variant, without_term)?;
    let (_, _, index) = an_index(log, variant)?;
    let lying = statement(log, segment, &index.digest())?;
    state(log, &order(genuine, lying))?;
    log.head_follows();
    Ok(())
}

fn other_range(log: &mut Log, variant: u64) -> Forged {
    let (segment, _, index) = an_index(log, variant)?;
    let first = log.segment(segment).first_sequence();
    let told = payload::segment_indexed(first, first, index::VERSION, &index.digest());
    state(log, &[told])?;
    log.head_follows();
    Ok(())
}

fn future(log: &mut Log, variant: u64) -> Forged {
    let (_, _, index) = an_index(log, variant)?;
    let newest = log.records().last().map_or(0, |at| log.record(*at).sequence());
    let (first, last) = (newest + 1, newest + 100);
    let told = payload::segment_indexed(first, last, index::VERSION, &index.digest());
    state(log, &[told])?;
    log.head_follows();
    Ok(())
}
