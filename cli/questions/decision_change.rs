//! What every verb has in common that changes one decision: which one, in whose name, and under
//! which conditions.

use crate::args::principal::Speaker;
use crate::args::{Global, LockWaitArgs};
use crate::questions::confirm::Offer;
use crate::questions::decision_output::{Told, came_to, show};
use crate::questions::decision_session::{DecisionSession, Only};
use crate::questions::decision_view::Doubts;
use crate::questions::long_over;
use crate::questions::offered_options::HOW_TO_REJECT;
use crate::questions::permits::Act;
use crate::questions::rejecting::{expect_a_no, expect_asked_once, expect_refined_rejecting};
use crate::ui::{Exit, Failure, closest, excerpt, now};
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::decision_point::{
    DecisionPoint, DecisionPointCommand, DecisionPointRefusal, Response,
};
use holdpoint_engine::shell::TypedLine;
use serde_json::json;

/// Which decision is changed, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Change {
    /// The decision: its id, at least six of its digits, or the issue of its one open decision.
    #[arg(value_name = "ID")]
    decision: String,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    turn: LockWaitArgs,
}

impl Change {
    /// As another verb is given it.
    pub(crate) fn of(decision: String, speaker: Speaker, only: Only, turn: LockWaitArgs) -> Self {
        Self { decision, speaker, only, turn }
    }

    /// Hands in the command on the decision, of whoever gives it, and tells what that came to.
    pub(crate) fn carry_out(
        &self,
        global: &Global,
        act: Act,
        command: impl FnOnce(String, Principal) -> Command,
        what: impl FnOnce(&DecisionPoint) -> String,
    ) -> Result<Exit, Failure> {
        show(global, &self.hand_in(global, act, command)?, what)
    }

    /// Hands it in: what that came to. Random bits that the command takes are supplied.
    pub(crate) fn hand_in(
        &self,
        global: &Global,
        act: Act,
        command: impl FnOnce(String, Principal) -> Command,
    ) -> Result<Told, Failure> {
        let session = DecisionSession::open(global, &self.turn, false)?;
        let point = match session.find(&self.decision, act) {
            Ok(point) => point,
            Err(unknown) => {
                // What it takes is not known: an answer to it may be a person's.
                let by = self.speaker.principal(true);
                let command = |decision_id| command(decision_id, by);
                return long_over::look_up(global, session, unknown, &self.decision, command);
            }
        };
        let by = self.speaker.principal(point.needs_person());
        let mut command = command(point.decision_id.to_string(), by.clone());
        let answers = matches!(
            command,
            Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(_))
        );
        // Only whoever asked, as whatever they are, or a person changes what was asked.
        let by = match (answers, by.id == point.requested_by.id) {
            (true, _) => by,
            (false, is_asker) => self.speaker.principal(!is_asker),
        };
        command.principal_mut().into_iter().for_each(|said| *said = by.clone());
        self.expect_meant(global, &session, &point, &command)?;
        let command = match command.entropy() {
            Some(_) => command.with_entropy(session.entropy()?),
            None => command,
        };
        let line = self
            .typed(global, &session, &point, &command)
            .map_err(|failure| advised(failure, &point, &command))?;
        let submitted = session.submit_as(&point, &by, &self.only, &command, line)?;
        let told = came_to(session, &point.decision_id, submitted);
        told.map_err(|failure| advised(failure, &point, &command))
    }

    /// The word by which a person answers where one has to and may be at a terminal. An answer in
    /// another's name or as a program, and one where the policy takes any name, is an argument.
    fn typed(
        &self,
        global: &Global,
        session: &DecisionSession<'_>,
        point: &DecisionPoint,
        command: &Command,
    ) -> Result<Option<TypedLine>, Failure> {
        let Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(given)) = command
        else {
            return Ok(None);
        };
        let is_by_argument = !point.is_open() || !point.needs_person() || !self.speaker.is_user();
        if is_by_argument {
            return Ok(None);
        }
        expect_offered(session, point, &given.response)?;
        let doubts = session.look(|world| Doubts::of(world, point, now()))?;
        let answer = (&given.response, given.comment.as_deref());
        let line = Offer::of_decision(global, point, doubts, answer).typed()?;
        // Where nobody typed, nothing was shown.
        if line.is_some() {
            expect_as_shown(session, point)?;
        }
        Ok(line)
    }

    /// That the command means the question that was read, which its version names as well as its
    /// id, and that an approval of an action is one that could be refused.
    fn expect_meant(
        &self,
        global: &Global,
        session: &DecisionSession<'_>,
        point: &DecisionPoint,
        command: &Command,
    ) -> Result<(), Failure> {
        use DecisionPointCommand::{CancelDecisionPoint, RespondToDecisionPoint};
        let ends = matches!(
            command,
            Command::DecisionPoint(CancelDecisionPoint(_) | RespondToDecisionPoint(_))
        );
        let told = |failure: Failure| {
            let current = session.value(point)?;
            Ok(failure.with("decision_id", json!(point.decision_id)).with("current", current))
        };
        let mut meant = Ok(());
        if ends && !self.only.names_version() {
            meant =
                session.look(|world| expect_asked_once(global, world, &self.decision, point))?;
        }
        let meant = meant
            .and_then(|()| expect_a_no(point, command))
            .and_then(|()| expect_refined_rejecting(point, command, HOW_TO_REJECT));
        meant.or_else(|failure| Err(told(failure)?))
    }
}

/// Fails where the question was put anew while the word was typed: what was shown is not what it
/// says now.
fn expect_as_shown(session: &DecisionSession<'_>, shown: &DecisionPoint) -> Result<(), Failure> {
    let now = session.find(&shown.decision_id, Act::Choose)?;
    if !now.is_open() || (now.terms == shown.terms && now.state == shown.state) {
        return Ok(());
    }
    let message = format!(
        "decision {} was put anew while the word was typed: read it again, and answer that",
        shown.decision_id
    );
    Err(Failure::new(Exit::CONFLICT, "changed_meanwhile", message))
}

/// That an option is one of the question's: nobody types a word that answers nothing.
fn expect_offered(
    session: &DecisionSession<'_>,
    point: &DecisionPoint,
    response: &Response,
) -> Result<(), Failure> {
    let Response::Option(wanted) = response else { return Ok(()) };
    let ids = point.terms.proposal.options.iter().map(|option| option.id.as_str());
    if ids.clone().any(|id| id == wanted.as_str()) {
        return Ok(());
    }
    let refusal = DecisionPointRefusal::BadOption {
        decision_id: point.decision_id.to_string(),
        found: excerpt(wanted),
        options: ids.collect::<Vec<_>>().join(", "),
    };
    Err(session.refused(&refusal.into(), Some(&point.decision_id))?)
}

/// The refusal of an option that is not offered says what was meant, or how a text is given.
fn advised(failure: Failure, point: &DecisionPoint, command: &Command) -> Failure {
    let Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(given)) = command
    else {
        return failure;
    };
    let Response::Option(wanted) = &given.response else { return failure };
    if failure.code() != "bad_option" {
        return failure;
    }
    let options = &point.terms.proposal.options;
    if options.is_empty() {
        return failure.adding(", by `--text TEXT`");
    }
    match closest(options.iter().map(|option| &*option.id), wanted) {
        Some(id) => failure.adding(&format!("; did you mean {id}?")),
        None => failure,
    }
}
