//! Adding of facts: the disk

#[cfg(windows)]
compile_error!("Holdpoint runs on Linux, and builds on macOS; on Windows use WSL 2.");

/// Writes the setters of options: each gives the same with another value of one field.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $Type:ty,)+) => {
        $($(#[$doc])* #[must_use] pub fn $field(self, $field: $Type) -> Self {
            Self { $field, ..self }
        })+
    };
}

pub mod adoption;
pub mod executor;
pub mod floors;
pub mod log;
mod raw_file;
pub mod shell;
mod sync;

pub use shell::{Engine, Origin};
