//! Events of the log itself. Kinds 1 to 31.

use crate::core::actor::{NamedUsers, Principal};
use crate::core::forbidden::RefusalClass;
use crate::core::hash::Digest;
use crate::core::payload::{List, Raw, Text};
use crate::core::time::Timestamp;
use crate::core::{bodies, closed_enum, events, recorded};
use crate::log::policy::GatePolicy;

events! {
    /// Event of the log itself.
    LogEvent of "log" kinds 1..=31, {
        /// The log's end was put in order.
        1 v 1 "log.recovery_performed" => RecoveryPerformed;
        /// HEAD was missing and its absence accepted.
        2 v 2 "log.head_missing_accepted" => HeadMissingAccepted, before 1 + [0];
        /// The clock stepped.
        3 v 1 "log.clock_stepped" => ClockStepped;
        /// The state's fingerprint was recorded.
        4 v 1 "log.fingerprint_recorded" => FingerprintRecorded;
        /// A command was refused by a rule whose refusals are facts.
        5 v 1 "log.command_refused" => CommandRefused;
        /// Another configuration is in force.
        6 v 1 "log.configuration_changed" => ConfigurationChanged;
        /// The log was made of what could be kept of another one.
        7 v 2 "log.salvaged" => Salvaged, before 1 + [0, 0];
        /// A stretch of the salvaged log did not verify.
        8 v 1 "log.records_lost" => RecordsLost;
        /// Records were moved to an archive.
        9 v 1 "log.history_archived" => HistoryArchived;
        /// A sealed segment has an index.
        10 v 1 "log.segment_indexed" => SegmentIndexed;
        /// A person set the policy of the log.
        11 v 2 "log.policy_changed"
            => PolicyChanged in Box, before 1 + [0];
        /// The policy of the log may be lost.
        12 v 1 "log.policy_unknown" => PolicyUnknown;
        /// Records were taken over from a damaged log without proof.
        13 v 1 "log.records_unproven" => RecordsUnproven;
        /// A writer states the numbers of its rules.
        14 v 1 "log.rules_adopted" => RulesAdopted;
        /// A caller put labels on what it had recorded.
        15 v 2 "log.labelled" => RecordsLabelled, before 1 + [0];
        /// Root set a policy that nobody could approve any more.
        16 v 1 "log.policy_unlocked" => PolicyUnlocked in Box;
        /// A person accepted that the log's time is ahead.
        17 v 1 "log.clock_step_accepted" => ClockStepAccepted;
        /// A person went on from a log that ends before its HEAD.
        18 v 1 "log.continued" => LogContinued in Box;
    }
}

recorded! {
    /// A writer opened the log and put its end in order.
    RecoveryPerformed {
        /// The newest record that some durable mark proves. 0: none.
        last_proven_sequence: u64,
        /// The newest record that was kept, proven or not. 0: none.
        last_kept_sequence: u64,
        /// Number of bytes after it that were cut, zeros excluded.
        cut_bytes: u64,
        /// The file, relative to the log's directory, to which the cut bytes were copied first.
        copied_to: Option<Text>,
    }

    /// A writer was told to go on although HEAD, the witness of how far the log reached, is
    /// missing.
    HeadMissingAccepted {
        /// The first record that was found.
        first_sequence: u64,
        /// The last record that was found.
        last_sequence: u64,
        /// True if LOCK tells that it was the newest one. Else records behind it may be lost, and
        /// what began before this event permits nothing.
        is_end_known: bool,
    }

    /// The clock moved by more than a second against the time since boot.
    ClockStepped {
        /// By how many nanoseconds; negative: back.
        step_ns: i64,
    }
}

recorded! {
    /// A person at a terminal accepted that the newest record is ahead of the clock. All that was
    /// due by the old time has ended in the records before it in its batch. The time of records
    /// stands still as before; limits that are made from here on are judged by own clocks until it
    /// moves again.
    ClockStepAccepted {
        /// Principal: a person, at a terminal.
        by: Principal,
        /// The time of the newest record, which is this record's too.
        log_time: Timestamp,
        /// Time on the own clock.
        clock: Timestamp,
    }
}

recorded! {
    /// A person at a terminal went on from a log that ends before the record that its HEAD states.
    /// This log has the records up to the kept one, an identity of its own, and no question or
    /// approval of the other log: they ended in the records before this one in its batch. What
    /// began before this record permits nothing, because it may have ended in a record that is
    /// missing.
    LogContinued {
        /// Principal: a person, at a terminal.
        by: Principal,
        /// The identity of the other log, as 32 hexadecimal digits.
        source_log: Text,
        /// The newest record that the other log's witnesses state.
        stated_sequence: u64,
        /// The link of that record, where HEAD states it. `None`: only LOCK states the record.
        stated_link: Option<Digest>,
        /// The newest record of the other log that is kept. It has the same sequence in this one,
        /// until a salvage moves it.
        kept_sequence: u64,
        /// The link of that record in the other log.
        kept_link: Digest,
    }
}

bodies! {
    /// A writer works under another configuration than the one before it did.
    ConfigurationChanged {
        /// SHA-256 of the configuration file; `None`: no file, so the defaults are in force.
        digest: Option<Digest>,
    }
}

recorded! {
    /// The fingerprint of the state before this record, for every replay to check.
    FingerprintRecorded {
        /// The version of the state's encoding; a fingerprint of another version is not checked.
        schema: u32,
        /// BLAKE3 of the encoded state.
        fingerprint: Digest,
    }

    /// A person set the policy of this log: what every hold point in it demands from here on.
    PolicyChanged {
        /// Principal.
        by: Principal,
        /// The policy from here on.
        policy: GatePolicy,
        /// The decision point whose approval allowed a looser policy. `None`: it demands at least
        /// what the one before did.
        approval: Option<Text>,
        /// Whom the policy names, with the numbers that they had. `None` in records that were made
        /// before numbers were.
        people: Option<NamedUsers>,
    }

    /// Root set another policy, without an approval: the one before names somebody who is no user
    /// of this machine any more. Root is no approver by this.
    PolicyUnlocked {
        /// Principal: root, at a terminal.
        by: Principal,
        /// The policy from here on.
        policy: GatePolicy,
        /// The approvers whom the user database no longer has.
        gone: List<Text>,
        /// Whom the policy names, with the numbers that they have.
        people: NamedUsers,
        /// The number of the user who logged in, as the kernel says (`loginuid`). `None`: the
        /// kernel does not know.
        login_user: Option<u32>,
        /// The number of the user who became root, as `SUDO_UID` says, which nothing proves.
        sudo_user: Option<u32>,
    }

    /// Records were lost of the log that this one was made of, or may be of this one, and its
    /// policy may have been among them: what a policy could hold does not begin until a person
    /// sets one.
    PolicyUnknown {
        /// Number of records that are known to be lost.
        records_lost: u64,
    }

    /// A writer states by which rules it decides from here on: the first event in the batch with
    /// which a writer begins whose rules are newer than those in force.
    RulesAdopted {
        /// Every system's number, by the system's name in ascending order.
        systems: List<SystemRules>,
    }

    /// The number of one system's rules.
    SystemRules {
        /// The system, as the names of its events begin.
        system: Text,
        /// The number; 1 is that of what was recorded before any was stated.
        number: u32,
    }

    /// A command was refused by a rule on scope, idempotency, gating or continuity. Nothing else
    /// came of it.
    CommandRefused {
        /// The command's name, as in its readable form.
        command: Text,
        /// The kind of rule.
        class: RefusalClass,
        /// The stable reason code.
        code: Text,
        /// The loop or request that the command is about.
        subject: Option<Text>,
        /// Why, in words: at most 4096 bytes, nothing hidden.
        message: Text,
    }

    /// A sealed segment has an index: a derived file that is believed only where this event, which
    /// is in the chain, says what it holds.
    SegmentIndexed {
        /// The first record of the segment.
        first_sequence: u64,
        /// The last record of the segment.
        last_sequence: u64,
        /// The version of the index's form; an index of another version is not believed.
        format: u32,
        /// BLAKE3 of the index's header, which holds the digests of all its parts.
        digest: Digest,
    }
}

/// Returns whether these are records, in their order, that all lie before this one.
pub(crate) const fn are_records_before(first: u64, last: u64, sequence: u64) -> bool {
    1 <= first && first <= last && last < sequence
}

recorded! {
    /// This log was made of what could be kept of another one. It is the first event of such a log
    /// and the report of the damage: its lists are cut to their first items, its totals are whole.
    Salvaged {
        /// The identity of the other log, as 32 hexadecimal digits.
        source_log: Text,
        /// The first record of the other log that is known of. 0: none.
        source_first_sequence: u64,
        /// The last record of the other log that is known of. 0: none.
        source_last_sequence: u64,
        /// Number of records that were kept.
        records_kept: u64,
        /// Number of records that are known to be missing.
        records_lost: u64,
        /// Number of bytes, zeros excluded, were found and not kept as records.
        bytes_not_kept: u64,
        /// Time when it was done. The record's own time is that of the records kept, so that theirs
        /// stay.
        salvaged_at: Timestamp,
        /// Runs of records of the other log with the records of this one that they became, in
        /// order.
        runs: List<SalvagedRun>,
        /// Number of such runs there are, `runs` being the first of them.
        runs_total: u64,
        /// Findings on what is wrong with the other log, in words: at most 4096 bytes each.
        findings: List<Text>,
        /// Number of findings there are, `findings` being the first of them.
        findings_total: u64,
        /// The last record of this log that is one of those kept or tells of one: a log that ends
        /// before it was cut off. 0: not stated.
        last_sequence: u64,
        /// The records of this log that are unproven, as the events behind them say once more:
        /// ranges that do not fit in are joined with the last of them.
        unproven: List<RecordRange>,
    }
}

recorded! {
    /// Consecutive records of a log.
    #[derive(Copy)]
    RecordRange {
        /// The first of them.
        first_sequence: u64,
        /// The last of them.
        last_sequence: u64,
    }
}

impl Salvaged {
    /// The records that it says are unproven, first and last: they lie behind it, at this place.
    pub fn unproven_behind(&self, sequence: u64) -> impl Iterator<Item = (u64, u64)> {
        let ranges = self.unproven.iter().map(|it| (it.first_sequence, it.last_sequence));
        ranges.filter(move |(first, last)| sequence < *first && first <= last)
    }
}

recorded! {
    /// Consecutive records of another log that follow each other in this one as well.
    #[derive(Copy)]
    SalvagedRun {
        /// The first of them, by its sequence in the other log.
        source_first_sequence: u64,
        /// The last of them, by its sequence in the other log.
        source_last_sequence: u64,
        /// The first of them, by its sequence in this log.
        first_sequence: u64,
    }
}

recorded! {
    /// Here a stretch of the salvaged log did not verify. This event stands in its place.
    RecordsLost {
        /// The first record that is lost, by its sequence in the other log. 0: no record is known
        /// to be missing here, only bytes are.
        source_first_sequence: u64,
        /// The last record that is lost, by its sequence in the other log. 0: not known, or no
        /// record is.
        source_last_sequence: u64,
        /// The file of the other log that holds the stretch, relative to that log's directory; of
        /// records that no file holds, `segments`.
        file: Text,
        /// Place in the file where it begins, in bytes.
        offset: u64,
        /// Number of bytes it has.
        length: u64,
        /// The file, relative to this log's directory, to which those bytes were copied.
        copied_to: Option<Text>,
        /// Problem with it, in words: at most 4096 bytes.
        problem: Text,
    }
}

impl RecordsLost {
    /// Returns whether records are missing, and not bytes alone.
    #[must_use]
    pub const fn is_of_records(&self) -> bool {
        self.source_first_sequence > 0
    }
}

closed_enum! {
    /// Why nothing proves records that were taken over from a damaged log. Closed.
    pub enum UnprovenReason {
        /// Something behind them was changed or is missing.
        Damage = "DAMAGE",
        /// They lay behind the newest record that HEAD named, or there was no HEAD.
        NoWitness = "NO_WITNESS",
    }
}

recorded! {
    /// Records were taken over from a damaged log in which nothing tied them to its newest witness:
    /// they may have been made up.
    RecordsUnproven {
        /// The first of them, by its sequence in this log.
        first_sequence: u64,
        /// The last of them, by its sequence in this log.
        last_sequence: u64,
        /// Why.
        reason: UnprovenReason,
    }
}

impl RecordsUnproven {
    /// Returns whether they are records, in their order, that all lie before this one.
    #[must_use]
    pub const fn is_of_records_before(&self, sequence: u64) -> bool {
        are_records_before(self.first_sequence, self.last_sequence, sequence)
    }
}

recorded! {
    /// Records were moved to an archive. The log now begins behind the last of them, the anchor.
    HistoryArchived {
        /// The first record that was moved.
        first_sequence: u64,
        /// The last record that was moved: the anchor.
        anchor_sequence: u64,
        /// The anchor's link.
        anchor_link: Digest,
        /// The archive's directory, as it was given.
        archived_to: Text,
        /// The version of the state's encoding.
        state_schema: u32,
        /// The fingerprint of the state right after the anchor.
        state_fingerprint: Digest,
        /// State right after the anchor, carried ([`World::carry`](crate::World::carry)): what the
        /// records that follow are applied to.
        state: Raw,
    }
}

/// Most labels of a batch.
pub const MAX_LABELS: usize = 32;

recorded! {
    /// A caller labels the records before this one in their batch: a claim, of no meaning to any
    /// rule. It is the last record of its batch, but for what a salvage adds to the last batch that
    /// it copies; where several loops begin in that, each has one, and they are the last ones.
    RecordsLabelled {
        /// The first record that is labelled; the last one is the one before this.
        first_sequence: u64,
        /// The labels, 1 to 32, in the ascending order of their names.
        labels: List<Label, MAX_LABELS>,
        /// The loop that begins in the batch, where one does.
        loop_id: Option<Text>,
    }

    /// A label.
    Label {
        /// Its name: 1 to 256 bytes, visible.
        name: Text,
        /// Its value: 1 to 256 bytes, visible.
        value: Text,
    }
}

impl RecordsLabelled {
    /// Labels of the records from one on, in the order of their names.
    pub fn of<'a>(
        first_sequence: u64,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let label = |(name, value): (&str, &str)| Label { name: name.into(), value: value.into() };
        let labels = labels.into_iter().map(label).collect();
        Self { first_sequence, labels, loop_id: None }
    }
}

/// The kind of [`Salvaged`].
pub const SALVAGED: u16 = 7;

/// The kind of [`HistoryArchived`].
pub const HISTORY_ARCHIVED: u16 = 9;

/// The kind of [`SegmentIndexed`].
pub const SEGMENT_INDEXED: u16 = 10;

/// The kind of [`PolicyChanged`].
pub const POLICY_CHANGED: u16 = 11;

/// The kind of [`RecordsUnproven`].
pub const RECORDS_UNPROVEN: u16 = 13;

/// The kind of [`RulesAdopted`].
pub const RULES_ADOPTED: u16 = 14;
