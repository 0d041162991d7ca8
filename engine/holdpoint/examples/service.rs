//! A service over HTTP: each request is recorded with all that it changes, once for its key, and
//! answers come from the state that the log gives.
//!
//! `cargo run -p holdpoint --example service -- DIRECTORY [REQUESTS]`
//!
//! It prints its address, and ends after so many requests, or never.
//!
//! ```text
//! curl -X POST -H 'Idempotency-Key: k1' --data 1200 http://ADDRESS/orders/order-1
//! curl http://ADDRESS/orders/order-1
//! ```
//!
//! Under axum a handler is the same but for what is around it:
//!
//! ```text
//! async fn place(
//!     State(engine): State<Arc<Engine>>,
//!     Path(order): Path<String>,
//!     headers: HeaderMap,
//!     body: String,
//! ) -> (StatusCode, String) {
//!     let conditions = conditions_of(&headers);
//!     match engine.submit_later_when(&origin(&order), &conditions, &placed(&order, &body)) {
//!         Ok(ticket) => answer(ticket.await),  // durable by then; no thread waited
//!         Err(full) => (StatusCode::SERVICE_UNAVAILABLE, full.to_string()),
//!     }
//! }
//! ```

use holdpoint::{Conditions, Engine, Origin, RecordEvent, SubmitError, Submitted};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// The longest body that is read.
const BODY_MAX: u64 = 64 * 1_024;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("name a directory for the log")?;
    let requests = arguments.next().map_or(Ok(usize::MAX), |count| count.parse())?;
    let engine = Engine::open(directory)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming().take(requests) {
        // One client's broken connection is no reason to end.
        if let Err(error) = stream.and_then(|stream| serve(&engine, stream)) {
            eprintln!("{error}");
        }
    }
    Ok(engine.close()?)
}

/// A request, as far as it matters here.
struct Request {
    method: String,
    path: String,
    key: Option<String>,
    body: String,
}

fn serve(engine: &Engine, mut stream: TcpStream) -> io::Result<()> {
    let request = read(&mut BufReader::new(&stream))?;
    let (status, body) = answer(engine, &request);
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn answer(engine: &Engine, request: &Request) -> (&'static str, String) {
    let Some(order) = request.path.strip_prefix("/orders/") else {
        return ("404 Not Found", "no such place\n".to_string());
    };
    let answered = match request.method.as_str() {
        "POST" => place(engine, order, request),
        "GET" => show(engine, order),
        _ => Ok(("405 Method Not Allowed", "GET or POST\n".to_string())),
    };
    answered.unwrap_or_else(|error| ("503 Service Unavailable", format!("{error}\n")))
}

/// The order and what it takes from the stock, in one batch or not at all: a new order alone.
fn place(
    engine: &Engine,
    order: &str,
    request: &Request,
) -> Result<(&'static str, String), SubmitError> {
    let origin = Origin::automation("shop").within(order);
    let conditions = request.key.as_ref().map_or(Conditions::new(), |key| Conditions::once(&**key));
    let submitted = engine
        .transaction(&origin)
        .record(RecordEvent::new(order, "order.placed", &*request.body))
        .expecting(0)
        .record(RecordEvent::new("stock", "stock.taken", &*request.body))
        .commit_when(&conditions)?;
    Ok(match submitted {
        Submitted::Accepted(receipt) => {
            ("201 Created", format!("placed in record {}\n", receipt.last_sequence))
        }
        Submitted::Repeated(receipt) => {
            ("200 OK", format!("placed before, in record {}\n", receipt.last_sequence))
        }
        Submitted::Refused(refusal) => match refusal.code() {
            code @ ("STALE_VERSION" | "IDEMPOTENCY_CONFLICT") => {
                ("409 Conflict", format!("{code}\n"))
            }
            code => ("400 Bad Request", format!("{code}: {refusal}\n")),
        },
    })
}

/// The state, as durable as whatever was answered before.
fn show(engine: &Engine, order: &str) -> Result<(&'static str, String), SubmitError> {
    let version = engine.query(|world| world.stream_version(order))?;
    Ok(match version {
        0 => ("404 Not Found", "no such order\n".to_string()),
        version => ("200 OK", format!("{order} stands at record {version}\n")),
    })
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
