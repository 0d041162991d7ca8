//! The same command again and again: what one of them takes is comparable from log to log.

use super::random::Random;
use super::{TENANT, execution_loop, under, words};
use crate::error::{Doing, MeasureError};
use holdpoint_domain::Command;
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{Conditions, Origin, Submitted};
use std::time::Instant;

/// Captures in one loop.
const CAPTURES: u64 = 64;

/// Captures 256 bytes of output in loops of its own, which begin and end in between.
pub struct Probe {
    random: Random,
    current: Option<execution_loop::Running>,
    captured: u64,
}

impl Probe {
    /// Whose loops no other seed gives.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), current: None, captured: 0 }
    }

    /// Captures once. Seconds that this took alone.
    ///
    /// # Errors
    /// What the engine says.
    pub fn append(&mut self, engine: &Engine) -> Result<f64, MeasureError> {
        self.capture(engine, &Conditions::default())
    }

    /// The same under a key that nobody used before.
    ///
    /// # Errors
    /// What the engine says.
    pub fn append_under_new_key(&mut self, engine: &Engine) -> Result<f64, MeasureError> {
        let key = format!("{TENANT}-{:016x}", self.random.next());
        self.capture(engine, &under(&key))
    }

    /// Ends the loop that runs.
    ///
    /// # Errors
    /// What the engine says.
    pub fn end(&mut self, engine: &Engine) -> Result<(), MeasureError> {
        let Some(running) = self.current.take() else { return Ok(()) };
        let commands = running.end(&mut self.random);
        commands.iter().try_for_each(|command| submit(engine, &Conditions::default(), command))
    }

    fn capture(&mut self, engine: &Engine, when: &Conditions) -> Result<f64, MeasureError> {
        if self.current.is_none() || self.captured >= CAPTURES {
            self.end(engine)?;
            let (running, commands) = execution_loop::Running::begin(&mut self.random);
            for command in &commands {
                submit(engine, &Conditions::default(), command)?;
            }
            (self.current, self.captured) = (Some(running), 0);
        }
        self.captured += 1;
        let running = self.current.as_ref().ok_or("no loop runs").doing("capture")?;
        let command = running.capture(&mut self.random);
        let begun = Instant::now();
        submit(engine, when, &command)?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

fn submit(engine: &Engine, when: &Conditions, command: &Command) -> Result<(), MeasureError> {
    let correlation = "probe".to_string();
    let origin = Origin { actor: words::automation(), correlation, causation: None };
    match engine.submit(&origin, when, command).doing("submit")? {
        Submitted::Accepted(_) => Ok(()),
        other => Err(format!("{other:?}")).doing("submit"),
    }
}
