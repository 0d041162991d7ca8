//! The process that opened a log. A forked child has the memory of the handle and none of its
//! threads: it must open the log again.

use crate::executor::process_mark;

/// The process that a handle belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) pid: u32,
    /// `None` where the system gives none.
    mark: Option<u64>,
}

impl Owner {
    pub(super) fn this_process() -> Self {
        Self { pid: std::process::id(), mark: process_mark() }
    }

    /// Returns whether this is still that process, whoever forked it: told without a system call
    /// where the system allows it, at every door of the handle and before anything is written.
    pub(super) fn is_here(self) -> bool {
        match self.mark {
            Some(mark) => process_mark() == Some(mark),
            None => std::process::id() == self.pid,
        }
    }

    /// The owner of a handle that a forked child has.
    #[cfg(test)]
    pub(super) fn parent() -> Self {
        let here = Self::this_process();
        Self { pid: here.pid + 1, mark: here.mark.map(|mark| mark + 1) }
    }
}
