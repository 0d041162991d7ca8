//! A platform with async code: it hands commands over, goes on, and awaits what became of them. No
//! runtime is needed: the few lines of `block_on` here stand for whichever there is.
//!
//! `cargo run -p holdpoint-engine --example async_submission -- DIRECTORY`

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::log::{LogCommand, RecordFingerprint};
use holdpoint_domain::{ActorId, Command};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::Origin;
use std::error::Error;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).ok_or("name a directory for the log")?;
    println!("{}", async_submission(Path::new(&directory))?);
    Ok(())
}

/// What became of it all, in words.
fn async_submission(directory: &Path) -> Result<String, Box<dyn Error>> {
    let engine = Engine::open(directory)?;
    let (first, last) = block_on(record_fingerprints(&engine, 3))?;
    let mut followed = Vec::new();
    let mut subscription = engine.subscribe(first)?;
    while let Some(record) = subscription.try_next()? {
        followed.push(record.sequence.to_string());
    }
    engine.close()?;
    Ok(format!("recorded {first} to {last}, read back {}", followed.join(", ")))
}

/// Hands all commands over before it waits for any of them. What this returns is on the disk.
async fn record_fingerprints(engine: &Engine, count: usize) -> Result<(u64, u64), Box<dyn Error>> {
    let actor = ActorId { kind: Actor::Automation, id: "nightly build".into() };
    let origin = Origin { actor, correlation: "nightly".into(), causation: None };
    let mut tickets = Vec::new();
    for _ in 0..count {
        // When too many wait already, this is the place to await the oldest ticket first.
        tickets.push(engine.submit_later(
            &origin,
            (),
            &Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})),
        )?);
    }
    let (mut first, mut last) = (u64::MAX, 0);
    for ticket in tickets {
        let receipt = ticket.await?.accepted()?;
        first = first.min(receipt.first_sequence);
        last = last.max(receipt.last_sequence);
    }
    Ok((first, last))
}

/// Runs a future on this thread, which sleeps while there is nothing to do.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
