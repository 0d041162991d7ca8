//! Progress of a call that waits, told while it does: a client that hears nothing gives up, and
//! some clients begin to count again with each notice.

use super::waiting::seconds_of;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::{Instant, interval_at};

/// The shortest time between two notices.
const BETWEEN_MIN: Duration = Duration::from_millis(1);

/// The notices of one call. They end when this is dropped: none follows the answer.
pub(super) struct Progress(AbortHandle);

impl Progress {
    /// Tells the client that gave this token, as often, how long the call has waited.
    pub(super) fn begin(
        client: Peer<RoleServer>,
        token: ProgressToken,
        arguments: &Map<String, Value>,
        between: Duration,
    ) -> Self {
        let total = seconds_of(arguments);
        let between = between.max(BETWEEN_MIN);
        let told = tokio::spawn(async move {
            let began = Instant::now();
            let mut ticks = interval_at(began + between, between);
            loop {
                ticks.tick().await;
                let waited = began.elapsed().as_secs_f64();
                let notice = ProgressNotificationParam::new(token.clone(), waited)
                    .with_total(total)
                    .with_message("No answer yet.");
                if client.notify_progress(notice).await.is_err() {
                    return;
                }
            }
        });
        Self(told.abort_handle())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.abort();
    }
}
