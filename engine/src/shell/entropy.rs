//! Random bits for ids, drawn in one place. Rules see them only inside commands.

use holdpoint_domain::core::ids::Entropy;
use std::collections::VecDeque;

/// How many drawn bits are remembered until they are used.
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

/// Bits that an engine drew and gave away, and that no record can hold yet: no command of this
/// engine used them, and nobody else wrote since.
#[derive(Debug, Default)]
pub(super) struct Drawn(VecDeque<Entropy>);

impl Drawn {
    pub(super) fn add(&mut self, entropy: Entropy) {
        self.0.push_back(entropy);
        if self.0.len() > DRAWN_MAX {
            self.0.pop_front();
        }
    }

    /// Whether these bits are new. They are not for whoever asks again.
    pub(super) fn take(&mut self, entropy: Entropy) -> bool {
        let found = self.0.iter().rposition(|drawn| *drawn == entropy);
        found.and_then(|at| self.0.remove(at)).is_some()
    }

    /// Somebody else wrote, with whatever bits.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
