//! From the loose values of the vectors to the strict types, and back.

use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::evidence_capture::{EvidenceRecord, EvidenceType, ObservationPoint};
use holdpoint_testing::chains::EvidenceChain;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What the adapter gives back for a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// A value in the shape of the vectors.
    Value(Value),
    /// The input has no place in the strict types.
    Undecodable(String),
    /// A rule said no.
    Refused(String),
}

/// A decoded part of the input; the error is why it does not decode.
pub(crate) type Decoded<T> = Result<T, String>;

/// The field of that name.
pub(crate) fn field<'a>(input: &'a Value, name: &str) -> Decoded<&'a Value> {
    input.get(name).ok_or_else(|| format!("no field {name}"))
}

/// The field of that name as text.
pub(crate) fn text<'a>(input: &'a Value, name: &str) -> Decoded<&'a str> {
    field(input, name)?.as_str().ok_or_else(|| format!("{name} is no text"))
}

/// The field of that name as a value of a type whose fields have the seeds' names.
pub(crate) fn typed<T: DeserializeOwned>(input: &Value, name: &str) -> Decoded<T> {
    let value = field(input, name)?.clone();
    serde_json::from_value(value).map_err(|error| format!("{name}: {error}"))
}

/// A value of a type whose fields have the seeds' names, in the shape of the vectors.
pub(crate) fn shaped<T: Serialize>(value: &T) -> Answer {
    Answer::Value(serde_json::to_value(value).unwrap())
}

/// Bytes written as lower-case hex.
pub(crate) fn bytes(input: &Value, name: &str) -> Decoded<RawData> {
    let hex = text(input, name)?.as_bytes();
    let digit = |d: u8| char::from(d).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = hex.chunks(2).map(byte).collect();
    bytes.map(RawData::from).ok_or_else(|| format!("{name} is no hex"))
}

/// The ids' entropy, one item per id.
pub(crate) fn entropy(input: &Value, count: usize) -> Decoded<Vec<String>> {
    let entropy: Vec<String> = typed(input, "entropy")?;
    if entropy.len() == count {
        return Ok(entropy);
    }
    Err(format!("{} items of entropy, but {count} ids are made", entropy.len()))
}

/// A record; `self_hash` may be absent.
pub(crate) fn record(input: &Value) -> Decoded<EvidenceRecord> {
    Ok(EvidenceRecord {
        record_id: text(input, "record_id")?.into(),
        observation_point: typed::<ObservationPoint>(input, "observation_point")?,
        evidence_type: typed::<EvidenceType>(input, "evidence_type")?,
        timestamp: text(input, "timestamp")?.into(),
        raw_data: bytes(input, "raw_data_hex")?,
        prior_hash: text(input, "prior_hash")?.into(),
        self_hash: input.get("self_hash").and_then(Value::as_str).unwrap_or("").into(),
        offered: None,
    })
}

/// A chain. A length that is no count does not decode.
pub(crate) fn chain(input: &Value, name: &str) -> Decoded<EvidenceChain> {
    let chain = field(input, name)?;
    let records = field(chain, "records")?.as_array().ok_or("records is no list")?;
    Ok(EvidenceChain {
        chain_id: text(chain, "chain_id")?.into(),
        records: records.iter().map(record).collect::<Decoded<_>>()?,
        head_hash: text(chain, "head_hash")?.into(),
        length: typed(chain, "length")?,
    })
}

/// A record in the shape of the vectors.
pub(crate) fn record_shape(record: &EvidenceRecord) -> Value {
    let raw: String = record.raw_data.as_bytes().iter().map(|b| format!("{b:02x}")).collect();
    json!({
        "record_id": record.record_id,
        "observation_point": record.observation_point,
        "evidence_type": record.evidence_type,
        "timestamp": record.timestamp,
        "raw_data_hex": raw,
        "prior_hash": record.prior_hash,
        "self_hash": record.self_hash,
    })
}
