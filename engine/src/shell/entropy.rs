//! Random bits for ids, drawn in one place. Rules see them only inside commands.

use holdpoint_domain::command::Entropy;

/// A source of entropy, injected so that tests choose it.
pub trait EntropySource: Send + Sync + 'static {
    /// 128 fresh bits.
    ///
    /// # Errors
    /// The system has none to give; said in words.
    fn draw(&self) -> Result<Entropy, String>;
}

/// The operating system's random generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl EntropySource for SystemEntropy {
    fn draw(&self) -> Result<Entropy, String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
        Ok(Entropy::from_bytes(bytes))
    }
}
