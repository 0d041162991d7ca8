//! Claims: each record says how far durability had reached when its turn came. HEAD may lie far
//! behind; what a record claims is a mark all the same. It says what is proven and what opening has
//! to write again, and damage below it is refused also where nothing else tells it from a torn
//! write.

use holdpoint_engine::log::{Level, NewRecord, OpenError, OpenReport};
use holdpoint_log_files::Problem;
use holdpoint_log_format::recovery::{OpenAction, Row};
use holdpoint_log_format::{BootId, Lock, OwnerState};
use holdpoint_testing::log::image::Image;
use holdpoint_testing::log::{
    Stored, append, memory_directory, open, quiet, read_storage, record, records_of, this_boot,
    try_open,
};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

const FIRST: &str = "segments/00000000000000000001.seg";
const OTHER_BOOT: BootId = BootId([0x77; 16]);

/// The record that HEAD names.
const WITNESSED: u64 = 1;
/// Length of every payload: no record but the first touches the bound of a page, where a killed
/// writer's tail would end.
const PAYLOAD_LENGTH: usize = 40;
/// What is appended behind [`WITNESSED`]: how many records a batch has, and its level.
const BATCHES: [(usize, Level); 7] = [
    (1, Level::Always),
    (1, Level::Always),
    (2, Level::Os),
    (1, Level::Os),
    (1, Level::Always),
    (1, Level::Os),
    (1, Level::Os),
];
/// What each record claims: the newest one that a sync covered when it was written.
const CLAIMS: [u64; 9] = [0, 1, 2, 3, 3, 3, 3, 7, 7];
const UNWITNESSED: RangeInclusive<u64> = WITNESSED + 1..=CLAIMS.len() as u64;

/// What the disk did to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    /// A bit of its payload is another.
    Flipped,
    /// It never reached the disk, or is gone.
    Zeroed,
}

/// A log whose HEAD stayed behind, and where its records lie.
struct Log {
    image: Image,
    records: Vec<Stored>,
}

/// What FORMAT.md says of it: V, M, and the row.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    run: u64,
    mark: u64,
    row: Row,
}

impl Log {
    fn new() -> Self {
        let directory = memory_directory();
        let log = open(directory.path(), quiet());
        append(&log, 1, PAYLOAD_LENGTH);
        log.close().unwrap();
        let log = open(directory.path(), quiet());
        for (length, level) in BATCHES {
            let batch: Vec<NewRecord> = (0..length).map(|_| record(2, PAYLOAD_LENGTH)).collect();
            log.append(&batch, 2, level).unwrap();
        }
        let (image, records) = (Image::of(directory.path()), records_of(directory.path()));
        let claims = records.iter().map(|stored| stored.header.mark().unwrap().unwrap());
        assert_eq!(claims.collect::<Vec<_>>(), CLAIMS);
        Self { image, records }
    }

    fn of(&self, sequence: u64) -> &Stored {
        self.records.iter().find(|stored| stored.header.sequence == sequence).unwrap()
    }

    fn end_of(&self, sequence: u64) -> u64 {
        self.of(sequence).offset + self.of(sequence).length
    }

    /// The log with harm done to some of its records, left by an owner of this boot or another.
    fn harmed(&self, harmed: &[u64], harm: Harm, boot: BootId) -> Image {
        let mut image = self.image.clone();
        for stored in harmed.iter().map(|sequence| self.of(*sequence)) {
            let at = usize::try_from(stored.offset).unwrap();
            let length = usize::try_from(stored.length).unwrap();
            let bytes = &mut image.file(FIRST)[at..at + length];
            match harm {
                Harm::Flipped => bytes[length - 1] ^= 1,
                Harm::Zeroed => bytes.fill(0),
            }
        }
        image.set_owner(OwnerState::InTransaction, boot);
        image
    }

    /// The verdict by the definitions of V, M and T alone.
    fn due(&self, harmed: &[u64], harm: Harm, boot: BootId) -> Verdict {
        let is_whole = |stored: &&Stored| !harmed.contains(&stored.header.sequence);
        let run = self.records.iter().take_while(is_whole);
        let run = run.filter(|stored| !stored.header.flags.more_follows()).last();
        let run = run.map_or(0, |stored| stored.header.sequence);
        let claims = self.records.iter().filter(is_whole).map(|stored| stored.header.mark());
        let mark = claims.map(|claim| claim.unwrap().unwrap()).chain([WITNESSED]).max().unwrap();
        // What LOCK says counts in its boot, where there is less.
        let named = Lock::decode(&self.image.0[Path::new("LOCK")]).unwrap().durable_sequence;
        let mark = if boot == this_boot() && named > run { mark.max(named) } else { mark };
        let mut behind = self.records.iter().filter(|stored| stored.header.sequence > run);
        let is_tail_zero = behind.all(|stored| harm == Harm::Zeroed && !is_whole(&stored));
        let row = match () {
            // A claim of a record that is here lies behind the run, which is then not the end.
            () if run < mark && is_tail_zero => Row::ShortOfHead,
            () if run < mark => Row::BelowMark,
            () if is_tail_zero && run == mark => Row::Clean,
            () if is_tail_zero => Row::CleanUnproven,
            () if boot == this_boot() => Row::DamagedTail,
            () => Row::TornTail,
        };
        Verdict { run, mark, row }
    }
}

#[test]
fn what_a_record_claims_is_proven_and_need_not_be_written_again() {
    let log = Log::new();
    for newest in WITNESSED..=CLAIMS.len() as u64 {
        let lost: Vec<u64> = UNWITNESSED.filter(|sequence| *sequence > newest).collect();
        let due = log.due(&lost, Harm::Zeroed, OTHER_BOOT);
        let directory = memory_directory();
        log.harmed(&lost, Harm::Zeroed, OTHER_BOOT).restore(directory.path());
        let (_, OpenReport { recovered, position, .. }) =
            try_open(directory.path(), quiet()).unwrap();
        assert_eq!((recovered.proven_sequence, position.sequence), (due.mark, due.run));
        let unproven = log.end_of(due.run) - log.end_of(due.mark);
        assert_eq!(recovered.rewritten_bytes, unproven, "{newest} records");
    }
}

#[test]
fn table_whatever_is_harmed_below_a_claim_is_refused_and_above_every_claim_is_cut() {
    let log = Log::new();
    let mut rows = BTreeSet::new();
    for set in 0..1_u32 << UNWITNESSED.count() {
        let is_in = |sequence: &u64| set >> (sequence - UNWITNESSED.start()) & 1 == 1;
        let harmed: Vec<u64> = UNWITNESSED.filter(is_in).collect();
        for harm in [Harm::Flipped, Harm::Zeroed] {
            for boot in [this_boot(), OTHER_BOOT] {
                let due = log.due(&harmed, harm, boot);
                assert_met(&log.harmed(&harmed, harm, boot), &due);
                rows.insert(due.row);
            }
        }
    }
    let all = [
        Row::ShortOfHead,
        Row::BelowMark,
        Row::Clean,
        Row::CleanUnproven,
        Row::DamagedTail,
        Row::TornTail,
    ];
    assert_eq!(rows, BTreeSet::from(all));
}

#[test]
fn what_an_owner_of_this_boot_knew_to_be_durable_is_missed_where_it_is_gone() {
    let log = Log::new();
    for (state, durable) in [OwnerState::InTransaction, OwnerState::Recovering]
        .into_iter()
        .flat_map(|state| [(state, 7), (state, 8), (state, 12)])
    {
        for boot in [this_boot(), OTHER_BOOT] {
            let mut image = log.harmed(&[8, 9], Harm::Zeroed, boot);
            image.set_owner(state, boot);
            image.set_durable(durable);
            let (mark, row) = match boot == this_boot() && durable > 7 {
                true => (durable, Row::ShortOfHead),
                false => (3, Row::CleanUnproven),
            };
            assert_met(&image, &Verdict { run: 7, mark, row });
        }
    }
}

/// Verifying says what is due, and opening acts on it.
fn assert_met(image: &Image, due: &Verdict) {
    let directory = memory_directory();
    image.restore(directory.path());
    assert_surveyed(directory.path(), due);
    match try_open(directory.path(), quiet()) {
        Ok((_, report)) => {
            assert_ne!(due.row.action(), OpenAction::Refuse, "{due:?}");
            let OpenReport { recovered, position, .. } = report;
            assert_eq!((position.sequence, recovered.proven_sequence), (due.run, due.mark));
            assert_eq!(recovered.cut_bytes > 0, due.row == Row::TornTail, "{due:?}");
        }
        Err(OpenError::Refused { row, .. }) => {
            assert_eq!((row, row.action()), (due.row, OpenAction::Refuse));
            assert!(Image::of(directory.path()) == *image, "{due:?} changed the directory");
        }
        Err(other) => panic!("{due:?}: {other}"),
    }
}

fn assert_surveyed(directory: &Path, due: &Verdict) {
    let storage = holdpoint_log_files::DirectoryStorage::new(directory);
    let survey = read_storage(&storage, this_boot()).0;
    let run = survey.last.as_ref().unwrap().run.chain.sequence;
    assert_eq!(Verdict { run, mark: survey.mark, row: survey.row }, *due);
    let (first, last) = (due.run + 1, due.mark);
    for (named, row) in [
        (Problem::BelowMark { first, last }, Row::BelowMark),
        (Problem::ShortOfHead { first, last }, Row::ShortOfHead),
    ] {
        let is_named = survey.findings.iter().any(|finding| finding.problem == named);
        assert_eq!(is_named, due.row == row, "{:?}", survey.findings);
    }
}
