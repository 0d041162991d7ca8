//! batpak: typed events, chained by BLAKE3.

use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use batpak::prelude::*;
use batpak::store::SyncMode;
use std::path::Path;

pub(super) const CANDIDATE: Candidate = Candidate {
    is_chained: true,
    remark: "one entity, BLAKE3 chain, a receipt for every event; fdatasync",
    ..Candidate::new("batpak 0.10.0", open)
};

/// What is recorded: the same text as ours.
#[derive(serde::Serialize, serde::Deserialize, EventPayload)]
#[batpak(category = 0xF, type_id = 1)]
struct OutputCaptured {
    output: String,
}

struct OpenStore {
    store: batpak::store::Store,
    coordinate: Coordinate,
    event: OutputCaptured,
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    let every = if mode == Mode::Durable { 1 } else { u32::MAX };
    let config =
        StoreConfig::new(at).with_sync_every_n_events(every).with_sync_mode(SyncMode::SyncData);
    let store = batpak::store::Store::open(config).doing("open")?;
    let coordinate = Coordinate::new("entity:bench", "scope:bench").doing("name an entity")?;
    let event = OutputCaptured { output: payload.to_string() };
    Ok(Box::new(OpenStore { store, coordinate, event }))
}

impl Store for OpenStore {
    fn append(&self) -> Result<(), MeasureError> {
        self.store.append_typed(&self.coordinate, &self.event).map(drop).doing("append")
    }

    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        self.store.close().map(drop).doing("close")
    }
}
