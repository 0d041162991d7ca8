//! `thread list --health`: the newest outcome of interruption continuity for every tenant and
//! issue, folded from the audit rows themselves.

use crate::args::Global;
use crate::log::archived_hint::{first_record, missing};
use crate::log::open::read_end_seeing;
use crate::log::{ArchiveArgs, Directory, coverage};
use crate::ui::{Exit, Failure, Output, counted, moment};
use holdpoint_domain::Event;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{HealthReport, HealthRow};
use holdpoint_replay::{Committed, Reach};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Shows the rows, the newest outcome first. Exit 6 when the log does not verify, 3 when there is
/// no log.
pub(super) fn health(
    global: &Global,
    tenant: Option<String>,
    archives: &ArchiveArgs,
) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, archives)?;
    let mut fold = Fold { tenant, ..Fold::default() };
    let rebuilt = read_end_seeing(&directory, &mut |record| fold.add(record))?;
    directory.expect_log(&rebuilt.report)?;
    let counted_from_record = first_record(&rebuilt);
    let not_counted = missing(&directory, &rebuilt, "they are not counted");
    let mut out = Output::stdout().folding();
    if global.json {
        let reach = &rebuilt.report.reach;
        let rows = fold.report.rows().into_iter().map(|row| Row::within(row, reach)).collect();
        let refusals = fold.report.refusals();
        out.json(&Health { rows, refusals, counted_from_record, not_counted, reach });
    } else {
        fold.show(&mut out);
        let line = |missing| format!("counted from record {counted_from_record} on; {missing}");
        not_counted.map(line).iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    let newest = rebuilt.head.as_ref().map_or(0, |head| head.sequence);
    Ok(coverage::conclude(global, &rebuilt.report, newest))
}

/// What `--json` shows.
#[derive(Serialize)]
struct Health<'a> {
    rows: Vec<Row<'a>>,
    refusals: &'a BTreeMap<Text, u64>,
    /// The first record that was read.
    counted_from_record: u64,
    /// What was not, and where to look.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_counted: Option<String>,
    reach: &'a Reach,
}

/// A row, and what is proven of the record with its newest outcome.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    row: &'a HealthRow,
    standing: &'static str,
}

impl<'a> Row<'a> {
    fn within(row: &'a HealthRow, reach: &Reach) -> Self {
        Self { row, standing: reach.standing(row.latest_sequence, false).name() }
    }
}

/// The report, and whose rows are in it.
#[derive(Default)]
struct Fold {
    tenant: Option<String>,
    report: HealthReport,
    tenants: BTreeSet<String>,
}

impl Fold {
    fn add(&mut self, record: &Committed) {
        let (Some((tenant, _)), Some(envelope)) = (record.thread(), record.envelope()) else {
            return;
        };
        if let Event::InterruptionThread(event) = &envelope.event
            && self.tenant.as_deref().is_none_or(|wanted| wanted == tenant)
        {
            self.tenants.insert(tenant.to_string());
            self.report.apply(record.header.sequence, record.time(), event);
        }
    }

    fn show(&self, out: &mut Output) {
        let rows = self.report.rows();
        if !rows.is_empty() {
            let header = [
                "owner_engine_id",
                "tenant",
                "issue_fingerprint",
                "latest_reason_code",
                "correlation",
                "turn",
                "record",
                "time",
                "occurrences",
            ];
            out.table(header, rows.into_iter().map(cells));
        }
        for tenant in &self.tenants {
            let refusals = self.report.refusals_of(tenant);
            if refusals > 0 {
                let refused = counted(refusals, "refusal");
                out.line(format_args!("{refused} for tenant {}", visible(tenant)));
            }
        }
    }
}

fn cells(row: &HealthRow) -> [String; 9] {
    let shown = |text: &str| visible(text).to_string();
    [
        row.owner_engine_id.to_string(),
        shown(&row.tenant_id),
        row.issue_fingerprint.as_deref().map_or(String::new(), shown),
        row.latest_reason_code.to_string(),
        shown(&row.correlation_id),
        row.latest_turn.to_string(),
        row.latest_sequence.to_string(),
        moment(row.latest_at),
        row.occurrences.to_string(),
    ]
}
