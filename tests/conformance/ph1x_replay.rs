//! Sequences end to end: live in one world, and out of encoded records in another. After every
//! turn both are equal, whole, by fingerprint, and by the digest that the turn's event binds; its
//! event, its row and the thread's state say the same.
//!
//! As long as the thread is in the state that the record says, what came of the turn is judged as
//! `ph1x.rs` judges it in a thread of its own. A turn that departs may leave another state behind:
//! from there on the thread goes its own way, and only the record's own turns are judged again.

use std::collections::BTreeMap;
use std::sync::Mutex;

use holdpoint_domain::interruption_thread::{
    InterruptionThreadCommand, Pending, TurnInput, TurnRequest,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_domain::{Command, Time as Timestamp};
use serde_json::Value;

use crate::decode::{Decoded, typed};
use crate::ph1x::{TurnCase, judge_answer, sequence_cases};
use crate::ph1x_answer::{TurnAnswer, is_in};
use crate::ph1x_decode::{request, request_id, session_status};
use crate::ph1x_report::{Report, Verdict};
use crate::ph1x_world::came;
use holdpoint_testing::threads::{Outcome, Stage, turn, turns};

const TENANT: &str = "tenant_a";
const DEVICE: &str = "device";

/// A thread that is told a sequence from its beginning.
struct Told {
    stage: Stage,
    thread: String,
    newest: u64,
    /// The session of each user, with its place among the user's sessions.
    sessions: BTreeMap<String, (usize, SessionStatus)>,
    /// The ids under which tools were asked, as the record has them and as we do.
    asked: BTreeMap<String, String>,
}

/// Runs a record; what failed.
pub(crate) fn run(record: &Value, report: &Mutex<Report>) -> Vec<String> {
    let cases = sequence_cases(record);
    let thread =
        cases.first().map_or_else(String::new, |c| c.request["correlation_id"].to_string());
    let mut stage = Stage::with_tenant(TENANT);
    stage.work_order(TENANT, &thread);
    let (sessions, asked) = (BTreeMap::new(), BTreeMap::new());
    let mut told = Told { stage, thread, newest: 1, sessions, asked };
    let mut failures = Vec::new();
    for case in &cases {
        match told.take(case) {
            Ok(what) => report.lock().unwrap().replayed(what, 1),
            Err(why) => failures.push(format!("{}: {why}", case.id)),
        }
    }
    failures
}

impl Told {
    /// Takes a turn as far as the thread that we have allows. What was compared.
    fn take(&mut self, case: &TurnCase) -> Decoded<&'static str> {
        let Ok(mut request) = request(&case.request) else { return Ok("turn that is none") };
        self.bind(&mut request);
        let at: u64 = typed(&case.request, "now")?;
        self.newest = self.newest.max(at);
        let user = request.active_speaker_user_id.as_str().to_owned();
        let session = self.session(&user, session_status(&case.request)?);
        let scope = [TENANT, &self.thread, &user, DEVICE];
        let mut command = turn(&self.stage, scope, typed(&case.request, "turn_id")?, request);
        command.session_id = Some(session);
        let before = self.stage.state(TENANT, &self.thread);
        let is_recorded = is_in(&case.before, &before) && self.newest == at;
        let outcome = self.stage.give(
            &Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command)),
            self.newest,
        );
        if let Outcome::Done(events) = &outcome {
            let first = turns(events).first().map(|taken| taken.state_before);
            let expires = before.clone().expire(Timestamp::from_nanoseconds(self.newest));
            if expires.is_empty() && first != Some(before.digest()) {
                return Err("state_before is not it".into());
            }
        }
        let answer = came(&self.stage, &self.thread, before, outcome)?;
        let after = self.stage.state(TENANT, &self.thread);
        self.learn(case, after.marks.pending.as_ref());
        let what = match (is_recorded, &answer) {
            (true, TurnAnswer::Decided { .. }) => "turn of a sequence, as recorded",
            (true, TurnAnswer::Refused(_)) => "refused turn, as recorded",
            (false, TurnAnswer::Decided { .. }) => "turn of a thread that went its own way",
            (false, TurnAnswer::Refused(_)) => "refused turn of a thread that went its own way",
        };
        match judge_answer(case, &answer) {
            (Verdict::Fails(why), _) if is_recorded => Err(why),
            _ => Ok(what),
        }
    }

    /// The session of a user, in this state from now on. One that is closed stays closed.
    fn session(&mut self, user: &str, status: SessionStatus) -> String {
        if !self.sessions.contains_key(user) {
            self.stage.user(TENANT, user, DEVICE);
        }
        let known = self.sessions.get(user).copied();
        let (place, is_new) = match known {
            None => (0, true),
            Some((place, SessionStatus::Closed)) if status != SessionStatus::Closed => {
                (place + 1, true)
            }
            Some((place, _)) => (place, false),
        };
        let name = format!("{user}-{place}");
        let scope = [TENANT, &name, user, DEVICE];
        if is_new {
            self.stage.session(scope, SessionStatus::Active, self.newest).events();
        }
        let was = known.filter(|_| !is_new).map_or(SessionStatus::Active, |(_, status)| status);
        if was != status {
            self.stage.session(scope, status, self.newest).events();
        }
        self.sessions.insert(user.to_owned(), (place, status));
        name
    }

    /// Our id for the tool request that the record names.
    fn bind(&self, request: &mut TurnRequest) {
        if let TurnInput::ToolResponse { request_id, .. } = &mut request.input
            && let Some(ours) = self.asked.get(request_id.as_str())
        {
            *request_id = ours.as_str().into();
        }
    }

    fn learn(&mut self, case: &TurnCase, pending: Option<&Pending>) {
        let recorded = &case.expect["state_after"]["pending"];
        if let (Ok(theirs), Some(Pending::Tool { request_id: ours, .. })) =
            (request_id(recorded), pending)
        {
            self.asked.entry(theirs).or_insert_with(|| ours.as_str().into());
        }
    }
}
