//! A simulated disk: crash a log at every call, in every way, without a machine to unplug.
//!
//! [`SimulatedDisk`] is a [`Storage`](holdpoint_engine::log::Storage) in memory with two images:
//! what the cache shows, and what is durable. A write goes to the cache and becomes durable, sector
//! by sector of 512 bytes, with a sync of the file; a new name, a rename or a removal with a sync
//! of its directory, and not with a sync of the file. Making a file or a directory, reserving,
//! giving back blocks and LOCK obey the same rules.
//!
//! - **Power loss** leaves, of everything that is not durable, any combination: each sector holds
//!   any version that it had since it was last durable, independently of all others; each change of
//!   names happened or did not; a file of a surviving name may hold anything from nothing on.
//!   Sectors are written whole or not at all, unless [`SimulatedDisk::power_loss_tearing`] tears
//!   them. The boot identity changes.
//! - **A kill** of all processes leaves the cache as it is, and the boot. Recorded moments within a
//!   long write stop at a multiple of 4096.
//! - **Faults** ([`Fault`], [`ReadFault`], [`SimulatedDisk::rot`]) happen at the call that they are
//!   asked for.
//!
//! One machine is simulated, and one directory on it. Nothing here reads a clock.
//!
//! ```
//! use holdpoint_engine::log::{Level, Log, NewRecord, Options};
//! use holdpoint_simulation::{Call, Fault, SimulatedDisk};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let disk = SimulatedDisk::new(7);
//! let (log, _) = Log::open(disk.clone(), Options::default())?;
//! let record = NewRecord { kind: 32_768, version: 1, payload: b"kept".to_vec() };
//! log.append(&[record.clone()], 1, Level::Always)?;
//! log.append(&[record.clone()], 2, Level::Os)?;
//!
//! // Power is lost now, and nothing that was not synced survives.
//! let after = disk.power_loss(&[]);
//! let (_, report) = Log::open(after, Options::default())?;
//! assert_eq!(report.position.sequence, 1);
//!
//! // A sync fails, and the cache goes on showing what the disk does not have.
//! disk.fail_next(Call::Sync, Fault::SyncDropsPages);
//! assert!(log.append(&[record], 3, Level::Always).is_err());
//! assert_eq!(disk.happened(), ["sync-drops-pages"]);
//! # Ok(())
//! # }
//! ```

mod calls;
mod disk;
mod fault;
mod file;
mod machine;
mod names;
mod pages;
#[cfg(test)]
mod tests;

pub use calls::{SimulatedFile, SimulatedLock};
pub use disk::{Moment, Pending, PendingWhat, SimulatedDisk, Tear};
pub use fault::{Call, CallRecord, Effect, Fault, ReadFault};
