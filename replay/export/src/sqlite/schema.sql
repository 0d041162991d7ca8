-- What was recorded: one row for each selected record, and the same apart for what is asked for
-- most. Times are RFC 3339 in UTC.

CREATE TABLE records (
    sequence INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    more_follows INTEGER NOT NULL,
    payload TEXT NOT NULL,              -- event, withheld or unreadable
    actor_kind TEXT,
    actor_id TEXT,
    proof_by TEXT,                      -- none: the actor is a claim; NULL: the record states no proof
    proof_user INTEGER,                 -- the number of the user whose process it was
    correlation TEXT,
    causation INTEGER,
    idempotency_tenant TEXT,
    idempotency_engine TEXT,
    idempotency_key TEXT,
    idempotency_content TEXT,           -- SHA-256 of what the key stands for
    loop_id TEXT,
    decision_id TEXT,
    summary TEXT NOT NULL,
    link TEXT NOT NULL,
    event TEXT,                         -- canonical JSON, raw evidence as length and SHA-256
    standing TEXT NOT NULL              -- proven, withheld or unproven
);

CREATE TABLE evidence (
    sequence INTEGER PRIMARY KEY,
    loop_id TEXT NOT NULL,
    chain_id TEXT NOT NULL,
    chain_index INTEGER NOT NULL,
    record_id TEXT NOT NULL,
    observation_point TEXT NOT NULL,
    evidence_type TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    length INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    prior_hash TEXT NOT NULL,
    self_hash TEXT NOT NULL,
    injective_hash TEXT NOT NULL,
    content TEXT NOT NULL,              -- JSON
    raw_data BLOB                       -- only with --include-evidence
);

-- What commands printed, piece by piece, in the order in which it came.
CREATE TABLE output (
    sequence INTEGER PRIMARY KEY,
    loop_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    stream TEXT NOT NULL,
    byte_offset INTEGER NOT NULL,       -- where in the stream the piece begins
    first_byte_at TEXT NOT NULL,        -- by the recorder's clock
    length INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    missing_before INTEGER,             -- bytes that are not recorded, once some are not
    running_sha256 TEXT,                -- then: of the stream up to the end of the piece
    raw_data BLOB                       -- only with --include-evidence
);

-- The audit rows of interruption threads, committed and refused, with the seed's keys.
CREATE TABLE interruption_rows (
    audit_event_id INTEGER NOT NULL,    -- the record's sequence
    time TEXT NOT NULL,
    outcome TEXT NOT NULL,              -- committed, refused, or ended by no turn
    tenant_id TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    turn_id INTEGER,                    -- of what ended: the turn that left the words unsaid
    session_id TEXT,
    user_id TEXT,
    device_id TEXT,
    event_type TEXT,
    severity TEXT,
    reason_code TEXT NOT NULL,
    idempotency_key TEXT,
    issue_fingerprint TEXT,
    decided_by TEXT,
    directive TEXT,
    confirm_kind TEXT,
    what_is_missing TEXT,
    clarification_unit_id TEXT,
    response_kind TEXT,
    dispatch_target TEXT,
    wait_kind TEXT,
    work_order_id TEXT,
    work_order_status_snapshot TEXT,
    pending_state TEXT,
    lease_token_hash TEXT,
    interrupt_resume_policy TEXT,
    command TEXT,                       -- of a refusal
    message TEXT,                       -- of a refusal
    tts_control TEXT,                   -- of a refusal
    remainders TEXT,                    -- the words that a turn touches, or a refusal left unsaid
    answer_id INTEGER,                  -- of what ended: the answer that the words belong to
    passed_to_turn INTEGER,             -- of a plan that ended: the turn under which they go on
    UNIQUE (audit_event_id, turn_id)
);

-- What it comes to under the rules, at the selection's end: what the rules forbid counts for
-- nothing here. Entities that no selected batch has changed are left out.

CREATE TABLE execution_loops (
    loop_id TEXT NOT NULL,
    executor_id TEXT NOT NULL,
    instruction_envelope_hash TEXT NOT NULL,
    command_line TEXT NOT NULL,
    current_state TEXT NOT NULL,
    halt_reason TEXT,
    stop_condition TEXT,
    stop_details TEXT,
    halt_fault TEXT,
    max_attempts INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    retry_ceiling TEXT NOT NULL,
    timeout_ms INTEGER,
    evidence_records INTEGER,
    chain_id TEXT,
    head_hash TEXT,
    sealed INTEGER,
    actor_kind TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    correlation TEXT NOT NULL,
    started_at TEXT NOT NULL,
    started_sequence INTEGER NOT NULL,
    ended_at TEXT,
    ended_sequence INTEGER,
    version INTEGER NOT NULL,           -- the last record that changed it
    PRIMARY KEY (loop_id, started_sequence)
);

-- Questions put to a person at a hold point, and the answers.
CREATE TABLE decisions (
    request_id TEXT NOT NULL,
    loop_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL,
    allowed_decisions TEXT NOT NULL,    -- JSON array
    created_at TEXT NOT NULL,
    warning_at TEXT NOT NULL,
    timeout_at TEXT NOT NULL,
    timeout_decision TEXT NOT NULL,
    escalation_depth INTEGER NOT NULL,
    asked_of TEXT,
    escalated_from TEXT,
    decision_id TEXT,
    human_id TEXT,
    decision TEXT,
    reason TEXT,
    escalation_target TEXT,
    outcome TEXT,
    means TEXT,                         -- JSON
    decided_at TEXT,
    decided_sequence INTEGER,
    late_answers INTEGER NOT NULL,
    requested_sequence INTEGER NOT NULL,
    started_sequence INTEGER NOT NULL,  -- of the loop
    PRIMARY KEY (request_id, requested_sequence)
);

-- Decision points: the seed's columns by its names, then what it does not have. One row for each
-- round, so that the round's own id is the key; an issue may be asked about more than once.
CREATE TABLE decision_points (
    issue_id TEXT,
    prompt TEXT NOT NULL,
    options TEXT NOT NULL,              -- JSON array
    default_option TEXT,
    selected_option TEXT,
    response_text TEXT,
    responded_at DATETIME,
    responded_by TEXT,
    iteration INTEGER DEFAULT 1,
    max_iterations INTEGER DEFAULT 3,
    prior_id TEXT,                      -- the round before
    guidance TEXT,
    requested_by TEXT,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
    decision_id TEXT PRIMARY KEY,
    chain_id TEXT NOT NULL,             -- the first round
    next_id TEXT,
    state TEXT NOT NULL,
    resolution_kind TEXT,
    comment TEXT,
    guidance_given TEXT,
    urgency TEXT NOT NULL,
    expires_at DATETIME,
    on_timeout TEXT NOT NULL,
    approved INTEGER NOT NULL,
    consumed_at DATETIME,
    consumed_by TEXT,
    superseded_by TEXT,
    correlation TEXT NOT NULL,
    version INTEGER NOT NULL            -- the last record that changed it
);

-- One row: what this file was made of.
CREATE TABLE export (
    log_id TEXT,
    verdict TEXT NOT NULL,
    records INTEGER NOT NULL,
    head_sequence INTEGER,
    head_link TEXT,
    first_finding TEXT,
    includes_evidence INTEGER NOT NULL,
    tied_from INTEGER,                  -- from here to witnessed_to all records are tied to a witness
    witnessed_to INTEGER,
    no_witness_from INTEGER             -- the first record behind it, where there is one
);

CREATE INDEX records_by_loop ON records (loop_id) WHERE loop_id IS NOT NULL;
CREATE INDEX records_by_decision ON records (decision_id) WHERE decision_id IS NOT NULL;
CREATE INDEX records_by_correlation ON records (correlation);
CREATE INDEX evidence_by_loop ON evidence (loop_id);
