//! Decision points: every event's body, and what bodies are made of.

use super::{made_of, one_of};
use crate::decision_point::{
    ActionBinding, ApprovalPolicy, DecisionOption, EvidenceAttachment, Principal, Proposal,
    Response, Terms,
};
use crate::event::{
    ApprovalConsumed, ApprovalLapsed, DecisionPointAborted, DecisionPointCancelled,
    DecisionPointCreated, DecisionPointEscalated, DecisionPointRefined, DecisionPointReminded,
    DecisionPointResolved, DecisionPointSuperseded, DefaultTaken, DependentsReleased,
    GuidanceGiven, LateResponseRecorded, RoundOpened, VoteCast,
};

// What happened.
made_of! {
    DecisionPointCreated { decision_id, by, terms, separation }
    DecisionPointRefined { decision_id, by, proposal }
    GuidanceGiven { decision_id, by, guidance, comment, next_id }
    RoundOpened { decision_id, prior_id, iteration, expires_at }
    VoteCast { decision_id, by, response, comment }
    DecisionPointResolved { decision_id, by, response, comment }
    DefaultTaken { decision_id, option_id, expires_at }
    DecisionPointAborted { decision_id, expires_at }
    DecisionPointCancelled { decision_id, by, reason }
    DecisionPointSuperseded { decision_id, by, superseded_by }
    DecisionPointReminded { decision_id, by }
    DecisionPointEscalated { decision_id, by, to, reason }
    LateResponseRecorded { decision_id, by, response, comment }
    ApprovalConsumed { decision_id, by, binding }
    ApprovalLapsed { decision_id, valid_until }
    DependentsReleased { decision_id, blocks }
}

// What is asked and answered.
made_of! {
    Principal { kind, id, authenticated_by, means }
    DecisionOption { id, short, label, description, reject }
    Proposal { prompt, context, options, default_option }
    EvidenceAttachment { sha256, bytes, media_type, label }
    ActionBinding { tool, input_sha256 }
    ApprovalPolicy {
        approvers, quorum, allow_requester, allow_agents, authentication, default_approves,
    }
    Terms {
        issue_id, proposal, allow_text, on_timeout, expires_at, round_timeout_ms, max_iterations,
        urgency, policy, blocks, evidence, binding, valid_for_ms, supersedes,
    }
}

one_of! {
    Response:
        |input| input.arbitrary().map(Response::Option),
        |input| input.arbitrary().map(Response::Text),
        |_| Ok(Response::Accept),
        |input| input.arbitrary().map(Response::Guidance),
}
