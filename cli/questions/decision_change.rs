//! A change of one decision: in whose name, and under which conditions.

use crate::args::principal::Speaker;
use crate::args::{Global, LockWaitArgs};
use crate::questions::confirm::Offer;
use crate::questions::decision_output::{ChangeOutput, naming_what_started};
use crate::questions::decision_session::{DecisionSession, Only};
use crate::questions::decision_view::Doubts;
use crate::questions::long_over;
use crate::questions::offered_options::HOW_TO_REJECT;
use crate::questions::permits::{Act, Doer};
use crate::questions::rejecting::{expect_asked_once, expect_rejectable};
use crate::ui::{Exit, Failure, closest, excerpt, now};
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    DecisionPoint, DecisionPointCommand, DecisionPointRefusal, RespondToDecisionPoint, Response,
};
use holdpoint_engine::shell::TypedLine;
use serde_json::json;

/// Options of everything that acts on a decision: in whose name, and under which conditions.
#[derive(Debug, clap::Args)]
pub(crate) struct ActArgs {
    #[command(flatten)]
    pub(crate) speaker: Speaker,
    #[command(flatten)]
    pub(crate) only: Only,
    #[command(flatten)]
    pub(crate) turn: LockWaitArgs,
}

/// A decision, and how it is changed.
#[derive(Debug, clap::Args)]
pub(crate) struct Change {
    /// ID of the decision, at least six of its digits, or the issue of its one open decision.
    #[arg(value_name = "ID")]
    pub(crate) decision: String,
    #[command(flatten)]
    pub(crate) by: ActArgs,
}

/// Returns the command of an answer, of its decision and its principal. Its random bits are
/// supplied where it is handed in.
pub(crate) fn responding(
    response: Response,
    comment: Option<String>,
) -> impl FnOnce(String, Principal) -> DecisionPointCommand {
    let entropy = Entropy::default();
    move |decision_id, by| {
        let answer = RespondToDecisionPoint { decision_id, entropy, by, response, comment };
        DecisionPointCommand::RespondToDecisionPoint(answer)
    }
}

impl ActArgs {
    /// The user of this process, at once and whatever version the decision has.
    pub(crate) fn of_user(turn: LockWaitArgs) -> Self {
        Self { speaker: Speaker::default(), only: Only::default(), turn }
    }

    /// In whose name an act is done. Of a decision that is not in the state, an answer may be a
    /// person's.
    fn principal(&self, act: Act, point: Option<&DecisionPoint>) -> Principal {
        let is_for_person = point.is_none_or(DecisionPoint::needs_person);
        self.speaker.principal(match act.doer() {
            Doer::Anybody => false,
            Doer::Answerer => is_for_person,
            Doer::Requester => {
                let by = self.speaker.principal(is_for_person);
                let is_other = |asker: &Principal| !asker.is_holdpoint() && by.id != asker.id;
                point.is_none_or(|point| is_other(&point.requested_by))
            }
        })
    }
}

impl Change {
    /// Hands in the command on the decision, of whoever gives it, and tells what that came to.
    pub(crate) fn carry_out(
        &self,
        global: &Global,
        act: Act,
        command: impl FnOnce(String, Principal) -> DecisionPointCommand,
        what: impl FnOnce(&DecisionPoint) -> String,
    ) -> Result<Exit, Failure> {
        self.hand_in(global, act, command)?.show(global, what)
    }

    /// Hands it in: what that came to. Random bits that the command takes are supplied.
    pub(crate) fn hand_in(
        &self,
        global: &Global,
        act: Act,
        command: impl FnOnce(String, Principal) -> DecisionPointCommand,
    ) -> Result<ChangeOutput, Failure> {
        let session = DecisionSession::open(global, &self.by.turn, false)?;
        let point = match session.find(&self.decision, act) {
            Ok(point) => point,
            Err(unknown) => {
                let command = |id| command(id, self.by.principal(act, None));
                return long_over::look_up(global, session, unknown, &self.decision, command);
            }
        };
        let by = self.by.principal(act, Some(&point));
        let command = Command::DecisionPoint(command(point.decision_id.to_string(), by.clone()));
        self.expect_meant(global, &session, (&point, act), &command)?;
        let command = command.with_entropy(session.entropy()?);
        let line = self
            .typed(global, &session, &point, &command)
            .map_err(|failure| advised(failure, &point, &command))?;
        let submitted = session.submit(&point, &by, &self.by.only, &command, line)?;
        let output = ChangeOutput::of(&session, &point.decision_id, submitted);
        let output = output.or_else(|failure| {
            let failure = naming_what_started(&session, &point.decision_id, failure)?;
            Err(advised(failure, &point, &command))
        });
        session.close()?;
        output
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
        let is_by_argument =
            !point.is_open() || !point.needs_person() || !self.by.speaker.is_user();
        if is_by_argument {
            return Ok(None);
        }
        expect_offered(session, point, &point.meant(&given.response))?;
        let doubts = session.look(|world| Doubts::of(world, point, now()))?;
        let answer = (&given.response, given.comment.as_deref());
        let line = Offer::of_decision(global, point, doubts, answer).typed()?;
        // Where nobody typed, nothing was shown.
        if line.is_some() {
            expect_as_shown(session, point)?;
        }
        Ok(line)
    }

    /// Checks that the command means the question that was read, which its version names as well
    /// as its id, and that an approval of an action is one that could be refused.
    fn expect_meant(
        &self,
        global: &Global,
        session: &DecisionSession<'_>,
        (point, act): (&DecisionPoint, Act),
        command: &Command,
    ) -> Result<(), Failure> {
        let meant = match act.may_end() && !self.by.only.names_version() {
            true => {
                session.look(|world| expect_asked_once(global, world, &self.decision, point))?
            }
            false => Ok(()),
        };
        let meant = meant.and_then(|()| expect_rejectable(point, command, HOW_TO_REJECT));
        meant.or_else(|failure| {
            let current = session.value(point)?;
            Err(failure.with("decision_id", json!(point.decision_id)).with("current", current))
        })
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

/// Checks that an option is one of the question's: nobody types a word that answers nothing.
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
