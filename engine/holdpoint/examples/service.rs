//! A service over HTTP: each request is recorded with all that it changes, once for its key, and
//! answers come from the state that the log gives.
//!
//! `cargo run -p holdpoint --example service -- DIRECTORY [REQUESTS]`
//!
//! It prints its address, and ends after so many requests, or never.
//!
//! ```text
//! curl -X POST -H 'Idempotency-Key: k1' --data 12 http://ADDRESS/orders/order-1
//! curl http://ADDRESS/orders/order-1
//! curl http://ADDRESS/stock
//! ```
//!
//! Under axum a handler is the same but for what is around it. This one records the order alone.
//! `origin`, `Placed` and `answer_of` are those below, but with a `StatusCode`.
//!
//! ```text
//! async fn place(
//!     State(engine): State<Arc<Engine>>,
//!     Path(order): Path<String>,
//!     headers: HeaderMap,
//!     Json(placed): Json<Placed>,
//! ) -> Result<(StatusCode, String), StatusCode> {
//!     let key = headers.get("Idempotency-Key").and_then(|key| key.to_str().ok());
//!     let event = placed.of(&*order).map_err(|_| StatusCode::BAD_REQUEST)?;
//!     let once = Conditions::from(key.map(Conditions::once)).expecting(0);
//!     match engine.submit_later(&origin(&order), once, &event.into()) {
//!         Ok(ticket) => Ok(answer_of(ticket.await)),  // durable by then; no thread waited
//!         Err(_full) => Err(StatusCode::SERVICE_UNAVAILABLE),
//!     }
//! }
//! ```

use holdpoint::{
    ApplicationEvent, Conditions, Engine, EventError, EventType, Origin, Outcome, Reduced, Reducer,
    ReducerOptions, Submitted,
};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// The longest body that is read.
const BODY_MAX: u64 = 64 * 1_024;

#[derive(Serialize, Deserialize)]
struct Placed {
    pieces: u64,
}

impl EventType for Placed {
    const TYPE: &'static str = "order.placed";
}

#[derive(Serialize, Deserialize)]
struct Taken {
    pieces: u64,
}

impl EventType for Taken {
    const TYPE: &'static str = "stock.taken";
}

/// How many pieces were taken from a stock.
struct TakenInAll;

impl Reducer for TakenInAll {
    const NAME: &'static str = "taken";
    type State = u64;

    fn apply(pieces: &mut u64, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        let taken = event.read::<Taken>()?.map_or(0, |taken| taken.pieces);
        *pieces = pieces.saturating_add(taken);
        Ok(())
    }
}

/// What answers come from.
struct Shop {
    engine: Engine,
    taken: Reduced<TakenInAll>,
}

/// A status and a body.
type Answer = (&'static str, String);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("name a directory for the log")?;
    let requests = arguments.next().map_or(Ok(usize::MAX), |count| count.parse())?;
    let engine = Engine::open(directory)?;
    let taken = Reduced::open(&engine, ReducerOptions::default())?;
    let shop = Shop { engine, taken };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming().take(requests) {
        // One client's broken connection is no reason to end.
        if let Err(error) = stream.and_then(|stream| serve(&shop, stream)) {
            eprintln!("{error}");
        }
    }
    Ok(shop.engine.close()?)
}

/// A request, as far as it matters here.
struct Request {
    method: String,
    path: String,
    key: Option<String>,
    body: String,
}

fn serve(shop: &Shop, mut stream: TcpStream) -> io::Result<()> {
    let request = read(&mut BufReader::new(&stream))?;
    let (status, body) = answer(shop, &request);
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn answer(Shop { engine, taken }: &Shop, request: &Request) -> Answer {
    let order = request.path.strip_prefix("/orders/");
    let answered = match (request.method.as_str(), order) {
        ("POST", Some(order)) => place(engine, order, request),
        ("GET", Some(order)) => show_order(engine, order),
        ("GET", None) if request.path == "/stock" => show_stock(taken),
        (_, Some(_)) => Ok(("405 Method Not Allowed", "GET or POST\n".to_string())),
        (_, None) => Ok(("404 Not Found", "no such place\n".to_string())),
    };
    answered.unwrap_or_else(|error| ("503 Service Unavailable", format!("{error}\n")))
}

/// The order and what it takes from the stock, in one batch or not at all: a new order alone.
fn place(engine: &Engine, order: &str, request: &Request) -> Result<Answer, Box<dyn Error>> {
    let Ok(pieces) = request.body.parse() else {
        return Ok(("400 Bad Request", "how many pieces?\n".to_string()));
    };
    let committed = engine
        .transaction(&origin(order))
        .record(Placed { pieces }.of(order)?)
        .expecting(0)
        .record(Taken { pieces }.of("stock")?)
        .commit(request.key.as_deref().map(Conditions::once));
    Ok(answer_of(committed))
}

/// Each order is a story of its own, and so are its keys.
fn origin(order: &str) -> Origin {
    Origin::automation("shop").within(order)
}

fn answer_of(outcome: Outcome) -> Answer {
    match outcome {
        Ok(Submitted::Accepted(receipt)) => {
            ("201 Created", format!("placed in record {}\n", receipt.last_sequence))
        }
        Ok(Submitted::Repeated(receipt)) => {
            ("200 OK", format!("placed before, in record {}\n", receipt.last_sequence))
        }
        Ok(Submitted::Refused(refusal)) => match refusal.code() {
            code @ ("STALE_VERSION" | "IDEMPOTENCY_CONFLICT") => {
                ("409 Conflict", format!("{code}\n"))
            }
            code => ("400 Bad Request", format!("{code}: {refusal}\n")),
        },
        Err(error) => ("503 Service Unavailable", format!("{error}\n")),
    }
}

/// Holdpoint itself knows where a stream stands, and nothing of what its events mean. What it says
/// is as durable as whatever was answered before.
fn show_order(engine: &Engine, order: &str) -> Result<Answer, Box<dyn Error>> {
    let version = engine.query(|world| world.stream_version(order))?;
    Ok(match version {
        0 => ("404 Not Found", "no such order\n".to_string()),
        version => ("200 OK", format!("{order} stands at record {version}\n")),
    })
}

/// What the events mean only their application can tell. A reducer makes a state of them: as
/// durable, in bounded memory, and after a restart again from the log, so that nothing beside it
/// can say otherwise.
fn show_stock(taken: &Reduced<TakenInAll>) -> Result<Answer, Box<dyn Error>> {
    let pieces = taken.state("stock")?;
    Ok(("200 OK", format!("{pieces} pieces taken\n")))
}

fn read(from: &mut impl BufRead) -> io::Result<Request> {
    let mut line = String::new();
    from.by_ref().take(BODY_MAX).read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_string);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut key, mut length) = (None, 0_u64);
    loop {
        let mut header = String::new();
        from.by_ref().take(BODY_MAX).read_line(&mut header)?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "idempotency-key" => key = Some(value.trim().to_string()),
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
    }
    let mut body = String::new();
    from.by_ref().take(length.min(BODY_MAX)).read_to_string(&mut body)?;
    Ok(Request { method, path, key, body })
}
