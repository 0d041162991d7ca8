//! A shop that records what is paid, asks a person before it refunds, and proves its log.

use holdpoint::prelude::*;
use std::time::Duration;

/// The reducer of the shop's own events: what an order comes to, in cents.
fn apply(cents: &mut u64, event: &ApplicationRecorded) {
    if event.event_type.as_str() == "order.paid" {
        *cents += event.data.as_text().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log = std::env::args().nth(1).ok_or("name a directory for the log")?;
    let (engine, shop) = (Engine::open(&log)?, Origin::automation("shop").within("order-1"));
    for cents in ["1200", "300"] {
        engine.record(&shop, RecordEvent::new("order-1", "order.paid", cents))?.accepted()?;
    }
    // A gate: a person must answer, in this process or another one, within so much time.
    let refund = Question::approval("Refund order-1?").about("order-1");
    let asked = ask(&engine, &shop, &refund, Duration::from_millis(100))?;
    println!("refund {}: {}", asked.outcome.name(), asked.point.approves());
    engine.close()?;
    let mut cents = 0;
    state_at(&log, Until::End, &mut |record| {
        record.application().into_iter().for_each(|event| apply(&mut cents, event));
    })?;
    println!("order-1 comes to {cents} cents\n{}", verify(&log)?);
    Ok(())
}
