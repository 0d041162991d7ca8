//! Events and commands that the rules forbid, by the number of the rules: of events that are
//! nevertheless on the log, and, by classes, of commands whose refusal is a fact of its own.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::fmt::Display;

use serde::Serialize;

use crate::core::actor::{ActorId, Proof};
use crate::core::clocks::{Moment, Times};
use crate::core::closed_enum;
use crate::core::hash::Digest;
use crate::core::time::Timestamp;

/// A finding of the axis "meaning": an event that `decide` would never have made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ForbiddenEvent {
    /// The record.
    pub sequence: u64,
    /// Its kind.
    pub kind: u16,
    /// The loop that it is about.
    pub loop_id: Option<String>,
    /// The rule that it breaks.
    pub rule: Rule,
    /// Value that the rule expects.
    pub expected: String,
    /// Value in the event.
    pub found: String,
}

closed_enum! {
    /// The rules that an event can break. Closed.
    pub enum Rule {
        /// Sequences count up and times never go back.
        RecordOrder = "RECORD_ORDER",
        /// Names in a heading are within their bounds, and without control characters.
        Names = "NAMES",
        /// The cause of a record lies before it.
        Cause = "CAUSE",
        /// SYSTEM alone says what happened to the log itself.
        Speaker = "SPEAKER",
        /// A salvage's report begins the log that the salvage made.
        SalvageReport = "SALVAGE_REPORT",
        /// A recorded fingerprint is that of the state before it.
        Fingerprint = "FINGERPRINT",
        /// An index is of records before the event that tells of it.
        SegmentIndex = "SEGMENT_INDEX",
        /// Holdpoint alone states the rules' numbers, of every system, and they only rise.
        RulesNumbers = "RULES_NUMBERS",
        /// A person accepts a step of the clock, as it is, when all that was due has ended.
        ClockStep = "CLOCK_STEP",
        /// A person continues a log that is short of its HEAD, when all that was open has ended.
        LogContinuation = "LOG_CONTINUATION",
        /// Records that are said to be unproven stand before the event that says so.
        UnprovenRecords = "UNPROVEN_RECORDS",
        /// Labels are within their bounds, in order, and of the records before them in their batch.
        Labels = "LABELS",
        /// An event is about a loop that exists and is not settled.
        LoopIsLive = "LOOP_IS_LIVE",
        /// A loop is initialized once, with a well-formed id and bounds.
        Initialization = "INITIALIZATION",
        /// Transitions follow the table of Phase-29.
        Transition = "TRANSITION",
        /// HALTED is final.
        HaltedIsFinal = "HALTED_IS_FINAL",
        /// A transition carries its evidence (Phase-31's integration table).
        TransitionEvidence = "TRANSITION_EVIDENCE",
        /// Attempts are numbered from 1 to the maximum.
        AttemptNumber = "ATTEMPT_NUMBER",
        /// EVALUATED becomes DISPATCHED only by a decision.
        RetryPermission = "RETRY_PERMISSION",
        /// Raw output is captured before it is normalized.
        RawOutputFirst = "RAW_OUTPUT_FIRST",
        /// A response is worth what Phase-30's table says.
        ResponseTable = "RESPONSE_TABLE",
        /// A fault ends in what Phase-21's table says.
        FaultTable = "FAULT_TABLE",
        /// A halt has one reason, and what it names was found before.
        HaltReason = "HALT_REASON",
        /// An observer is attached once, in INIT, and is halted exactly on a mismatch.
        Observer = "OBSERVER",
        /// Evidence is of the loop's own chain, at its next index.
        ChainPlace = "CHAIN_PLACE",
        /// Evidence links to the record before it and hashes to what it says.
        ChainLink = "CHAIN_LINK",
        /// Record ids are unique in a chain.
        RecordId = "RECORD_ID",
        /// Evidence is captured where the integration table allows it.
        EvidencePlace = "EVIDENCE_PLACE",
        /// Evidence carries its record's time, and time does not go backwards.
        EvidenceTime = "EVIDENCE_TIME",
        /// No automation passes a hold point without a person.
        HoldPoint = "HOLD_POINT",
        /// A person is asked once about an attempt, and shown the loop's own evidence.
        HumanDecisionRequest = "DECISION_REQUEST",
        /// Exactly one answer counts: allowed, complete, in time, by somebody who is asked.
        HumanDecisionAnswer = "DECISION_ANSWER",
        /// Only a person decides.
        HumanAuthority = "HUMAN_AUTHORITY",
        /// Warnings and timeouts are recorded when they are due, once.
        HumanDecisionExpiry = "DECISION_EXPIRY",
        /// A decision is chained to the one before it and binds what the person saw.
        HumanDecisionAudit = "DECISION_AUDIT",
        /// A field is shown only if somebody who may allowed it, and as it is.
        VisibilityOverride = "VISIBILITY_OVERRIDE",
        /// One idempotency key stands for one content.
        Idempotency = "IDEMPOTENCY",
        /// A chain is sealed once, when its loop is HALTED, at its head; nothing follows.
        Seal = "SEAL",
        /// A registration presumes what is there, keeps its identity and leaves no final status.
        Registration = "REGISTRATION",
        /// Only a person grants capabilities, and only who was granted one uses it.
        CallerCapability = "CALLER_CAPABILITY",
        /// A turn is newer than the thread's last, binds the states around it, and comes to what
        /// the branch table says.
        ThreadTurn = "THREAD_TURN",
        /// Every turn has exactly one row, and every row lies within its scope and gates.
        ThreadRow = "THREAD_ROW",
        /// A thread's expiry is recorded when its time is over, once.
        ThreadExpiry = "THREAD_EXPIRY",
        /// Words that were left unsaid never end in silence.
        ThreadRemainder = "THREAD_REMAINDER",
        /// Nothing is said or done in a session that is not active, whether or not it is named.
        ThreadSession = "THREAD_SESSION",
        /// Nothing comes of a plan but by its commit, behind the gate.
        ThreadPlan = "THREAD_PLAN",
        /// Beginnings keep the policy in force, and a looser one was approved.
        PolicyInForce = "POLICY_IN_FORCE",
        /// A decision point is new, and its terms are such as may be agreed on.
        DecisionPointTerms = "DECISION_POINT_TERMS",
        /// Guidance ends a round and opens the next one, which its requester proposes anew.
        DecisionPointRound = "DECISION_POINT_ROUND",
        /// A round ends once, by somebody who may, with an answer that it takes.
        DecisionPointAnswer = "DECISION_POINT_ANSWER",
        /// Time's consequences are recorded when they are due, by the terms.
        DecisionPointExpiry = "DECISION_POINT_EXPIRY",
        /// An approval is spent once, for its own action, and releases once.
        DecisionPointApproval = "DECISION_POINT_APPROVAL",
        /// An application's event has a name, a stream that is no id of ours, a version, and no
        /// more bytes than it may.
        ApplicationEvent = "APPLICATION_EVENT",
        /// Statements of an output with a gap fit the bytes that are there.
        OutputExtent = "OUTPUT_EXTENT",
        /// A piece of output is of the attempt that runs and follows the one before it, and
        /// evidence states all of them.
        OutputPiece = "OUTPUT_PIECE",
        /// A snapshot of an attempt's processes is of the attempt that runs, behind the one before
        /// it, and its raw bytes spell it out.
        ResourceSnapshot = "RESOURCE_SNAPSHOT",
        /// A stop condition is none that the log itself contradicts.
        StopCondition = "STOP_CONDITION",
        /// A readable copy of evidence says what the bytes say that were hashed.
        EvidenceCopy = "EVIDENCE_COPY",
        /// Escalations of Phase-21 are asked of a person, and nothing else is in its name.
        Escalation = "ESCALATION",
    }
}

/// The rules of one number, as far as they were not always the same: bounds and switches. A record
/// is judged by those of its time, and decided by the newest; no function stands twice, it asks
/// these.
///
/// Whoever changes what honest records look like adds a number, with what it changes as a switch or
/// a bound. All of them are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The number.
    pub number: u32,
    /// Most attempts of a loop.
    pub attempts_max: u8,
    /// True if ABORT counts also from a person who is not among those who are asked.
    pub anyone_aborts: bool,
    /// True if there are the words that came with the numbers: kinds of events, reasons of a halt,
    /// outputs of which both ends are kept. Where there are not, no record that says one is
    /// checked.
    pub has_newest_words: bool,
    /// True if a question must tell what was observed of the attempt that is decided on. Where one
    /// does, that is checked by every number.
    pub tells_observed: bool,
    /// True if there are the words that came with number 4: approvals that are revoked, and
    /// policies that root unlocked. Where there are not, no record that says one is checked.
    pub has_fourth_words: bool,
    /// True if there are the words that came with number 5: pieces of output, evidence that states
    /// them, snapshots of processes, and accepted steps of the clock. Where there are not, no
    /// record that says one is checked.
    pub has_fifth_words: bool,
    /// True if whatever ends a limit states by which clock it did. Where it does, that is checked
    /// by every number.
    pub tells_clock: bool,
    /// True if there are the words that came with number 6: plans that own words, and their ends.
    /// Where there are not, no record that says one is checked.
    pub has_sixth_words: bool,
    /// True if a plan owns the words that its turn leaves unsaid, and each of its ends but the
    /// commit of those words is an event.
    pub plans_own_words: bool,
    /// True if a question stays with its speaker while somebody else speaks.
    pub questions_stay: bool,
    /// True if a stop condition on record is none that the log itself contradicts, and names its
    /// fact. Where it is another one, no record of before was checked.
    pub knows_stops: bool,
    /// True if a proposal may drop the default that silence would take.
    pub drops_defaults: bool,
    /// True if a row names what gives way to another request of the same kind, and two topics share
    /// no marker.
    pub names_ends: bool,
    /// True if what Phase-21 escalates is asked of a person.
    pub opens_escalations: bool,
    /// Tells whether there are the words that came with number 7: warnings of decision points, and
    /// what a thread waited for when it was closed. Where there are not, no record that says one is
    /// checked.
    pub has_seventh_words: bool,
    /// Tells whether what a thread waits for ends with it by an event.
    pub names_waits: bool,
    /// Tells whether who is not answered leaves the marks of a thread as they were, also where it
    /// has no subject.
    pub marks_stay: bool,
    /// Tells whether words that nobody surely interrupted end with their plan, and there are the
    /// words for it. Where there are not, no record that says one is checked.
    pub ends_unsure_words: bool,
}

impl Rules {
    /// Those that every new event is made by.
    pub const NEWEST: &'static Self = &Self { number: 9, ends_unsure_words: true, ..*Self::EIGHTH };

    const EIGHTH: &'static Self = &Self { number: 8, marks_stay: true, ..*Self::SEVENTH };

    const SEVENTH: &'static Self =
        &Self { number: 7, has_seventh_words: true, names_waits: true, ..*Self::SIXTH };

    const SIXTH: &'static Self = &Self {
        number: 6,
        has_sixth_words: true,
        plans_own_words: true,
        questions_stay: true,
        knows_stops: true,
        drops_defaults: true,
        names_ends: true,
        opens_escalations: true,
        ..*Self::FIFTH
    };

    const FIFTH: &'static Self =
        &Self { number: 5, has_fifth_words: true, tells_clock: true, ..*Self::FOURTH };

    const FOURTH: &'static Self = &Self { number: 4, has_fourth_words: true, ..*Self::THIRD };

    const THIRD: &'static Self = &Self { number: 3, tells_observed: true, ..*Self::SECOND };

    const SECOND: &'static Self =
        &Self { number: 2, anyone_aborts: true, has_newest_words: true, ..*Self::FIRST };

    const FIRST: &'static Self = &Self {
        number: 1,
        attempts_max: 3,
        anyone_aborts: false,
        has_newest_words: false,
        tells_observed: false,
        has_fourth_words: false,
        has_fifth_words: false,
        tells_clock: false,
        has_sixth_words: false,
        plans_own_words: false,
        questions_stay: false,
        knows_stops: false,
        drops_defaults: false,
        names_ends: false,
        opens_escalations: false,
        has_seventh_words: false,
        names_waits: false,
        marks_stay: false,
        ends_unsure_words: false,
    };

    /// Those of a number; `None`: this program does not have them.
    #[must_use]
    pub fn numbered(number: u32) -> Option<&'static Self> {
        let first = [Self::FIRST, Self::SECOND, Self::THIRD, Self::FOURTH];
        let others = [Self::FIFTH, Self::SIXTH, Self::SEVENTH, Self::EIGHTH, Self::NEWEST];
        first.into_iter().chain(others).find(|rules| rules.number == number)
    }
}

/// The record that is applied, but for its event: where it is, and who made it.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) sequence: u64,
    pub(crate) at: Timestamp,
    /// The same on the scale of the times of the limit that it is about.
    pub(crate) times: Times,
    /// Time on the own clock of the machine that recorded it.
    pub(crate) clock: Timestamp,
    pub(crate) actor: &'a ActorId,
    pub(crate) proof: Option<Proof>,
    pub(crate) correlation: &'a str,
    /// The newest record before it that says that the clock was set back; 0: none does.
    pub(crate) set_back: u64,
    /// The rules that it is judged by.
    pub(crate) rules: &'static Rules,
    /// The hashes of the evidence that it captures, once somebody needed them: of the raw bytes,
    /// the seed's, and the injective one.
    pub(crate) hashes: &'a OnceCell<[Digest; 3]>,
    /// Those of them that follow from the record alone, where they were computed before: of the raw
    /// bytes, and the seed's.
    pub(crate) known_hashes: Option<[Digest; 2]>,
}

impl Record<'_> {
    /// The moment, as both clocks have it.
    pub(crate) fn moment(&self) -> Moment {
        Moment::new(self.at, self.clock)
    }
}

/// Findings about one event. Where nobody asks, nothing is kept and no text is made: a guard that
/// stands once says to `judge` why, and to `evolve` only whether.
pub(crate) struct RuleChecks<'a> {
    /// The record's sequence and kind, and its loop where it is about one; `None`: nobody asks.
    about: Option<(u64, u16, Option<&'a str>)>,
    findings: Vec<ForbiddenEvent>,
    /// The rules that are asked. What counts is no matter of their numbers: where nobody asks why,
    /// it is the newest that say so.
    pub(crate) rules: &'static Rules,
}

impl<'a> RuleChecks<'a> {
    /// For whoever only wants to know whether an event counts.
    pub(crate) const fn unheard() -> Self {
        Self { about: None, findings: Vec::new(), rules: Rules::NEWEST }
    }

    /// Nothing yet, by these rules, about a record of this kind and, where it is about one, of this
    /// loop.
    pub(crate) const fn new(
        sequence: u64,
        kind: u16,
        loop_id: Option<&'a str>,
        rules: &'static Rules,
    ) -> Self {
        Self { about: Some((sequence, kind, loop_id)), findings: Vec::new(), rules }
    }

    /// Records that a rule is broken.
    pub(crate) fn forbid(&mut self, rule: Rule, expected: impl Display, found: impl Display) {
        let Some((sequence, kind, loop_id)) = self.about else { return };
        self.findings.push(ForbiddenEvent {
            sequence,
            kind,
            loop_id: loop_id.map(String::from),
            rule,
            expected: expected.to_string(),
            found: found.to_string(),
        });
    }

    /// Records that a rule is broken unless the two are the same. Says whether they are.
    pub(crate) fn expect<T: PartialEq + Display>(
        &mut self,
        rule: Rule,
        expected: T,
        found: T,
    ) -> bool {
        let same = expected == found;
        if !same {
            self.forbid(rule, expected, found);
        }
        same
    }

    /// Records that a rule is broken unless this holds. Says whether it does.
    pub(crate) fn demand(
        &mut self,
        holds: bool,
        rule: Rule,
        expected: impl Display,
        found: impl Display,
    ) -> bool {
        if !holds {
            self.forbid(rule, expected, found);
        }
        holds
    }

    pub(crate) fn findings(self) -> Vec<ForbiddenEvent> {
        self.findings
    }
}

closed_enum! {
    /// The rules whose refusals are facts of their own. Closed.
    pub enum RefusalClass {
        /// Someone or something that has no business here.
        Scope = "SCOPE",
        /// The same thing was asked for before, otherwise.
        Idempotency = "IDEMPOTENCY",
        /// A step that a hold point or a missing permission bars.
        Gating = "GATING",
        /// The state has moved on since the caller looked.
        Continuity = "CONTINUITY",
    }
}
