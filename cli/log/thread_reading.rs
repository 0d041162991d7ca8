//! Reading one thread out of the log: which tenant is meant, and the records that are about it.

use crate::log::archived_hint::{first_record, missing};
use crate::log::open::read_seeing;
use crate::log::{Directory, not_found, refuse_damaged};
use crate::ui::{Exit, Failure, excerpt};
use holdpoint_domain::World;
use holdpoint_domain::interruption_thread::Thread;
use holdpoint_replay::thread_sessions::{Sessions, session_of};
use holdpoint_replay::{Committed, Rebuilt, Until};
use std::collections::BTreeSet;

/// Which thread is meant.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) correlation: String,
    pub(crate) tenant: Option<String>,
}

impl From<String> for Name {
    /// Reads `CORRELATION`, `TENANT/CORRELATION`, or `/CORRELATION` where that has a `/`.
    fn from(text: String) -> Self {
        let (tenant, correlation) = text.split_once('/').unwrap_or(("", &text));
        let tenant = Some(tenant.to_string()).filter(|tenant| !tenant.is_empty());
        Self { correlation: correlation.to_string(), tenant }
    }
}

/// The log up to a record, and the records of every thread of one correlation.
pub(crate) struct Reading {
    pub(crate) rebuilt: Rebuilt,
    records: Vec<Committed>,
    sessions: Sessions,
}

impl Reading {
    /// Reads the whole log, verified on the way, and writes nothing.
    pub(crate) fn of(
        directory: &Directory,
        until: Until,
        correlation: &str,
    ) -> Result<Self, Failure> {
        let (mut records, mut sessions) = (Vec::new(), Sessions::default());
        let rebuilt = read_seeing(directory, until, &mut |record| {
            if record.thread().is_some_and(|(_, found)| found == correlation) {
                records.push(record.clone());
            }
            sessions.see(record);
        })?;
        Ok(Self { rebuilt, records, sessions })
    }

    /// The one tenant that is meant, and the records of its thread, in order.
    pub(crate) fn thread(
        &self,
        directory: &Directory,
        name: &Name,
    ) -> Result<(String, Vec<&Committed>), Failure> {
        let tenant = self.tenant(name).map_err(|failure| directory.or_missing(failure))?;
        let is_its = |record: &&Committed| record.thread().is_some_and(|(of, _)| of == tenant);
        let records: Vec<&Committed> = self.records.iter().filter(is_its).collect();
        if !records.is_empty() {
            return Ok((tenant, records));
        }
        match self.rebuilt.world.thread(&tenant, &name.correlation) {
            Some(thread) => Err(directory.or_unread(archived(thread))),
            None => Err(directory.or_missing(self.unknown(name))),
        }
    }

    /// The records of a thread, and in their places those that suspend or close one of its
    /// sessions, or open it again.
    pub(crate) fn with_sessions<'r>(
        &'r self,
        (tenant, correlation): (&str, &str),
        mut records: Vec<&'r Committed>,
    ) -> Vec<&'r Committed> {
        let Some(thread) = self.rebuilt.world.thread(tenant, correlation) else { return records };
        let mut sessions: BTreeSet<&str> =
            records.iter().filter_map(|record| session_of(record)).collect();
        sessions.extend(thread.session_id.as_deref());
        records.extend(self.sessions.changes(tenant, &sessions, thread.started_sequence));
        records.sort_by_key(|record| record.header.sequence);
        records
    }

    /// What of a thread is not in this log, in a sentence, and where to look for it.
    pub(crate) fn missing(
        &self,
        directory: &Directory,
        tenant: &str,
        correlation: &str,
    ) -> Option<String> {
        let first = first_record(&self.rebuilt);
        let thread = self.rebuilt.world.thread(tenant, correlation);
        let began = thread.map(|thread| thread.started_sequence).filter(|began| *began < first);
        let whom = match began {
            Some(began) => format!("the thread began there, with record {began}"),
            None => "they may tell of the thread".into(),
        };
        missing(directory, &self.rebuilt, &whom)
    }

    /// The state of the thread that is meant.
    pub(crate) fn state(&self, name: &Name) -> Result<&Thread, Failure> {
        let tenant = self.tenant(name)?;
        let found = self.rebuilt.world.thread(&tenant, &name.correlation);
        found.ok_or_else(|| self.unknown(name))
    }

    /// The tenant that is named, or the only one that has such a thread. Where none has, the only
    /// one under whose name something was refused: whoever is refused cannot make a name ambiguous.
    fn tenant(&self, name: &Name) -> Result<String, Failure> {
        if let Some(tenant) = &name.tenant {
            return Ok(tenant.clone());
        }
        let with_state = tenants(&self.rebuilt.world, &name.correlation);
        let named = self.records.iter().filter_map(Committed::thread);
        let named: BTreeSet<String> = named.map(|(tenant, _)| tenant.to_string()).collect();
        let found = if with_state.is_empty() { named } else { with_state };
        let mut all = found.iter();
        match (all.next(), all.next()) {
            (None, _) => Err(self.unknown(name)),
            (Some(only), None) => Ok(only.clone()),
            _ => Err(several(&found, &name.correlation)),
        }
    }

    /// A thread that is not found in a damaged log may lie behind the damage.
    fn unknown(&self, name: &Name) -> Failure {
        not_found(&self.rebuilt.report, "the thread", || self.not_there(name))
    }

    fn not_there(&self, name: &Name) -> Failure {
        let whose = name.tenant.as_ref().map(|tenant| format!("tenant {} has", excerpt(tenant)));
        let head = self.rebuilt.head.as_ref().map_or(0, |head| head.sequence);
        let message = format!(
            "{} no thread {} up to record {head}: `holdpoint thread list` shows all",
            whose.unwrap_or_else(|| "there is".into()),
            excerpt(&name.correlation)
        );
        Failure::new(Exit::NOT_FOUND, "unknown_thread", message)
    }
}

/// The record that began the one thread of a correlation. What is searched for it has to verify.
pub(crate) fn beginning(directory: &Directory, correlation: &str) -> Result<u64, Failure> {
    let reading = Reading::of(directory, Until::End, correlation)?;
    directory.expect_log(&reading.rebuilt.report)?;
    refuse_damaged(&reading.rebuilt.report)?;
    let name = Name { correlation: correlation.to_string(), tenant: None };
    if let Ok(thread) = reading.state(&name) {
        return Ok(thread.started_sequence);
    }
    // What was refused has no state.
    let (_, records) = reading.thread(directory, &name)?;
    Ok(records.first().map_or(0, |record| record.header.sequence))
}

/// Every thread that the state knows, live ones first.
pub(crate) fn threads(world: &World) -> impl Iterator<Item = &Thread> {
    world.live_threads().chain(world.closed_threads())
}

pub(crate) fn tenants(world: &World, correlation: &str) -> BTreeSet<String> {
    let found = threads(world).filter(|thread| thread.correlation_id.as_str() == correlation);
    found.map(|thread| thread.tenant_id.to_string()).collect()
}

fn several(tenants: &BTreeSet<String>, correlation: &str) -> Failure {
    let shown: Vec<String> = tenants.iter().map(|tenant| excerpt(tenant)).collect();
    let message = format!(
        "{} tenants have a thread {}: {}; `thread show` takes TENANT/CORRELATION, and \
         `show --trace` the number of a record",
        tenants.len(),
        excerpt(correlation),
        shown.join(", ")
    );
    Failure::new(Exit::CONFLICT, "several_tenants", message)
}

fn archived(thread: &Thread) -> Failure {
    let message = format!(
        "the records of thread {}, the newest {}, were moved to an archive",
        excerpt(&thread.correlation_id),
        thread.version
    );
    Failure::new(Exit::NOT_FOUND, "archived", message)
}
