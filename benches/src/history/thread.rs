//! Conversations with interruptions: long threads of turns, each about a work order of its own.

use super::life::{Move, Submission};
use super::random::Random;
use super::words::person;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::interruption_thread::{
    Advice, ConfidenceBand, ConfidenceBundle, ConfirmAnswer, DegradationContext, GateConfidences,
    Interruption, InterruptionThreadCommand, PendingState, RiskContextClass, SpeechWindowMetrics,
    SubjectRelation, TakeTurn, ThreadCommand, TimingMarkers, TtsResumeSnapshot, TurnInput,
    TurnRequest,
};
use holdpoint_domain::registration::{
    Capability, ChangeCapability, RegisterDevice, RegisterSession, RegisterTenant, RegisterUser,
    RegisterWorkOrder, RegistrationCommand, RegistrationStatus, SessionStatus, WorkOrderStatus,
};
use holdpoint_domain::{ActorId, Command, World};

const TENANT: &str = "acme";
const USER: &str = "user_1";
const DEVICE: &str = "device_1";
const SESSION: &str = "session_1";
const SAID: &str = "It ships on Monday. It arrives on Tuesday.";

/// A conversation, and how far it is.
pub(super) struct ThreadLife {
    correlation: String,
    step: u64,
    /// Turns to come, then its end.
    turns: u64,
}

impl ThreadLife {
    pub(super) fn new(random: &mut Random, number: u64) -> Self {
        let turns = 4 * random.skewed(10) + random.below(20);
        Self { correlation: format!("conversation-{number}"), step: 0, turns }
    }

    /// The work order, the turns, the end of the thread, the end of the work order.
    pub(super) fn go_on(&mut self, random: &mut Random, now: u64) -> Move {
        let turn = self.step;
        self.step += 1;
        let command = match turn {
            0 => self.order(WorkOrderStatus::Executing),
            turn if turn <= self.turns => self.turn(turn, random, now),
            turn if turn == self.turns + 1 => {
                Command::InterruptionThread(InterruptionThreadCommand::CloseThread(ThreadCommand {
                    tenant_id: TENANT.to_string(),
                    correlation_id: self.correlation.clone(),
                }))
            }
            turn if turn == self.turns + 2 => self.order(WorkOrderStatus::Completed),
            _ => return Move::Over,
        };
        let correlation = self.correlation.clone();
        Move::Give(Box::new(Submission {
            may_be_late: true,
            ..given(caller(), &correlation, command)
        }))
    }

    pub(super) fn is_live(&self, world: &World) -> bool {
        let thread = world.thread(TENANT, &self.correlation);
        thread.map_or(self.step <= 1, |thread| !thread.is_closed)
    }

    fn order(&self, status: WorkOrderStatus) -> Command {
        Command::Registration(RegistrationCommand::RegisterWorkOrder(RegisterWorkOrder {
            tenant_id: TENANT.to_string(),
            work_order_id: format!("order of {}", self.correlation),
            correlation_id: self.correlation.clone(),
            status,
        }))
    }

    /// Mostly answers; every fourth turn or so is an interruption and what follows from it.
    fn turn(&self, turn_id: u64, random: &mut Random, now: u64) -> Command {
        let request = match turn_id % 8 {
            3 => barge_in(now),
            4 => switching(chat("weather", "It will rain.")),
            5 => yes("weather"),
            _ => chat("order", &String::from_utf8_lossy(&random.text(80))),
        };
        Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(TakeTurn {
            tenant_id: TENANT.to_string(),
            correlation_id: self.correlation.clone(),
            turn_id,
            session_id: Some(SESSION.to_string()),
            user_id: USER.to_string(),
            device_id: DEVICE.to_string(),
            work_order_id: format!("order of {}", self.correlation),
            work_order_status_snapshot: WorkOrderStatus::Executing,
            pending_state: PendingState::None,
            idempotency_key: format!("turn {turn_id}"),
            lease_token_hash: None,
            request: request.into(),
        }))
    }
}

/// The caller is allowed, and there is a tenant with a user, a device and a session.
pub(super) fn set_up() -> Vec<Submission> {
    let (tenant_id, status) = (TENANT.to_string(), RegistrationStatus::Active);
    let [user_id, device_id, session_id] = [USER, DEVICE, SESSION].map(String::from);
    let allowed = Command::Registration(RegistrationCommand::ChangeCapability(ChangeCapability {
        actor_kind: caller().kind,
        actor_id: caller().id,
        capability: Capability::SeleneOsOnly,
        is_granted: true,
    }));
    let registered = [
        Command::Registration(RegistrationCommand::RegisterTenant(RegisterTenant {
            tenant_id: tenant_id.clone(),
            status,
        })),
        Command::Registration(RegistrationCommand::RegisterUser(RegisterUser {
            tenant_id: tenant_id.clone(),
            user_id: user_id.clone(),
            status,
        })),
        Command::Registration(RegistrationCommand::RegisterDevice(RegisterDevice {
            tenant_id: tenant_id.clone(),
            device_id: device_id.clone(),
            user_id: user_id.clone(),
            status,
        })),
        Command::Registration(RegistrationCommand::RegisterSession(RegisterSession {
            tenant_id,
            session_id,
            user_id,
            device_id,
            status: SessionStatus::Active,
        })),
    ];
    let story = "set up";
    let rest = registered.into_iter().map(|command| given(caller(), story, command));
    std::iter::once(given(person(), story, allowed)).chain(rest).collect()
}

fn given(actor: ActorId, correlation: &str, command: Command) -> Submission {
    let (correlation, key) = (correlation.to_string(), None);
    Submission { actor, correlation, key, may_be_late: false, command }
}

fn caller() -> ActorId {
    ActorId { kind: Actor::Automation, id: "selene-os".to_string() }
}

fn chat(subject: &str, words: &str) -> TurnRequest {
    let input = TurnInput::Chat { response_text: words.into() };
    TurnRequest { input, ..silent(subject) }
}

fn yes(subject: &str) -> TurnRequest {
    TurnRequest { confirm_answer: Some(ConfirmAnswer::Yes), ..silent(subject) }
}

/// Surely about another subject than what was interrupted.
fn switching(request: TurnRequest) -> TurnRequest {
    TurnRequest {
        interrupt_subject_relation: Some(SubjectRelation::Switch),
        interrupt_subject_relation_confidence_bp: Some(points(9_000)),
        ..request
    }
}

/// The user begins to speak of something else now, with a sentence left unsaid.
fn barge_in(now: u64) -> TurnRequest {
    TurnRequest {
        interruption: Some(interruption(now)),
        tts_resume_snapshot: Some(TtsResumeSnapshot {
            answer_id: 1,
            topic_hint: None,
            response_text: SAID.into(),
            spoken_cursor_byte: 19,
        }),
        ..switching(silent("weather"))
    }
}

fn silent(subject: &str) -> TurnRequest {
    TurnRequest {
        subject_ref: subject.into(),
        active_speaker_user_id: USER.into(),
        input: TurnInput::None,
        confirm_answer: None,
        interruption: None,
        interrupt_subject_relation: None,
        interrupt_subject_relation_confidence_bp: None,
        tts_resume_snapshot: None,
        sensitive_memory_present: false,
        advice: Advice::default(),
    }
}

fn interruption(t_event: u64) -> Interruption {
    let sure = points(9_500);
    Interruption {
        phrase_id: 9,
        trigger_phrase_id: 9,
        trigger_locale: "en-US".into(),
        phrase_text: "wait".into(),
        phrase_set_version: 1,
        phrase_confidence_bp: sure,
        candidate_confidence_band: ConfidenceBand::High,
        risk_context_class: RiskContextClass::Low,
        degradation_context: DegradationContext::default(),
        timing_markers: TimingMarkers { window_start: t_event, window_end: t_event },
        t_event,
        speech_window_metrics: SpeechWindowMetrics { voiced_window_ms: 200 },
        gate_confidences: GateConfidences {
            vad_bp: sure,
            speech_likeness_bp: sure,
            echo_safe_bp: sure,
            phrase_bp: sure,
            nearfield_bp: None,
        },
        subject_relation_confidence_bundle: ConfidenceBundle {
            lexical_bp: sure,
            vad_bp: sure,
            speech_likeness_bp: sure,
            echo_safe_bp: sure,
            nearfield_bp: None,
            combined_bp: sure,
        },
    }
}

fn points(basis_points: u16) -> BasisPoints {
    BasisPoints::new(basis_points).unwrap_or_default()
}
