//! Conditions of the command line, `FIELD=VALUE`, of which all must hold.

use crate::ui::suggest::closest;
use crate::ui::{Exit, Failure};

/// A boolean value.
pub(crate) fn boolean(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| "true or false".to_string())
}

/// A field and the value that it has to have.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    field: &'static str,
    value: String,
}

impl Condition {
    /// Reads one, of one of these fields.
    pub(crate) fn parse(text: &str, fields: &[&'static str]) -> Result<Self, String> {
        let read = text.split_once('=').and_then(|(field, value)| {
            let field = fields.iter().find(|known| **known == field)?;
            Some(Self { field, value: value.to_string() })
        });
        read.ok_or_else(|| {
            let field = text.split('=').next().unwrap_or_default();
            match closest(fields.iter().copied(), field).filter(|closest| *closest != field) {
                Some(closest) => format!("did you mean {closest}=VALUE?"),
                None => format!("write NAME=VALUE; the names are {}", fields.join(", ")),
            }
        })
    }

    /// The field and its value.
    pub(crate) fn parts(&self) -> (&'static str, &str) {
        (self.field, &self.value)
    }

    /// Puts all of them into a filter, each field once but those that may be repeated. Exit 2.
    pub(crate) fn put<T>(
        all: &[Self],
        mut into: T,
        repeated: &str,
        put: fn(&mut T, &Self) -> Result<(), String>,
    ) -> Result<T, Failure> {
        for (place, condition) in all.iter().enumerate() {
            let (field, before) = (condition.field, all.get(..place).unwrap_or_default());
            if field != repeated && before.iter().any(|other| other.field == field) {
                let message = format!("{field} is given twice: name it once");
                return Err(Failure::new(Exit::USAGE, "given_twice", message));
            }
            let unread = |why| Failure::new(Exit::USAGE, "usage", why);
            put(&mut into, condition).map_err(unread)?;
        }
        Ok(into)
    }

    /// Takes the value of a field out of all conditions. Exit 2 where it stands there twice.
    pub(crate) fn take(all: &mut Vec<Self>, field: &str) -> Result<Option<String>, Failure> {
        let values: Vec<Self> = all.extract_if(.., |it| it.field == field).collect();
        match <[Self; 1]>::try_from(values) {
            Ok([only]) => Ok(Some(only.value)),
            Err(none) if none.is_empty() => Ok(None),
            Err(several) => {
                let message = format!("{field} is given {} times: name it once", several.len());
                Err(Failure::new(Exit::USAGE, "given_twice", message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_has_a_known_field_and_a_field_has_one_value() {
        let read = |text| Condition::parse(text, &["kind", "text"]);
        for wrong in ["kind", "actor=x", "=x", ""] {
            assert!(read(wrong).unwrap_err().contains("kind, text"), "{wrong}");
        }
        assert_eq!(read("kinds=x").unwrap_err(), "did you mean kind=VALUE?");
        let mut all = ["text=a=b", "kind=x"].map(|text| read(text).unwrap()).to_vec();
        assert_eq!(Condition::take(&mut all, "text"), Ok(Some("a=b".to_string())));
        assert_eq!(Condition::take(&mut all, "text"), Ok(None));
        let mut twice = ["kind=x", "kind=y"].map(|text| read(text).unwrap()).to_vec();
        assert!(Condition::take(&mut twice, "kind").unwrap_err().message().contains("2 times"));
    }
}
