//! The files that say who may pass a hold point.

use super::check::Check;
use holdpoint_engine::floors::FloorFiles;

/// Who may pass.
pub(super) const POLICY: &str = "policy";

/// Whether they can be believed: where one cannot, nothing that they govern begins.
pub(super) fn check() -> Check {
    match FloorFiles::of_machine().read() {
        Ok(floors) if floors.each().is_empty() => {
            Check::ok(POLICY, "no file of the machine or its user demands anything")
        }
        Ok(floors) => {
            let names: Vec<String> = floors.each().iter().map(|floor| floor.name()).collect();
            Check::ok(
                POLICY,
                format!("in force, and only their owners write them: {}", names.join(", ")),
            )
        }
        Err(error) => {
            let advice = "mend it: no run and no approval begins before; `holdpoint policy show`";
            Check::fail(POLICY, error.to_string(), advice)
        }
    }
}
