//! `holdpoint hold expire`: what is due is recorded.

use super::Turn;
use crate::arguments::Global;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::text::moment;
use holdpoint_domain::Time;
use holdpoint_domain::event::Event;
use holdpoint_domain::text::visible;
use holdpoint_engine::shell::Receipt;
use serde::Serialize;

/// Options of `hold expire`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    turn: Turn,
}

/// One thing that was due.
#[derive(Serialize)]
struct Expired {
    sequence: u64,
    kind: &'static str,
    request_id: String,
    due_at: Time,
    recorded_at: Option<Time>,
}

/// Records what is due, and shows it.
pub(super) fn expire(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let engine = super::open(global, &args.turn)?;
    let receipts = engine.expire().map_err(|error| super::failed(global, error))?;
    engine.close().map_err(|error| super::failed(global, error))?;
    let expired: Vec<Expired> = receipts.iter().flat_map(expired_of).collect();
    let mut out = Output::stdout();
    if global.json {
        out.json(&expired);
    } else {
        for one in &expired {
            out.line(format_args!(
                "{:>8}  {}  {}  due {}",
                one.sequence,
                one.kind,
                visible(&one.request_id),
                moment(one.due_at)
            ));
        }
    }
    out.finish()?;
    Ok(Exit::DONE)
}

fn expired_of(receipt: &Receipt) -> Vec<Expired> {
    let expired =
        (receipt.first_sequence..).zip(&receipt.events).filter_map(|(sequence, event)| {
            let (request_id, due_at) = match event {
                Event::DecisionWarned(body) => (&body.request_id, body.due_at),
                Event::DecisionTimedOut(body) => (&body.record.request_id, body.due_at),
                _ => return None,
            };
            let (kind, recorded_at) = (event.kind().name, receipt.at);
            Some(Expired {
                sequence,
                kind,
                request_id: request_id.to_string(),
                due_at,
                recorded_at,
            })
        });
    expired.collect()
}
