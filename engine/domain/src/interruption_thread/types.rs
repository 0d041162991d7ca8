//! The closed sets of PH1.X. Where the seed names values they are the seed's; where it names only
//! the field (statuses, pending states, kinds of intents) the values are chosen here.
//!
//! The numbers of the reason codes are Holdpoint's own registry, pinned for ever and disjoint from
//! the numbers of the public reference, whose two copies contradict each other: there `0x5800001C`
//! means `X_INTERRUPT_DISCARD` in one copy and `X_INTERRUPT_RELATION_UNCERTAIN_CLARIFY` in the
//! other. The whole table, beside both of theirs, is in `docs/interruption-threads.md`.

use crate::core::closed_enum;
use crate::core::refusal::stated;

closed_enum! {
    /// Event that a thread waits for.
    pub enum PendingState {
        /// Nothing.
        None = "NONE",
        /// The answer to a clarifying question.
        Clarify = "CLARIFY",
        /// A yes or no to an action.
        Confirm = "CONFIRM",
        /// A yes or no to saying what is kept in memory.
        MemoryPermission = "MEMORY_PERMISSION",
        /// A tool's response.
        Tool = "TOOL",
        /// A stronger proof of identity.
        StepUp = "STEP_UP",
    }
}

closed_enum! {
    /// Outcome of a turn. Every turn comes to exactly one.
    pub enum Directive {
        /// Ask for a yes or no to an action.
        Confirm = "CONFIRM",
        /// Ask one question.
        Clarify = "CLARIFY",
        /// Say something.
        Respond = "RESPOND",
        /// Let something be done.
        Dispatch = "DISPATCH",
        /// Say nothing.
        Wait = "WAIT",
    }
}

impl Directive {
    /// The value of the payload key `directive` (lower case, as the seed's event payload has it).
    #[must_use]
    pub const fn payload_value(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Clarify => "clarify",
            Self::Respond => "respond",
            Self::Dispatch => "dispatch",
            Self::Wait => "wait",
        }
    }
}

closed_enum! {
    /// Relation of an interruption to what was interrupted (`interrupt_subject_relation`).
    pub enum SubjectRelation {
        /// The same subject.
        Same = "SAME",
        /// Another subject.
        Switch = "SWITCH",
        /// Not known.
        Uncertain = "UNCERTAIN",
    }
}

closed_enum! {
    /// `interrupt_continuity_outcome`.
    pub enum ContinuityOutcome {
        /// The remainder and the new answer were said as one.
        SameSubjectAppend = "SAME_SUBJECT_APPEND",
        /// The new subject was answered, and it was asked whether to go back.
        SwitchTopicThenReturnCheck = "SWITCH_TOPIC_THEN_RETURN_CHECK",
    }
}

closed_enum! {
    /// `interrupt_resume_policy`: what becomes of what was left unsaid.
    pub enum ResumePolicy {
        /// It is said now.
        ResumeNow = "RESUME_NOW",
        /// It is kept.
        ResumeLater = "RESUME_LATER",
        /// It is given up.
        Discard = "DISCARD",
    }
}

closed_enum! {
    /// A yes or no (`confirm_answer`).
    pub enum ConfirmAnswer {
        /// Yes.
        Yes = "Yes",
        /// No.
        No = "No",
    }
}

closed_enum! {
    /// `candidate_confidence_band`. HIGH needs a phrase confidence of at least 0.90.
    pub enum ConfidenceBand {
        /// Sure.
        High = "HIGH",
        /// Likely.
        Medium = "MEDIUM",
        /// Doubtful.
        Low = "LOW",
    }
}

closed_enum! {
    /// `risk_context_class`. Degraded capture is never LOW.
    pub enum RiskContextClass {
        /// Nothing in the way.
        Low = "LOW",
        /// Some doubt.
        Guarded = "GUARDED",
        /// Much doubt.
        High = "HIGH",
    }
}

closed_enum! {
    /// Effect on speech that is under way.
    pub enum TtsControl {
        /// It stops.
        Cancel = "CANCEL",
    }
}

closed_enum! {
    /// Way in which a directive reaches the user.
    pub enum DeliveryHint {
        /// Said and shown.
        AudibleAndText = "AUDIBLE_AND_TEXT",
        /// Not at all.
        Silent = "SILENT",
    }
}

closed_enum! {
    /// Need of an intent. The vocabulary of intents is the caller's; this is what the rules ask.
    pub enum IntentClass {
        /// A tool that only reads: dispatched at once.
        ReadOnlyTool = "READ_ONLY_TOOL",
        /// A question to memory: dispatched at once, as a candidate.
        MemoryQuery = "MEMORY_QUERY",
        /// Something that changes the world: confirmed first.
        Impactful = "IMPACTFUL",
        /// Go on with what was interrupted.
        Continue = "CONTINUE",
        /// Say more about what was interrupted.
        MoreDetail = "MORE_DETAIL",
    }
}

impl IntentClass {
    /// Returns whether the user asked, in words, for what was left unsaid.
    #[must_use]
    pub const fn is_resume(self) -> bool {
        matches!(self, Self::Continue | Self::MoreDetail)
    }
}

closed_enum! {
    /// Kind of a tool's answer.
    pub enum ToolStatus {
        /// With a result.
        Ok = "OK",
        /// With a failure.
        Fail = "FAIL",
        /// With several results that fit.
        Ambiguous = "AMBIGUOUS",
    }
}

closed_enum! {
    /// Target of a DISPATCH (`dispatch_target` of a turn's row).
    pub enum DispatchKind {
        /// A request to a read-only tool.
        ToolRequest = "TOOL_REQUEST",
        /// A candidate for the simulation that acts.
        SimulationCandidate = "SIMULATION_CANDIDATE",
    }
}

closed_enum! {
    /// The type of an audit row (seed, "Audit Emission Requirements").
    pub enum RowEventType {
        /// A confirm directive.
        XConfirm = "XConfirm",
        /// A dispatch directive.
        XDispatch = "XDispatch",
        /// Any other directive.
        Other = "Other",
    }
}

impl RowEventType {
    /// The type of a directive's row.
    #[must_use]
    pub const fn of(directive: Directive) -> Self {
        match directive {
            Directive::Confirm => Self::XConfirm,
            Directive::Dispatch => Self::XDispatch,
            Directive::Clarify | Directive::Respond | Directive::Wait => Self::Other,
        }
    }
}

closed_enum! {
    /// Weight of a row.
    pub enum Severity {
        /// Nothing is wrong.
        Info = "INFO",
        /// Somebody should look.
        Warn = "WARN",
    }
}

impl Severity {
    /// The severity of a directive's row: a clarify is a WARN.
    #[must_use]
    pub const fn of(directive: Directive) -> Self {
        if matches!(directive, Directive::Clarify) { Self::Warn } else { Self::Info }
    }
}

closed_enum! {
    /// Origin of a row's directive.
    pub enum DecidedBy {
        /// The branch table, in a turn.
        BranchTable = "BRANCH_TABLE",
        /// The caller of one of the five COMMIT_ROW capabilities.
        Caller = "CALLER",
    }
}

closed_enum! {
    /// Fate of words that were left unsaid.
    pub enum Fate {
        /// An interruption left them unsaid, and they are kept.
        Captured = "CAPTURED",
        /// They were said.
        Resumed = "RESUMED",
        /// They were not said, and are kept.
        KeptForLater = "KEPT_FOR_LATER",
        /// They were given up.
        Discarded = "DISCARDED",
    }
}

closed_enum! {
    /// Why.
    pub enum FateReason {
        /// Somebody began to speak.
        Interrupted = "INTERRUPTED",
        /// The same subject went on, with sufficient confidence.
        SameSubject = "SAME_SUBJECT",
        /// Another subject came up, and it was asked whether to go back.
        ReturnCheckAsked = "RETURN_CHECK_ASKED",
        /// The user said yes to going back.
        ReturnCheckYes = "RETURN_CHECK_YES",
        /// The user said no to going back.
        ReturnCheckNo = "RETURN_CHECK_NO",
        /// The user allowed what is kept in memory to be said, and this with it.
        MemoryPermitted = "MEMORY_PERMITTED",
        /// It is asked first whether what is kept in memory may be said.
        MemoryPermissionAsked = "MEMORY_PERMISSION_ASKED",
        /// The turn was about something else.
        OtherInput = "OTHER_INPUT",
        /// Too many interruptions inside each other: the oldest gives way.
        NestingLimit = "NESTING_LIMIT",
        /// The session was not active any more when the words were interrupted.
        SessionNotActive = "SESSION_NOT_ACTIVE",
        /// The session was closed.
        SessionClosed = "SESSION_CLOSED",
        /// The thread was closed.
        ThreadClosed = "THREAD_CLOSED",
        /// The turn that left them unsaid was refused.
        TurnRefused = "TURN_REFUSED",
        /// The plan that owned them was not committed in time.
        PlanLapsed = "PLAN_LAPSED",
        /// Another plan took the place of the plan that owned them.
        PlanReplaced = "PLAN_REPLACED",
        /// A turn or a row was taken without the plan that owned them.
        PlanPassedBy = "PLAN_PASSED_BY",
        /// The turn was refused, and an open plan or the thread keeps the same words.
        StillKept = "STILL_KEPT",
        /// It was not sure that anybody interrupted them, and they went on being said.
        NotSure = "NOT_SURE",
    }
}

/// Writes the enum, its names and its numbers from one table.
macro_rules! reason_codes {
    ($($number:literal $Member:ident $name:literal $doc:literal $(in $Class:ident)?,)+) => {
        crate::core::closed_enum! {
            /// Why a turn, a row or an expiry is what it is. Closed; the order is that of the
            /// encoding, so members are only ever added at the end. Some that go on, or change the
            /// subject, are for the rows of callers alone.
            pub enum ReasonCode {
                $(#[doc = $doc] $Member = $name,)+
            }
        }

        impl ReasonCode {
            /// The number in Holdpoint's own registry. Pinned for ever.
            #[must_use]
            pub const fn number(self) -> u32 {
                REGISTRY_BASE + match self { $(Self::$Member => $number,)+ }
            }

            /// Returns it as a sentence.
            #[must_use]
            pub const fn words(self) -> &'static str {
                match self { $(Self::$Member => $doc,)+ }
            }

            /// The seed's name.
            #[must_use]
            pub const fn code(self) -> &'static str {
                self.name()
            }

            /// The kind of rule that says no by it; `None`: none does.
            #[must_use]
            pub const fn class(self) -> Option<crate::core::forbidden::RefusalClass> {
                match self { $(Self::$Member => stated!(class $($Class)?),)+ }
            }

            /// Those by which a rule says no.
            pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
                Self::ALL.iter().filter(|code| code.class().is_some()).map(|code| code.name())
            }
        }
    };
}

/// The first number of the registry: `HX` and two zero bytes. The reference's begin at
/// `0x58000001`.
pub const REGISTRY_BASE: u32 = 0x4858_0000;

reason_codes! {
    0x01 SessionNotActive "X_SESSION_NOT_ACTIVE" "The session is suspended or closed.",
    0x02 InterruptCancel "X_INTERRUPT_CANCEL" "Speech stops; the next turn says what for.",
    0x03 LastFailure "X_LAST_FAILURE" "The last thing that was tried failed.",
    0x04 NlpClarify "X_NLP_CLARIFY" "The words themselves are not clear.",
    0x05 NlpChat "X_NLP_CHAT" "An answer in words.",
    0x06 ConfirmRequired "X_CONFIRM_REQUIRED" "An action needs a yes.",
    0x07 DispatchTool "X_DISPATCH_TOOL" "A read-only tool is asked.",
    0x08 ToolOk "X_TOOL_OK" "A tool answered.",
    0x09 ToolFail "X_TOOL_FAIL" "A tool failed.",
    0x0A ToolAmbiguous "X_TOOL_AMBIGUOUS" "A tool found several things.",
    0x0B ResumeContinue "X_RESUME_CONTINUE" "The user asked to go on.",
    0x0C ResumeMoreDetail "X_RESUME_MORE_DETAIL" "The user asked for more.",
    0x0D ResumeExpired "X_RESUME_EXPIRED" "There is nothing to go on with any more.",
    0x0E MemoryPermissionRequired "X_MEMORY_PERMISSION_REQUIRED"
        "What is kept in memory needs a yes before it is said.",
    0x0F ConfirmYesDispatch "X_CONFIRM_YES_DISPATCH" "The user said yes to an action.",
    0x10 ConfirmNoAbort "X_CONFIRM_NO_ABORT" "The user said no to an action.",
    0x11 ConfirmAnswerInvalid "X_CONFIRM_ANSWER_INVALID"
        "A yes or no to nothing that was asked." in Continuity,
    0x12 DispatchSimulationCandidate "X_DISPATCH_SIMULATION_CANDIDATE"
        "A candidate goes to simulation.",
    0x13 MemoryPermissionYes "X_MEMORY_PERMISSION_YES" "What is kept in memory may be said.",
    0x14 MemoryPermissionNo "X_MEMORY_PERMISSION_NO" "What is kept in memory may not be said.",
    0x15 ContinuitySpeakerMismatch "X_CONTINUITY_SPEAKER_MISMATCH"
        "Somebody else speaks than the thread knows." in Continuity,
    0x16 ContinuitySubjectMismatch "X_CONTINUITY_SUBJECT_MISMATCH"
        "The subject drifted while something was pending.",
    0x17 InterruptRelationUncertainClarify "X_INTERRUPT_RELATION_UNCERTAIN_CLARIFY"
        "It is not clear what an interruption is about.",
    0x18 InterruptSameSubjectAppend "X_INTERRUPT_SAME_SUBJECT_APPEND"
        "The remainder and the new answer are said as one.",
    0x19 InterruptSwitchTopic "X_INTERRUPT_SWITCH_TOPIC"
        "The subject changed.",
    0x1A InterruptReturnCheckAsked "X_INTERRUPT_RETURN_CHECK_ASKED"
        "The new subject is answered, and it is asked whether to go back.",
    0x1B InterruptResumeNow "X_INTERRUPT_RESUME_NOW" "The remainder is said.",
    0x1C InterruptDiscard "X_INTERRUPT_DISCARD" "The remainder is given up.",
    0x20 BufferExpired "X_BUFFER_EXPIRED"
        "What was left unsaid was kept for its time, and is gone.",
    0x21 ReturnCheckExpired "X_RETURN_CHECK_EXPIRED" "Nobody answered whether to go back.",
    0x22 SessionClosed "X_SESSION_CLOSED"
        "The session ended with words left unsaid, or something asked.",
    0x23 ThreadClosed "X_THREAD_CLOSED" "The thread ended.",
    0x40 FailWorkOrderScopeInvalid "X_FAIL_WORK_ORDER_SCOPE_INVALID"
        "The work order is not of this tenant and correlation, or not as stated." in Gating,
    0x41 FailLeaseRequired "X_FAIL_LEASE_REQUIRED"
        "No lease is held that allows a dispatch." in Gating,
    0x42 FailPendingStateInvalid "X_FAIL_PENDING_STATE_INVALID"
        "The thread waits for something else than stated, or for something that bars this."
        in Gating,
    0x43 FailCallerNotAllowed "X_FAIL_CALLER_NOT_ALLOWED"
        "The caller does not have the capability." in Scope,
    0x44 FailTenantScopeInvalid "X_FAIL_TENANT_SCOPE_INVALID"
        "Tenant, user, device or session do not belong together, or are not active." in Scope,
    0x45 FailIdempotencyConflict "X_FAIL_IDEMPOTENCY_CONFLICT"
        "The idempotency key stands for other content." in Idempotency,
    0x46 FailTurnOrder "X_FAIL_TURN_ORDER"
        "The turn is not newer than the thread's last one." in Continuity,
    0x47 FailThreadClosed "X_FAIL_THREAD_CLOSED"
        "The thread was closed." in Continuity,
    0x48 FailStaleVersion "X_FAIL_STALE_VERSION"
        "The thread has changed since the caller looked." in Continuity,
    0x24 NestingLimit "X_NESTING_LIMIT"
        "Too many interruptions inside each other: the oldest words gave way.",
    0x49 FailSnapshotStale "X_FAIL_SNAPSHOT_STALE"
        "What was interrupted is stated too late, or for a time to come." in Continuity,
    0x4A FailRelationInvalid "X_FAIL_RELATION_INVALID"
        "A relation without an interruption or unsaid words." in Continuity,
    0x4B FailPlanInvalid "X_FAIL_PLAN_INVALID"
        "No plan is open for the turn, or another one, or one that the command passes by, or what \
         is to be planned does not fit the thread." in Continuity,
    0x4C FailTranscriptNotFinal "X_FAIL_TRANSCRIPT_NOT_FINAL"
        "A turn is to be committed while the user still speaks." in Gating,
    0x4D FailCandidateNotSure "X_FAIL_CANDIDATE_NOT_SURE"
        "It is not sure that somebody interrupted." in Gating,
    0x4E FailHypothesisNotSure "X_FAIL_HYPOTHESIS_NOT_SURE"
        "It is not sure what the user means." in Gating,
    0x25 PlanLapsed "X_PLAN_LAPSED"
        "A plan was not committed in time.",
    0x26 PlanReplaced "X_PLAN_REPLACED"
        "A newer plan, or newer words, took the place.",
    0x27 PlanPassedBy "X_PLAN_PASSED_BY"
        "A turn or a row passed a plan by.",
}

impl ReasonCode {
    /// Returns whether the code says that something was refused. No committed row carries one.
    #[must_use]
    pub const fn is_refusal(self) -> bool {
        self.number() >= REGISTRY_BASE + 0x40
    }

    /// Returns whether only a turn, an expiry or a closing says so: it tells what became of words
    /// that were left unsaid, which no caller's row changes.
    #[must_use]
    pub const fn is_of_remainders(self) -> bool {
        matches!(
            self,
            Self::InterruptSameSubjectAppend
                | Self::InterruptReturnCheckAsked
                | Self::InterruptResumeNow
                | Self::InterruptDiscard
                | Self::BufferExpired
                | Self::ReturnCheckExpired
                | Self::SessionClosed
                | Self::ThreadClosed
                | Self::NestingLimit
                | Self::PlanLapsed
                | Self::PlanReplaced
                | Self::PlanPassedBy
        )
    }

    /// Returns whether the code is an outcome of interruption continuity: what HEALTH reports.
    #[must_use]
    pub const fn is_branch_outcome(self) -> bool {
        self.is_of_remainders()
            || matches!(
                self,
                Self::InterruptCancel
                    | Self::ResumeExpired
                    | Self::ContinuitySpeakerMismatch
                    | Self::ContinuitySubjectMismatch
                    | Self::InterruptRelationUncertainClarify
                    | Self::InterruptSwitchTopic
                    | Self::ConfirmAnswerInvalid
                    | Self::FailSnapshotStale
                    | Self::FailRelationInvalid
            )
    }
}
