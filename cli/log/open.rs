//! Opening a log for writing, and reading the state at a record.

use crate::args::Global;
use crate::log::configuration::open_bounds;
use crate::log::damage::LogError;
use crate::log::receipt::Recorded;
use crate::log::{Directory, clock, registered_logs};
use crate::ui::program::how_to_make;
use crate::ui::text::visible_once;
use crate::ui::{Bar, Exit, Failure, complain, path};
use holdpoint_domain::core::text::visible;
use holdpoint_engine::Engine;
use holdpoint_engine::log::{AppendError, OpenError, Options};
use holdpoint_engine::shell::{EngineError, EngineOptions, SubmitError};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::{Committed, Rebuilt, Until, rebuild, rebuild_live};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Says of a log that was just made that it approves nothing, where that is so.
pub(crate) fn tell_of_new(engine: &Engine) {
    if let Some(error) = engine.not_listed() {
        complain(&format!(
            "approvals in this log do not count: {}",
            visible_once(&error.to_string())
        ));
    }
}

/// The state at a record, read without writing anything.
pub(crate) fn read(directory: &Directory, until: Until) -> Result<Rebuilt, Failure> {
    read_seeing(directory, until, &mut |_| {})
}

/// The same; `witness` sees every record on the way.
pub(crate) fn read_seeing(
    directory: &Directory,
    until: Until,
    witness: &mut dyn FnMut(&Committed),
) -> Result<Rebuilt, Failure> {
    let mut bar = Bar::new();
    directory.read(|storage, options| {
        rebuild(storage, until, options, &mut |progress| bar.update(progress), &mut *witness)
    })
}

/// What lives at the end of the log, which is read whole and not written to; nothing where there is
/// no log yet.
pub(crate) fn read_end(directory: &Directory) -> Result<Rebuilt, Failure> {
    read_end_seeing(directory, &mut |_| {})
}

/// The same; `witness` sees every record on the way.
pub(crate) fn read_end_seeing(
    directory: &Directory,
    witness: &mut dyn FnMut(&Committed),
) -> Result<Rebuilt, Failure> {
    let mut bar = Bar::new();
    directory.read(|storage, options| {
        rebuild_live(storage, options, &mut |progress| bar.update(progress), &mut *witness)
    })
}

/// Opens a log for writing: it waits so long for another writer, and makes the log where there is
/// none if that is asked for.
pub(crate) fn open_log(log: &Path, lock_wait: Duration, make: bool) -> Result<Engine, EngineError> {
    let options = EngineOptions::default()
        .log(Options::default().lock_wait(lock_wait).create(make))
        .open_bounds(open_bounds());
    let log: PathBuf = log.components().collect();
    let engine = Engine::open_with(DirectoryStorage::new(&log), options)?;
    tell_of_new(&engine);
    clock::tell(engine.ahead_of_clock_ns()?);
    registered_logs::register(&log);
    Ok(engine)
}

pub(crate) fn not_opened(global: &Global, error: &EngineError) -> Failure {
    let said = visible(&error.to_string()).to_string();
    match error {
        EngineError::Open(OpenError::NothingHere { .. }) => {
            let message = format!(
                "{said}: name another directory with --log DIR or HOLDPOINT_LOG, or make it with \
                 `{}`",
                how_to_make(&global.log)
            );
            Failure::new(Exit::NOT_FOUND, "nothing_here", message)
        }
        EngineError::Open(OpenError::Locked { .. }) => Failure::new(Exit::CONFLICT, "locked", said),
        EngineError::Submit(error) => failed(global, error),
        _ => {
            let (exit, code) = error.exit();
            Failure::new(exit, code, said).with_room(error.room())
        }
    }
}

/// The log failed on the way, or does not verify.
pub(crate) fn failed(global: &Global, error: impl LogError) -> Failure {
    failed_at(&global.log, error)
}

/// What the failure of a command is called whose record stands although HEAD could not follow.
pub(crate) const UNWITNESSED: &str = "unwitnessed";

/// As [`failed`], of a command that was handed in. Where its record stands all the same, it is said
/// what it is about and came to, as far as that is found by the record's sequence.
pub(crate) fn not_submitted(
    global: &Global,
    error: &SubmitError,
    came_to: impl FnOnce(u64) -> Option<(String, String)>,
) -> Failure {
    let SubmitError::Append(AppendError::Unwitnessed { sequence, .. }) = error else {
        return failed(global, error);
    };
    let (id, what) = came_to(*sequence).unzip();
    let what = what.map(|what| format!("; {what}")).unwrap_or_default();
    let said = format!("log {}: {}{what}", path(&global.log), visible(&error.to_string()));
    Failure::new(Exit::FAILED, UNWITNESSED, said).behind(&Recorded::new(*sequence, id.as_deref()))
}

/// As [`failed`], of the log in this directory.
pub(crate) fn failed_at(log: &Path, error: impl LogError) -> Failure {
    let said = visible(&error.to_string()).to_string();
    let advice = match said.contains("`holdpoint verify`") {
        true => "",
        false => "; `holdpoint verify` says how it stands",
    };
    let (exit, code) = error.exit();
    Failure::new(exit, code, format!("log {}: {said}{advice}", path(log))).with_room(error.room())
}
