use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::layout::record;
use crate::log::{File, Log};
use crate::record::Record;
use crate::segment::{Item, Segment};

/// What became of an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Applied(Effect),
    /// The log has nothing that this can be done to; why.
    NotApplicable(&'static str),
}

/// What an attack did to what the log says. A fact is a record's sequence, kind, version, flags,
/// time and payload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effect {
    /// Something else stands where the fact of this sequence stood.
    pub changed: BTreeSet<u64>,
    /// The fact of this sequence is gone.
    pub removed: BTreeSet<u64>,
    /// A record of this sequence states what never was, or once more what was.
    pub invented: BTreeSet<u64>,
    /// The same fact, with another link, claim, checksum or padding.
    pub remade: BTreeSet<u64>,
    /// The same bytes in another place.
    pub moved: BTreeSet<u64>,
    /// The files that differ, that are new or gone.
    pub files: BTreeSet<String>,
}

type Place = (String, usize);

/// Everything that one state of a log has to be compared by.
#[derive(Default)]
struct Inventory {
    /// How often a fact is stated.
    counts: BTreeMap<Vec<u8>, usize>,
    /// Records by their places.
    records: BTreeMap<Place, Record>,
    /// The bytes of every record.
    images: BTreeSet<Vec<u8>>,
    /// Where bytes stand that are no record.
    others: BTreeMap<Place, Vec<u8>>,
}

impl Effect {
    pub fn between(before: &Log, after: &Log) -> Self {
        let (old, new) = (Inventory::of(before), Inventory::of(after));
        let mut effect = Self { files: differing(before, after), ..Self::default() };
        for (place, genuine) in &old.records {
            effect.note_genuine(place, genuine, &old, &new);
        }
        for found in new.records.values() {
            let fact = fact(found);
            let is_more = new.counts.get(&fact) > old.counts.get(&fact);
            let is_change = effect.changed.contains(&found.sequence());
            if is_more && (!is_change || old.counts.contains_key(&fact)) {
                effect.invented.insert(found.sequence());
            }
        }
        effect
    }

    /// Takes what was done to another directory.
    pub(crate) fn add(&mut self, other: Self, directory: &str) {
        self.changed.extend(other.changed);
        self.removed.extend(other.removed);
        self.invented.extend(other.invented);
        self.remade.extend(other.remade);
        self.moved.extend(other.moved);
        self.files.extend(other.files.into_iter().map(|path| format!("{directory}/{path}")));
    }

    fn note_genuine(&mut self, place: &Place, genuine: &Record, old: &Inventory, new: &Inventory) {
        let sequence = genuine.sequence();
        let same_place = new.records.get(place);
        if same_place == Some(genuine) {
            return;
        }
        let wanted = fact(genuine);
        if new.counts.contains_key(&wanted) {
            let set = if new.images.contains(&genuine.encode()) {
                &mut self.moved
            } else {
                &mut self.remade
            };
            set.insert(sequence);
            return;
        }
        let is_other = same_place.is_some_and(|found| !old.counts.contains_key(&fact(found)));
        let is_damaged = new.others.get(place).is_some_and(|bytes| bytes.iter().any(|b| *b != 0));
        let set = if is_other || is_damaged { &mut self.changed } else { &mut self.removed };
        set.insert(sequence);
    }

    /// One line of JSON, every set as its ranges.
    pub fn to_json(&self) -> String {
        let mut json = String::new();
        let sets = [
            ("changed", &self.changed),
            ("removed", &self.removed),
            ("invented", &self.invented),
            ("remade", &self.remade),
            ("moved", &self.moved),
        ];
        for (name, set) in sets {
            let ranges: Vec<String> =
                ranges(set).iter().map(|(first, last)| format!("[{first},{last}]")).collect();
            write!(json, "\"{name}\":[{}],", ranges.join(",")).expect("a text takes more");
        }
        let files: Vec<String> = self.files.iter().map(|path| format!("{path:?}")).collect();
        format!("{{{json}\"files\":[{}]}}", files.join(","))
    }
}

impl Inventory {
    fn of(log: &Log) -> Self {
        let mut found = Self::default();
        for (path, file) in &log.files {
            if let File::Segment(segment) = file {
                found.take(path, segment);
            }
        }
        found
    }

    fn take(&mut self, path: &str, segment: &Segment) {
        let mut offset = segment.offset_of(0);
        for item in &segment.items {
            let place = (path.to_owned(), offset);
            offset += item.length();
            match item {
                Item::Record(record) if record.is_whole() => {
                    *self.counts.entry(fact(record)).or_default() += 1;
                    self.images.insert(record.encode());
                    self.records.insert(place, record.clone());
                }
                other => drop(self.others.insert(place, other.encode())),
            }
        }
    }
}

/// What a record says, without what proves it.
fn fact(of: &Record) -> Vec<u8> {
    let header = &of.header;
    let fields = [record::SEQUENCE, record::KIND, record::VERSION, record::FLAGS, record::TIME];
    let parts = fields.iter().flat_map(|field| header.bytes(*field).iter().copied());
    parts.chain(of.payload.iter().copied()).collect()
}

fn differing(before: &Log, after: &Log) -> BTreeSet<String> {
    let names = before.files.keys().chain(after.files.keys());
    names.filter(|path| before.files.get(*path) != after.files.get(*path)).cloned().collect()
}

/// A set as its ranges without gaps.
fn ranges(set: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for number in set {
        match found.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => found.push((*number, *number)),
        }
    }
    found
}
