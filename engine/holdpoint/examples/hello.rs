//! A shop records what is paid, asks a person before it refunds, and proves its log.
use holdpoint::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Paid(u64);
impl EventType for Paid {
    const TYPE: &'static str = "order.paid";
}

struct Balance;
impl Reducer for Balance {
    const NAME: &'static str = "balance";
    type State = u64;
    fn apply(cents: &mut u64, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        *cents += event.read::<Paid>()?.map_or(0, |paid| paid.0);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log = std::env::args().nth(1).ok_or("name a directory for the log")?;
    let (engine, shop) = (Engine::open(&log)?, Origin::automation("shop"));
    engine.record(&shop, (), Paid(1500).of("order-1")?)?.accepted()?;
    let cents = Reduced::<Balance>::open(&engine, ReducerOptions::default())?.state("order-1")?;
    let refund = Question::approval(format!("Refund {cents} cents?")).about("order-1");
    let asked = ask(&engine, &shop, (), &refund, std::time::Duration::from_millis(100))?;
    engine.close()?;
    println!("{cents} cents paid, refund: {}\n{}", asked.outcome.name(), verify(&log)?);
    Ok(())
}
