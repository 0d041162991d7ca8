//! The configuration: a TOML file with the policies that a person sets once. `holdpoint doctor
//! config` says what is in force.
//!
//! A project's is the file that `--config FILE` or `HOLDPOINT_CONFIG` names, else `holdpoint.toml`
//! in the working directory, else nothing. Options of the command line go before it. What the
//! files of the machine and of its user demand, the policy of the log, and the built-in defaults
//! (`holdpoint_engine::floors::KEYS`) neither can loosen.
//! Whatever a key does not know is refused with line and column.
//!
//! ```toml
//! [hold]
//! default = "on-failure"         # never, before, on-failure, after, before,on-failure or always
//! decision_timeout = "5m"        # 1ms to 366 days
//! approval_timeout = "1h"
//! retry_needs_person = true
//! approvers = ["alice"]          # empty: any person
//! quorum = 1                     # of a start; what comes after it one person decides
//! authentication = "terminal"    # os-user or terminal
//! separation = false             # true: only another user than the one who asks
//! show_output = true             # false: hides what a command printed while its hold asks
//!
//! [[hold.escalation_targets]]
//! target = "on-call"
//! approvers = ["dave"]           # empty: the person of the target's name
//! timeout = "30m"
//!
//! [evidence]
//! redact = ["FLEET"]             # kept secret besides the usual words
//!
//! [questions]                    # open at once; fewer than the machine and its user allow
//! per_session = 20
//! per_user = 500
//! per_log = 1000
//! ```

pub(crate) mod effective_policy;
mod file;
mod in_force;
mod questions;

use crate::args::Global;
use crate::args::bounded_read::all_within;
pub(crate) use crate::log::configuration::effective_policy::{AskedApproval, Demands, floors};
use crate::ui::{Exit, Failure, path};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::log::{ConfigurationChanged, LogCommand};
use holdpoint_domain::{ActorId, Command};
use holdpoint_engine::Engine;
use holdpoint_engine::floors::{Defaults, EvidenceTable, HoldTable, fault_of, fault_of_key, parse};
use holdpoint_engine::shell::{Origin, SubmitError};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(crate) use in_force::{HoldOptions, InForce};
pub(crate) use questions::{bound_questions, open_bounds};

/// The file that is looked for where none is named.
const DEFAULT_FILE: &str = "holdpoint.toml";

/// The longest file that is read, in bytes (1 MiB).
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// What a project's file says.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    /// Where it comes from. `None`: there is none.
    pub(crate) file: Option<PathBuf>,
    /// SHA-256 of the file.
    pub(crate) digest: Option<Digest>,
    /// The file as it stands.
    bytes: Vec<u8>,
    settings: file::Settings,
}

impl Configuration {
    /// Finds and reads the configuration.
    pub(crate) fn load(global: &Global) -> Result<Self, Failure> {
        match &global.config {
            Some(named) => Self::read(named),
            None => match Path::new(DEFAULT_FILE).symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let settings = file::Settings::default();
                    Ok(Self { file: None, digest: None, bytes: Vec::new(), settings })
                }
                // A link that leads nowhere is no absence, and what cannot be looked at is none.
                _ => Self::read(Path::new(DEFAULT_FILE)),
            },
        }
    }

    /// Reads the configuration in this file.
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let bytes = bytes_of(file)?;
        let settings = parse(&bytes).map_err(|fault| {
            let message = format!("{}:{fault}", path(file));
            Failure::new(Exit::USAGE, "configuration", message)
        })?;
        // It may only tighten what holds without it.
        let file::Settings { hold, evidence, questions } = &settings;
        let floors = floors()?;
        let mut less = floors.defaults().loosened_by(hold, evidence);
        less.extend(questions.loosens(floors.open_bounds()));
        if let Some(loosened) = less.first() {
            let message = format!("{}:{}", path(file), fault_of(&bytes, loosened));
            return Err(Failure::new(Exit::REFUSED, "policy_loosened", message));
        }
        let digest = Some(sha256(&bytes));
        Ok(Self { file: Some(file.to_path_buf()), digest, bytes, settings })
    }

    /// What it says of when and how a person is asked.
    pub(crate) fn hold(&self) -> &HoldTable {
        &self.settings.hold
    }

    /// The failure of what is less than a floor, at the line that states it where one does.
    fn blamed(&self, key: &str, failure: Failure) -> Failure {
        let hold = &self.settings.hold;
        let is_stated = match key {
            "default" => hold.moments.is_some(),
            "decision_timeout" => hold.decision_timeout.is_some(),
            "approval_timeout" => hold.approval_timeout.is_some(),
            "retry_needs_person" => hold.retry_needs_person.is_some(),
            "approvers" => hold.approvers.is_some(),
            "quorum" => hold.quorum.is_some(),
            "authentication" => hold.authentication.is_some(),
            "separation" => hold.separation.is_some(),
            "override_approvers" => hold.override_approvers.is_some(),
            "escalation_targets" => hold.escalation_targets.is_some(),
            "show_output" => hold.show_output.is_some(),
            _ => false,
        };
        let Some(file) = self.file.as_ref().filter(|_| is_stated) else { return failure };
        let placed = fault_of_key(&self.bytes, key, failure.message());
        Failure::new(Exit::REFUSED, "policy_loosened", format!("{}:{placed}", path(file)))
    }

    /// Whether what a command printed may be shown while a question about it is open: by the floors
    /// and by this.
    pub(crate) fn shows_output(&self) -> Result<bool, Failure> {
        Ok(floors()?.defaults().show_output && self.settings.hold.show_output != Some(false))
    }

    /// Names of variables to record, and parts of names to keep secret, besides the usual ones: of
    /// the machine and its user, and what this keeps secret besides.
    pub(crate) fn evidence_over(&self, defaults: &Defaults) -> EvidenceTable {
        let redact = defaults.redact.iter().chain(&self.settings.evidence.redact);
        EvidenceTable { record_env: defaults.record_env.clone(), redact: redact.cloned().collect() }
    }

    /// Puts the file's digest on record where it is not the newest one there: for every verb that
    /// acts under it, right after it opened the log.
    pub(crate) fn record(&self, engine: &Engine) -> Result<(), SubmitError> {
        if engine.query(holdpoint_domain::World::configuration)? == self.digest {
            return Ok(());
        }
        let actor = ActorId { kind: Actor::System, id: "holdpoint".to_string() };
        let correlation = engine.entropy()?.to_string();
        let command = Command::Log(LogCommand::RecordConfiguration(ConfigurationChanged {
            digest: self.digest,
        }));
        engine.submit(&Origin { actor, correlation, causation: None }, (), &command).map(drop)
    }
}

/// Whether what a command printed is hidden while a question about it is open. Where that cannot be
/// known it is.
pub(crate) fn hides_output(global: &Global) -> bool {
    let shows = Configuration::load(global).and_then(|configuration| configuration.shows_output());
    !shows.unwrap_or(false)
}

/// That a configuration that was named is there: whoever names one does not expect that it is
/// passed over, also where nothing of it is needed.
pub(crate) fn expect_named(global: &Global) -> Result<(), Failure> {
    global.config.as_deref().map_or(Ok(()), expect_file)
}

/// That a file is there, and is one: a pipe would wait for ever, and a directory cannot be read.
fn expect_file(file: &Path) -> Result<(), Failure> {
    match file.metadata() {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => {
            let message = format!("{} is not a regular file: name one", path(file));
            Err(Failure::new(Exit::FAILED, "io", message))
        }
        Err(error) => Err(unreadable(file, &error)),
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> Failure {
    let (exit, code) = match error.kind() {
        ErrorKind::NotFound => (Exit::NOT_FOUND, "configuration_not_found"),
        _ => (Exit::FAILED, "io"),
    };
    let is_dangling = exit == Exit::NOT_FOUND && file.is_symlink();
    let advice = match is_dangling {
        true => "it is a link, and what it leads to is missing: put that back, or remove the link",
        false => "name another file with --config FILE or HOLDPOINT_CONFIG",
    };
    Failure::new(exit, code, format!("cannot read {}: {error}; {advice}", path(file)))
}

fn bytes_of(file: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: std::io::Error| unreadable(file, &error);
    expect_file(file)?;
    // What has nothing to read yet says so at once: another file may stand there by now, and the
    // kernel has regular files that wait.
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    let opened = File::options().read(true).custom_flags(flags).open(file);
    let opened = opened.map_err(unreadable)?;
    all_within(opened, FILE_BYTES_MAX).map_err(unreadable)?.ok_or_else(|| {
        let name = path(file);
        let message = format!("{name} is longer than {FILE_BYTES_MAX} bytes (1MiB): shorten it");
        Failure::new(Exit::USAGE, "configuration", message)
    })
}
