//! What failed behind the commit point of a run: the command's end, or the question about it, is on
//! record nevertheless.

use crate::args::Global;
use crate::log::damage::LogError;
use crate::log::receipt::Recorded;
use crate::ui::program::program;
use crate::ui::{Exit, Failure, complain, path};
use crate::verbs::record::run::pre_approval::NotStarted;
use holdpoint_engine::executor::OutputStream;
use holdpoint_engine::log::CloseError;
use holdpoint_engine::shell::HeldRun;
use serde_json::Value;
use std::io;

/// How the end of a run waits that is not on the log yet.
const WAITS: &str = "; the end of the run is safe in its own file, and the next writer records it";

/// What is true where a person was asked and nothing began.
const NOT_STARTED: &str = "; the command was not started, and `holdpoint decision list \
    state=all` has the question";

/// How the run ends for whoever started it, and what failed.
pub(super) struct Behind {
    pub(super) exit: Exit,
    recorded: Recorded,
    /// What is true of it, where more is to be said than that it is on record.
    so: Option<&'static str>,
    failure: Option<Failure>,
}

impl Behind {
    /// Of a run, or a question, whose newest record is known. The command's status stands, unless
    /// it ended well and the log was not closed well.
    pub(super) fn of(
        global: &Global,
        exit_status: u8,
        (recorded, so): (Recorded, Option<&'static str>),
        closed: Result<(), CloseError>,
    ) -> Self {
        let exit = Exit::of_command(exit_status);
        let mut behind = Self { exit, recorded, so, failure: None };
        if let Err(error) = closed {
            behind.exit = super::after_failure(exit_status);
            let (_, code) = error.exit();
            let log = path(&global.log);
            behind.fail(code, &format!(
                "the log {log} was not closed well: {error}; `holdpoint verify` says how it stands"
            ));
        }
        behind
    }

    /// The first failure stands.
    fn fail(&mut self, code: &'static str, said: &str) {
        if self.failure.is_none() {
            self.failure = Some(self.behind(Failure::new(self.exit, code, said)));
        }
    }

    fn behind(&self, failure: Failure) -> Failure {
        match self.so {
            Some(so) => failure.behind_where(&self.recorded, so),
            None => failure.behind(&self.recorded),
        }
    }

    /// The same, where a stream of the command could not be passed on. Its status stands.
    pub(super) fn unshown(
        mut self,
        global: &Global,
        loop_id: &str,
        unshown: Option<(OutputStream, io::Error)>,
    ) -> Self {
        let Some((stream, error)) = unshown else { return self };
        let program = program(&global.log);
        let said = format!(
            "not all of the command's {stream} was passed on: {error}; `{program} output \
             {loop_id}` shows what is on record of it"
        );
        self.fail("output", &said);
        self
    }

    /// What failed, as a program is told of it beside the rest.
    pub(super) fn error(&self) -> Option<Value> {
        self.failure.as_ref().map(Failure::error)
    }

    /// Says what failed.
    pub(super) fn complain(&self) {
        self.failure.iter().for_each(|failure| complain(failure.message()));
    }

    /// How the run ends once it was told, or that it could not be told.
    pub(super) fn settled(&self, told: Result<(), Failure>) -> Result<Exit, Failure> {
        let untold = |why: Failure| self.behind(why.exiting(Exit::HOLDPOINT_FAILED));
        told.map(|()| self.exit).map_err(untold)
    }
}

/// What of a run is on the log, and how its end waits where that is not.
pub(super) fn recorded(run: &HeldRun) -> (Recorded, Option<&'static str>) {
    let summary = run.summary();
    let waits = matches!(run, HeldRun::EndWaits(_)).then_some(WAITS);
    (Recorded::new(summary.last_sequence, Some(&summary.loop_id)), waits)
}

/// A question, and that the command was not started.
pub(super) fn asked(not: &NotStarted) -> (Recorded, Option<&'static str>) {
    (Recorded::new(not.version(), Some(not.decision_id())), Some(NOT_STARTED))
}
