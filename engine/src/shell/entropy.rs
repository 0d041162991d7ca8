//! Random bits for ids, drawn in one place. Rules see them only inside commands.

use holdpoint_domain::core::ids::Entropy;
use std::collections::VecDeque;

/// Maximum number of drawn bits that are remembered until they are used.
const DRAWN_MAX: usize = 256;

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

/// Bits that an engine drew and gave away, which no command of this engine used since, and up to
/// which record none holds them: all, until somebody else writes.
#[derive(Debug, Default)]
pub(super) struct UnusedEntropy(VecDeque<(Entropy, u64)>);

impl UnusedEntropy {
    pub(super) fn add(&mut self, entropy: Entropy) {
        self.0.push_back((entropy, u64::MAX));
        if self.0.len() > DRAWN_MAX {
            self.0.pop_front();
        }
    }

    /// Up to which record none holds these bits; 0 for whoever asks again.
    pub(super) fn take(&mut self, entropy: Entropy) -> u64 {
        let found = self.0.iter().rposition(|(drawn, _)| *drawn == entropy);
        found.and_then(|at| self.0.remove(at)).map_or(0, |(_, unused)| unused)
    }

    /// Somebody else wrote behind this record, with whatever bits.
    pub(super) fn written_behind(&mut self, sequence: u64) {
        self.0.iter_mut().for_each(|(_, unused)| *unused = sequence.min(*unused));
    }
}
