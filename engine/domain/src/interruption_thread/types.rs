//! The closed sets of PH1.X. Where the seed names values they are the seed's; where it names only
//! the field (statuses, pending states, kinds of intents) the values are chosen here.

use crate::closed::closed_enum;

closed_enum! {
    /// Whether something that is registered may be used. A tenant, a user or a device that is not
    /// ACTIVE is outside of every scope. CLOSED is final.
    pub enum RegistrationStatus {
        /// May be used.
        Active = "ACTIVE",
        /// May not be used for now.
        Suspended = "SUSPENDED",
        /// May not be used any more.
        Closed = "CLOSED",
    }
}

closed_enum! {
    /// Where a session is. CLOSED is final, and closing a session settles what was left unsaid in
    /// it.
    pub enum SessionStatus {
        /// Speech may be answered.
        Active = "ACTIVE",
        /// Nothing is said for now.
        Suspended = "SUSPENDED",
        /// Nothing is said any more.
        Closed = "CLOSED",
    }
}

closed_enum! {
    /// Where a work order is. The last three are final: nothing is dispatched under them.
    pub enum WorkOrderStatus {
        /// Being put together.
        Draft = "DRAFT",
        /// Something is missing.
        Clarify = "CLARIFY",
        /// Waits for a person's yes.
        Confirm = "CONFIRM",
        /// Being carried out.
        Executing = "EXECUTING",
        /// Carried out.
        Completed = "COMPLETED",
        /// Could not be carried out.
        Failed = "FAILED",
        /// Given up.
        Canceled = "CANCELED",
    }
}

impl WorkOrderStatus {
    /// Whether nothing more is done under the work order.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

closed_enum! {
    /// Where a lease is. It also ends by itself at its `expires_at`.
    pub enum LeaseStatus {
        /// Held.
        Active = "ACTIVE",
        /// Given back by its holder.
        Released = "RELEASED",
        /// Taken away.
        Revoked = "REVOKED",
    }
}

closed_enum! {
    /// What a thread waits for.
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
    /// What a turn comes to. Every turn comes to exactly one.
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
    /// How an interruption relates to what was interrupted (`interrupt_subject_relation`).
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
    /// What happens to speech that is under way.
    pub enum TtsControl {
        /// It stops.
        Cancel = "CANCEL",
    }
}

closed_enum! {
    /// How a directive reaches the user.
    pub enum DeliveryHint {
        /// Said and shown.
        AudibleAndText = "AUDIBLE_AND_TEXT",
        /// Not at all.
        Silent = "SILENT",
    }
}

closed_enum! {
    /// What an intent needs. The vocabulary of intents is the caller's; this is what the rules ask.
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
    /// Whether the user asked, in words, for what was left unsaid.
    #[must_use]
    pub const fn is_resume(self) -> bool {
        matches!(self, Self::Continue | Self::MoreDetail)
    }
}

closed_enum! {
    /// How a tool answered.
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
    /// What a DISPATCH hands over (`dispatch_target` of a turn's row).
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
    /// How much a row matters.
    pub enum Severity {
        /// As it should be.
        Info = "INFO",
        /// Somebody should look.
        Warn = "WARN",
    }
}

impl Severity {
    /// The severity of a directive's row: a clarify is a WARN.
    #[must_use]
    pub const fn of(directive: Directive) -> Self {
        match directive {
            Directive::Clarify => Self::Warn,
            _ => Self::Info,
        }
    }
}

closed_enum! {
    /// Who chose a row's directive.
    pub enum DecidedBy {
        /// The branch table, in a turn.
        BranchTable = "BRANCH_TABLE",
        /// The caller of one of the five COMMIT_ROW capabilities.
        Caller = "CALLER",
    }
}

closed_enum! {
    /// What became of words that were left unsaid.
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
    }
}

closed_enum! {
    /// What a caller may be allowed (`allowed_callers` of every capability of the seed).
    pub enum Capability {
        /// The seven capabilities of PH1.X, and the registrations that they presume.
        SeleneOsOnly = "SELENE_OS_ONLY",
    }
}
