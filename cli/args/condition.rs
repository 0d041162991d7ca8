//! Conditions of the command line, `FIELD=VALUE`, of which all must hold.

use crate::ui::suggest::closest;
use crate::ui::{Exit, Failure};

/// A filter, made of conditions on its fields.
pub(crate) trait FilterFields: Default {
    /// Their names, with blanks between them.
    const NAMES: &'static str;
    /// One that may be given several times.
    const REPEATED: &'static str = "";

    /// Puts the value of a field in.
    fn put(&mut self, field: &str, value: &str) -> Result<(), String>;
}

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
    /// Reads one that this filter takes.
    pub(crate) fn of<T: FilterFields>(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let field = T::NAMES.split(' ').find(|known| *known == name && name.len() < text.len());
        let Some(field) = field else {
            let closest = closest(T::NAMES.split(' '), name).filter(|it| *it != name);
            return Err(match closest {
                Some(closest) => format!("did you mean {closest}=VALUE?"),
                None => format!("write NAME=VALUE; the names are {}", T::NAMES.replace(' ', ", ")),
            });
        };
        T::default().put(field, value)?;
        Ok(Self { field, value: value.to_string() })
    }

    /// Puts all of them into a filter, each field once but the one that may be repeated. Exit 2.
    pub(crate) fn put<T: FilterFields>(all: &[Self], mut into: T) -> Result<T, Failure> {
        let usage = |code, message| Failure::new(Exit::USAGE, code, message);
        for (place, Self { field, value }) in all.iter().enumerate() {
            let is_again = all.iter().take(place).any(|before| before.field == *field);
            if is_again && *field != T::REPEATED {
                return Err(usage("given_twice", format!("{field} is given twice: name it once")));
            }
            into.put(field, value).map_err(|why| usage("usage", why))?;
        }
        Ok(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Eq)]
    struct TwoFields(Vec<String>);

    impl FilterFields for TwoFields {
        const NAMES: &'static str = "kind text";
        const REPEATED: &'static str = "text";

        fn put(&mut self, field: &str, value: &str) -> Result<(), String> {
            self.0.push(format!("{field}={value}"));
            Ok(())
        }
    }

    #[test]
    fn a_condition_has_a_known_field_and_a_field_has_one_value() {
        let read = Condition::of::<TwoFields>;
        for wrong in ["kind", "actor=x", "=x", ""] {
            assert!(read(wrong).unwrap_err().contains("kind, text"), "{wrong}");
        }
        assert_eq!(read("kinds=x").unwrap_err(), "did you mean kind=VALUE?");
        let all = ["text=a=b", "kind=x"].map(|text| read(text).unwrap());
        let wanted = TwoFields(vec!["text=a=b".to_string(), "kind=x".to_string()]);
        assert_eq!(Condition::put(&all, TwoFields::default()), Ok(wanted));
        let twice = ["kind=x", "kind=y"].map(|text| read(text).unwrap());
        assert!(
            Condition::put(&twice, TwoFields::default()).unwrap_err().message().contains("twice")
        );
        let twice = ["text=x", "text=y"].map(|text| read(text).unwrap());
        assert!(Condition::put(&twice, TwoFields::default()).is_ok());
    }
}
