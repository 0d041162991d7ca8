//! Whether the log answers spenders here, and its adoption by a person at a terminal.

use crate::args::Global;
use crate::log::Directory;
use crate::log::configuration::floors;
use crate::log::directory::log_id;
use crate::log::open::read_end;
use crate::questions::confirm::{Offer, Typed};
use crate::ui::text::{path as shown, visible_once};
use crate::ui::{Exit, Failure, Output, Page, complain, counted};
use holdpoint_domain::Event;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::log::LogEvent;
use holdpoint_engine::Engine;
use holdpoint_engine::adoption::{
    Adoption, Ground, LogPlace, LogRegistry, NotAdopted, RegistryError,
};
use holdpoint_engine::executor::command_line;
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::{name_of_user, owner_of};
use holdpoint_log_files::{DirectoryStorage, Extent, SurveyOptions, survey};
use holdpoint_log_format::LogId;
use holdpoint_replay::Rebuilt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a person types.
const WORD: &str = "adopt";
/// The code of a log that answers nobody here.
const CODE: &str = "log_not_adopted";
/// The rules with which the writers came that list the logs which they begin.
const LISTED_SINCE: u32 = 4;
/// How long the first record may take to be read.
const READING: Duration = Duration::from_secs(5);
/// So many of what could be spent are listed before a person adopts a log.
const LISTED_MAX: usize = 20;

/// A log in a directory, as the list of this user's logs knows one.
pub(crate) struct Candidate {
    place: LogPlace,
    registry: LogRegistry,
}

impl Candidate {
    /// The log in a directory, which has this identity.
    pub(crate) fn of(log: &Path, id: LogId) -> io::Result<Self> {
        let boot = DirectoryStorage::new(log).boot();
        Ok(Self { place: LogPlace::of(log, id, boot)?, registry: LogRegistry::of_user() })
    }

    /// What lets it answer here.
    pub(crate) fn ground(&self) -> Result<Result<Ground, NotAdopted>, Failure> {
        Ok(self.registry.ground(&floors()?, &self.place))
    }

    /// The other directories in which this user has it here, which it is a copy of.
    fn copies(&self) -> Vec<PathBuf> {
        // A list that cannot be read adopts nothing either, and that is said then.
        self.registry.copies_of(&self.place).unwrap_or_default()
    }

    /// Lists it from here on.
    pub(crate) fn list(self, adoption: Adoption) -> Result<(), Failure> {
        self.registry.list(self.place, adoption).map_err(|error| not_listed(&error))
    }
}

/// What lets the log answer here: told before anything is waited for.
pub(crate) fn expect_adopted(global: &Global) -> Result<(), Failure> {
    ground_of(global).map(drop)
}

/// What lets the log answer here; `None`: there is none.
pub(crate) fn ground_of(global: &Global) -> Result<Option<Ground>, Failure> {
    let directory = Directory::open(global)?;
    // Where there is no log, whoever reads it tells.
    let Some(id) = id_of(&directory)? else { return Ok(None) };
    let candidate = Candidate::of(&directory.path, id).map_err(|error| {
        let message = format!("cannot look at {}: {error}", shown(&directory.path));
        Failure::new(Exit::FAILED, "io", message)
    })?;
    candidate.ground()?.map(Some).map_err(|fault| refused(&fault))
}

/// The identity of the log in a directory, with or without its witness.
fn id_of(directory: &Directory) -> Result<Option<LogId>, Failure> {
    match log_id(&directory.storage) {
        Ok(Some(id)) => Ok(Some(id)),
        _ => {
            let found = directory.read(|storage, options| {
                let options = SurveyOptions::new(Extent::FromHead, options.boot);
                Ok(survey(storage, options, &mut |_, _| {})?)
            })?;
            Ok(found.log)
        }
    }
}

/// The same in words.
pub(crate) const fn said_of_ground(ground: Ground) -> &'static str {
    match ground {
        Ground::Begun => "was begun by this user on this machine",
        Ground::Adopted => "was adopted by this user at a terminal",
        Ground::NamedByRoot => "is named by root as `[logs] trusted`",
        _ => "answers here",
    }
}

/// The failure of a log that answers nobody here.
pub(crate) fn refused(fault: &NotAdopted) -> Failure {
    Failure::new(Exit::REFUSED, CODE, visible_once(&fault.to_string()))
}

fn not_listed(error: &RegistryError) -> Failure {
    Failure::new(Exit::REFUSED, CODE, visible_once(&error.to_string()))
}

/// Tells how a log that was made out of another one comes to answer.
pub(crate) fn show_adoption(out: &mut Output, log: &Path) {
    let log = command_line(log.as_os_str(), &[]);
    out.line(format_args!(
        "adoption        approves nothing here before `holdpoint inbox --add {log}`"
    ));
}

/// Asks the first person at a terminal once whether a log that an older version began is adopted.
pub(crate) fn offer(global: &Global, engine: &Engine) -> Result<(), Failure> {
    let Ok(Err(NotAdopted::Stranger { .. })) = engine.adoption() else { return Ok(()) };
    if global.json || !is_of_older_version(engine) {
        return Ok(());
    }
    let directory = Directory::open(global)?;
    let found = read_end(&directory)?;
    let reason = "holdpoint: this log was begun by an older version, which did not list whose logs \
                  are whose; adopt it if you or your tools made it here, and not if it came with \
                  something";
    let shown = |columns: usize| lines(&directory, &found, &[], columns);
    let adoption = match Offer::of_page(shown, reason, WORD).ask() {
        Ok(Typed::Word(_)) => Adoption::Adopted,
        Ok(Typed::Other) => Adoption::Declined,
        Ok(Typed::Nobody) | Err(_) => return Ok(()),
    };
    let listed = engine.adopt(adoption);
    listed.unwrap_or_else(|error| complain(&visible_once(&error.to_string())));
    Ok(())
}

/// Whether the first record is of rules from before logs were listed. Of what cannot be read others
/// tell; it is not adopted on the way.
fn is_of_older_version(engine: &Engine) -> bool {
    let records = engine.subscribe(0).ok();
    let first = records.and_then(|mut records| records.next_timeout(READING).ok().flatten());
    first.filter(|first| first.sequence == 1).is_some_and(|first| match first.envelope.event {
        // A salvage makes a log of its own.
        Event::Log(LogEvent::Salvaged(_)) => false,
        Event::Log(LogEvent::RulesAdopted(body)) => {
            body.systems.iter().all(|system| system.number < LISTED_SINCE)
        }
        _ => true,
    })
}

/// Adopts the log in a directory, where a person at the terminal types the word. Whether it was
/// adopted by now, and `None` where nobody was asked.
pub(crate) fn adopt(global: &Global, log: &Path, id: LogId) -> Result<Option<bool>, Failure> {
    let candidate = Candidate::of(log, id).map_err(|error| {
        Failure::new(Exit::FAILED, "io", format!("cannot look at {}: {error}", shown(log)))
    })?;
    match candidate.ground()? {
        Ok(_) => return Ok(Some(true)),
        // No word of a person makes it answer.
        Err(fault @ (NotAdopted::InGitIndex { .. } | NotAdopted::GitIndexUnread { .. })) => {
            return Err(refused(&fault));
        }
        Err(_) => {}
    }
    let directory = Directory::open(&Global {
        log: log.to_path_buf(),
        config: None,
        json: global.json,
        lists: false,
    })?;
    let found = read_end(&directory)?;
    let reason = "holdpoint: adopted, what this log holds counts as what people here said";
    let copies = candidate.copies();
    let shown = |columns: usize| lines(&directory, &found, &copies, columns);
    match Offer::of_page(shown, reason, WORD).ask() {
        Ok(Typed::Word(_)) => candidate.list(Adoption::Adopted).map(|()| Some(true)),
        Ok(Typed::Other) => Ok(Some(false)),
        Ok(Typed::Nobody) | Err(_) => Ok(None),
    }
}

/// What is adopted: whose it is, how much it holds, and which approvals could be spent.
fn lines(
    directory: &Directory,
    found: &Rebuilt,
    copies: &[PathBuf],
    columns: usize,
) -> Vec<String> {
    let (report, world) = (&found.report, &found.world);
    let mut page = Page::new(columns);
    page.in_one_line("log", &shown(&directory.path));
    let id = report.log_id.clone().unwrap_or_default();
    page.in_one_line("identity", &id);
    for copy in copies {
        page.in_one_line("a copy of", &shown(copy));
    }
    if !copies.is_empty() {
        page.sentence("what was spent there since it was copied can be spent here once more");
    }
    let owner = owner_of(&directory.path).unwrap_or_else(|| name_of_user(u32::MAX));
    page.in_one_line("owner", &visible(&owner).to_string());
    let records = format!("{}, {}", counted(report.records, "record"), report.verdict);
    page.in_one_line("holds", &records);
    let points = || world.live_decision_points().chain(world.closed_decision_points());
    let can_be_spent: Vec<String> = points()
        .filter(|point| point.approves() && point.consumed.is_none() && point.lapsed_at.is_none())
        .map(|point| {
            visible_once(&format!("{}: {}", point.decision_id, point.terms.proposal.prompt))
        })
        .collect();
    let approvals = u64::try_from(can_be_spent.len()).unwrap_or(u64::MAX);
    page.in_one_line("can be spent", &counted(approvals, "approval"));
    for approval in can_be_spent.iter().take(LISTED_MAX) {
        page.in_one_line("approval", approval);
    }
    let policy = world.policy();
    let named = if policy.is_none() { "none" } else { "one that a person set" };
    page.in_one_line("policy", named);
    page.lines()
}
