//! The server: requests in on stdin, answers out on stdout, until stdin ends.
//!
//! Calls of tools block, so each runs on a thread of its own; an answer waits for no other. Both
//! eras of the protocol are served: clients that begin with `initialize`, and those of 2026-07-28
//! that say all with every request.

use super::caller::ServerContext;
use super::fit::fitted;
use super::progress::Progress;
use super::tools::{Offer, offers};
use super::wire::Wire;
use crate::questions::decision_output::told_whole;
use crate::ui::text::{cut, visible_once};
use crate::ui::{Exit, Failure, complain, excerpt};
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult, ConstString,
    ContentBlock, CustomRequest, CustomResult, ErrorCode, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError, serve_server};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What an agent has to know before it uses the tools.
const INSTRUCTIONS: &str = "Holdpoint is an approval gate and a flight recorder. Before an action \
that needs a person, call decision_create, then decision_wait until the outcome is no longer \
still_pending. Pending means wait: silence, a timeout or a cancellation is no approval, and only \
decision.approved = true is; a default that is taken for your own question never sets it. Ask for \
leave to act with a binding: then only people can approve it, and that action alone. Never answer \
your own decision, by any tool or command, and never ask again in other words because an answer is \
slow or unwelcome. When guidance was given, propose anew \
with decision_refine. Everything is recorded.";

/// How much is told of what is wrong with what a client sends, in bytes.
const SAID_BYTES_MAX: usize = 512;
/// Most calls that are under way at a time.
const CALLS_MAX: usize = 64;

/// Serves until stdin ends.
pub(super) fn serve(server: ServerContext) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| {
        let message = format!("cannot start the server: {error}; try again");
        Failure::new(Exit::FAILED, "runtime", message)
    })?;
    let served = runtime.block_on(converse(Server::new(server)));
    // A wait may still be under way: it has nobody to tell, and wrote nothing.
    runtime.shutdown_background();
    served
}

async fn converse(server: Server) -> Result<Exit, Failure> {
    let wire = Wire::new(Arc::clone(&server.server.has_ended));
    let running = match serve_server(server, wire).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(Exit::DONE),
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
            return Err(broken("it begins with what is no request; begin with initialize"));
        }
        Err(ServerInitializeError::UnexpectedInitializeResponse(_)) => {
            return Err(broken("it answers what nobody asked"));
        }
        Err(error) => return Err(broken(&error.to_string())),
    };
    running.waiting().await.map_err(|error| broken(&error.to_string()))?;
    Ok(Exit::DONE)
}

fn broken(said: &str) -> Failure {
    let said = cut(said, SAID_BYTES_MAX);
    let message = format!("the client does not speak the protocol as it should: {said}");
    Failure::new(Exit::FAILED, "protocol", message)
}

/// The server.
struct Server {
    server: Arc<ServerContext>,
    under_way: Arc<AtomicUsize>,
}

impl Server {
    fn new(server: ServerContext) -> Self {
        Self { server: Arc::new(server), under_way: Arc::default() }
    }

    fn offer(&self, name: &str) -> Result<Offer, ErrorData> {
        let found = offers(self.server.lets_respond()).find(|offer| offer.name == name);
        found.ok_or_else(|| {
            let shown = excerpt(name);
            let message = format!("there is no tool {shown}; tools/list lists them");
            ErrorData::invalid_params(message, None)
        })
    }

    /// Carries a call out on a thread of its own.
    async fn call(
        &self,
        offer: Offer,
        arguments: Map<String, Value>,
        client: Option<String>,
        given_up: &Arc<AtomicBool>,
    ) -> Result<Value, Failure> {
        let turn = Turnstile::enter(&self.under_way)?;
        let (server, given_up) = (Arc::clone(&self.server), Arc::clone(given_up));
        let call = tokio::task::spawn_blocking(move || {
            let outcome = offer.call(&server.caller(client.as_deref(), &given_up), arguments);
            drop(turn);
            outcome
        });
        call.await.unwrap_or_else(|error| {
            complain(&format!("{} broke off: {error}", offer.name));
            let message = "the call broke off; see stderr, and look before you repeat it";
            Err(Failure::new(Exit::FAILED, "internal", message))
        })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(tools)
            .with_server_info(Implementation::new("holdpoint", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = offers(self.server.lets_respond()).map(|offer| offer.tool()).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let offer = self.offer(&request.name)?;
        let client = context.client_info().map(|client| client.name);
        let arguments = request.arguments.unwrap_or_default();
        let given_up = Arc::new(AtomicBool::new(false));
        let (cancelled, flag) = (context.ct, Arc::clone(&given_up));
        // What waits keeps its place no longer where the client has cancelled it.
        let watching = tokio::spawn(async move {
            cancelled.cancelled().await;
            flag.store(true, Ordering::Relaxed);
        });
        let token = context.meta.get_progress_token().filter(|_| offer.waits());
        let every = ServerContext::progress_every();
        let progress = token.map(|it| Progress::begin(context.peer, it, &arguments, every));
        let outcome = self.call(offer, arguments, client, &given_up).await;
        drop(progress);
        watching.abort();
        if let Err(failure) = &outcome {
            complain(&format!("{}: {}", offer.name, visible_once(failure.message())));
        }
        Ok(CallToolResponse::Complete(result_of(outcome)))
    }

    /// What the SDK could not read as any request that it knows.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == CallToolRequestMethod::VALUE {
            let message = "tools/call takes a name, which is a text, and arguments, an object";
            return Err(ErrorData::invalid_params(message, None));
        }
        let shown = excerpt(&request.method);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, shown, None))
    }
}

/// One of the calls that may be under way; it is over when this is dropped.
struct Turnstile(Arc<AtomicUsize>);

impl Turnstile {
    fn enter(under_way: &Arc<AtomicUsize>) -> Result<Self, Failure> {
        let turn = Self(Arc::clone(under_way));
        if under_way.fetch_add(1, Ordering::Relaxed) < CALLS_MAX {
            return Ok(turn);
        }
        let message = format!("{CALLS_MAX} calls are under way; let one end, and call again");
        Err(Failure::new(Exit::CONFLICT, "busy", message))
    }
}

impl Drop for Turnstile {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The result for a client: a value as it is; a failure as `isError`, with the `error` object that
/// the program prints, in which `decision_id` and `current` are always there. It is bounded.
fn result_of(outcome: Result<Value, Failure>) -> CallToolResult {
    let is_error = outcome.is_err();
    let value = fitted(outcome.unwrap_or_else(|failure| told_whole(failure).value()));
    let mut result = CallToolResult::default();
    result.content = vec![ContentBlock::text(value.to_string())];
    result.structured_content = Some(value);
    result.is_error = Some(is_error);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Exit;
    use serde_json::json;

    #[test]
    fn a_failure_is_told_with_every_key_of_an_error() {
        let result = result_of(Err(Failure::new(Exit::NOT_FOUND, "not_found", "no such thing")));
        let expected = json!({ "error": {
            "code": "not_found", "message": "no such thing", "decision_id": null, "current": null,
        }});
        assert_eq!((result.structured_content, result.is_error), (Some(expected), Some(true)));
        let result = result_of(Ok(json!({ "decision": 1 })));
        assert_eq!(result.is_error, Some(false));
        assert_eq!(result.content, [ContentBlock::text(r#"{"decision":1}"#)]);
    }
}
