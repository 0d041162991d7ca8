//! The request to a person that is meant in an open log, by its id or the beginning of it.

use crate::args::Global;
use crate::log::open::failed;
use crate::log::question::resolve;
use crate::log::{Question, ids};
use crate::ui::{Exit, Failure};
use holdpoint_engine::Engine;

/// The request that is meant. `None`: no request is called so. Where it is named by how its id
/// begins, no other id of the whole log begins so.
pub(crate) fn find(
    global: &Global,
    engine: &Engine,
    wanted: &str,
) -> Result<Option<String>, Failure> {
    ids::expect_long_enough(wanted)?;
    let found = engine.query(|world| match resolve(world, wanted) {
        Ok(Question::Hold(_, held)) => Ok(Some(held.request_id().to_string())),
        Ok(Question::Decision(_)) => Ok(None),
        Err(failure) if failure.exit == Exit::NOT_FOUND => Ok(None),
        Err(failure) => Err(failure),
    });
    let found = found.map_err(|error| failed(global, error))??;
    if let Some(found) = found.as_deref().filter(|found| *found != wanted) {
        ids::expect_only(global, wanted, found)?;
    }
    Ok(found)
}
