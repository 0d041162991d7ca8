//! Expressions over the state that are true or false.
//!
//! The language is Rhai's, of which only expressions are taken: no statement, no loop, no function
//! but `|x| ...` for the elements of a list, no input or output. How long and how deep one may run
//! is bounded, so that any text ends.

use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure};
use holdpoint_domain::core::text::bounded;
use holdpoint_replay::state::ROOMS;
use rhai::packages::{
    ArithmeticPackage, BasicArrayPackage, BasicFnPackage, BasicMapPackage, BasicMathPackage,
    BasicStringPackage, LogicPackage, MoreStringPackage, Package,
};
use rhai::{AST, Dynamic, Engine, EvalAltResult, OptimizationLevel, Position, Scope};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The longest expression, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// How many steps one answer may take: about a second, and a hundred for each of all entities that
/// a state remembers.
const STEPS_MAX: u64 = 2_000_000;
/// How long one answer may take, where single steps are long.
const TIME_MAX: Duration = Duration::from_secs(10);
/// How many steps lie between two looks at the clock.
const STEPS_UNWATCHED: u64 = 256;
/// How deep an expression may be nested.
const DEPTH_MAX: usize = 64;
/// What a value that comes to be on the way may hold beyond what the whole state does.
const TEXTS_BYTES_MAX: usize = 1 << 20;
const ELEMENTS_MAX: usize = 1 << 16;
const FIELDS_MAX: usize = 1 << 16;
/// The parts of the state beside the rooms of entities.
const PARTS: [&str; 5] = ["head", "fingerprint", "state_schema", "totals", "decision_point_totals"];

/// An expression that was understood.
pub struct Predicate {
    text: String,
    engine: RefCell<Engine>,
    parsed: AST,
    effort: Rc<Effort>,
}

/// What the answer that is being worked out has taken.
///
/// The engine's own count starts again wherever one of its functions calls back into the
/// expression, for each element of a list, so its bound would never bind there.
struct Effort {
    steps: Cell<u64>,
    begun: Cell<Instant>,
}

impl Effort {
    fn none() -> Self {
        Self { steps: Cell::new(0), begun: Cell::new(Instant::now()) }
    }

    fn begin(&self) {
        self.steps.set(0);
        self.begun.set(Instant::now());
    }

    /// Takes one more step; whether it was one too many.
    fn is_spent(&self) -> bool {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        steps > STEPS_MAX
            || steps.is_multiple_of(STEPS_UNWATCHED) && self.begun.get().elapsed() > TIME_MAX
    }
}

impl Predicate {
    /// Understands an expression, or says in which column it cannot be understood. A name that is
    /// no part of the state is not understood.
    pub fn parse(text: &str, with_entity: bool) -> Result<Self, Failure> {
        if text.len() > TEXT_BYTES_MAX {
            let message = format!("the expression has more than {TEXT_BYTES_MAX} bytes");
            return Err(Failure::new(Exit::USAGE, "bad_predicate", message));
        }
        let effort = Rc::new(Effort::none());
        let engine = engine(&effort);
        let entity = with_entity.then_some(super::ENTITY);
        let mut known = Scope::new();
        for name in PARTS.into_iter().chain(ROOMS).chain(entity) {
            known.push_dynamic(name, Dynamic::UNIT);
        }
        match engine.compile_expression_with_scope(&known, text) {
            Ok(parsed) => {
                let (text, engine) = (text.to_string(), RefCell::new(engine));
                Ok(Self { text, engine, parsed, effort })
            }
            Err(error) => {
                let what = error.err_type().to_string();
                Err(failure(text, error.position(), &what))
            }
        }
    }

    /// Whether it holds of a state.
    pub fn holds(&self, state: &Value) -> Result<bool, Failure> {
        let mut engine = self.engine.borrow_mut();
        Size::of(state).allow(&mut engine);
        self.effort.begin();
        let mut given = self.evaluate(&engine, state);
        if given.as_ref().is_err_and(|error| is_in_use(error)) {
            lend_copies(&mut engine);
            given = self.evaluate(&engine, state);
        }
        let given = given.map_err(|error| told(&self.text, &error))?;
        given.as_bool().map_err(|kind| {
            let what = format!("it gives {kind} and not true or false: compare it with something");
            failure(&self.text, Position::NONE, &what)
        })
    }

    fn evaluate(&self, engine: &Engine, state: &Value) -> Result<Dynamic, Box<EvalAltResult>> {
        let mut scope = Scope::new();
        for (name, value) in state.as_object().into_iter().flatten() {
            scope.push_dynamic(name.as_str(), rhai::serde::to_dynamic(value)?);
        }
        engine.eval_ast_with_scope::<Dynamic>(&mut scope, &self.parsed)
    }
}

/// Whether a function for the elements of a value was refused because it names that value as well:
/// what a function names is shared with it, and the engine lends a shared value to one at a time.
fn is_in_use(error: &EvalAltResult) -> bool {
    matches!(innermost(error), EvalAltResult::ErrorDataRace(..))
}

/// Lets every name stand for a copy of its value, so that nothing is shared. That takes longer, so
/// it is done from the first expression on that needs it.
#[expect(deprecated, reason = "the engine marks so what it may change in a later version")]
fn lend_copies(engine: &mut Engine) {
    engine.on_var(|name, _, context| Ok(context.scope().get(name).map(Dynamic::flatten_clone)));
}

/// Nothing is registered that reaches out of the expression, or that waits.
fn engine(effort: &Rc<Effort>) -> Engine {
    let mut engine = Engine::new_raw();
    let effort = Rc::clone(effort);
    engine.on_progress(move |_| effort.is_spent().then_some(Dynamic::UNIT));
    engine.register_global_module(ArithmeticPackage::new().as_shared_module());
    engine.register_global_module(LogicPackage::new().as_shared_module());
    engine.register_global_module(BasicStringPackage::new().as_shared_module());
    engine.register_global_module(MoreStringPackage::new().as_shared_module());
    engine.register_global_module(BasicMathPackage::new().as_shared_module());
    engine.register_global_module(BasicArrayPackage::new().as_shared_module());
    engine.register_global_module(BasicMapPackage::new().as_shared_module());
    engine.register_global_module(BasicFnPackage::new().as_shared_module());
    engine.disable_symbol("eval");
    engine.set_optimization_level(OptimizationLevel::None);
    engine.set_strict_variables(true);
    engine.set_fail_on_invalid_map_property(true);
    engine.set_max_expr_depths(DEPTH_MAX, DEPTH_MAX);
    engine.set_max_call_levels(DEPTH_MAX);
    Size::default().allow(&mut engine);
    engine
}

/// What a value holds, with all that is in it.
#[derive(Default)]
struct Size {
    texts_bytes: usize,
    elements: usize,
    fields: usize,
}

impl Size {
    fn of(value: &Value) -> Self {
        let mut size = Self::default();
        size.add(value);
        size
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.texts_bytes += text.len(),
            Value::Array(elements) => {
                self.elements += elements.len();
                elements.iter().for_each(|element| self.add(element));
            }
            Value::Object(fields) => {
                self.fields += fields.len();
                self.texts_bytes += fields.keys().map(String::len).sum::<usize>();
                fields.values().for_each(|field| self.add(field));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Lets values be as large as this, which its fields may become the elements of, and a little
    /// larger.
    fn allow(&self, engine: &mut Engine) {
        engine.set_max_string_size(TEXTS_BYTES_MAX + self.texts_bytes);
        engine.set_max_array_size(ELEMENTS_MAX + self.elements + self.fields);
        engine.set_max_map_size(FIELDS_MAX + self.fields);
    }
}

fn told(text: &str, error: &EvalAltResult) -> Failure {
    let position = error.unwrap_inner().position();
    let bare = innermost(error);
    let place = if bare.position().is_none() { position } else { bare.position() };
    let what = match bare {
        EvalAltResult::ErrorTerminated(..) => "it takes too long: ask for less".to_string(),
        other => other.to_string(),
    };
    let what = what.split(" (line ").next().unwrap_or_default();
    failure(text, place, what)
}

/// Bytes of what is wrong, which repeats what was given, that are shown.
const REPEATED_MAX: usize = 120;

fn innermost(error: &EvalAltResult) -> &EvalAltResult {
    let mut bare = error.unwrap_inner();
    while let EvalAltResult::ErrorInFunctionCall(_, _, inner, _) = bare {
        bare = inner;
    }
    bare
}

fn failure(text: &str, position: Position, what: &str) -> Failure {
    let line = position.line().unwrap_or(1);
    let place = match position.position() {
        Some(column) if text.contains('\n') => format!("line {line}, column {column}"),
        Some(column) => format!("column {column}"),
        None if position.is_none() => "as a whole".to_string(),
        None => "at its end".to_string(),
    };
    let message = format!(
        "--when, {place}: {}; `holdpoint replay --live --json` shows what a state is made of",
        visible_once(bounded(what, REPEATED_MAX))
    );
    let failure = Failure::new(Exit::USAGE, "bad_predicate", message);
    failure.with("column", position.position().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state() -> Value {
        json!({
            "head": null,
            "totals": { "events": 7 },
            "execution_loops": {
                "LOOP-1": { "current_state": "EVALUATED", "attempts": [1, 2] },
                "LOOP-2": { "current_state": "INIT", "attempts": [] },
            },
        })
    }

    fn asked(text: &str) -> Result<bool, Failure> {
        Predicate::parse(text, false).and_then(|predicate| predicate.holds(&state()))
    }

    #[test]
    fn expressions_ask_about_names_numbers_texts_and_lists() {
        for text in [
            "totals.events > 6 && !(totals.events == 8)",
            "\"LOOP-1\" in execution_loops",
            "execution_loops.len() == 2",
            "execution_loops[\"LOOP-1\"].attempts.len() == 2",
            "execution_loops.values().some(|entity| entity.current_state == \"INIT\")",
            "execution_loops.values().filter(|entity| entity.attempts.len() > 1).len() == 1",
            "head == ()",
            "head?.sequence == ()",
            "execution_loops.get(\"LOOP-9\")?.current_state != \"INIT\"",
            "execution_loops.keys().some(|id| id.starts_with(\"LOOP-\"))",
        ] {
            assert_eq!(asked(text), Ok(true), "{text}");
            assert_eq!(asked(&format!("!({text})")), Ok(false), "{text}");
        }
    }

    #[test]
    fn a_function_for_the_elements_of_a_value_may_name_that_value() {
        for text in [
            "execution_loops.values().some(|one| execution_loops.len() == 2)",
            "execution_loops.keys().all(|id| execution_loops[id].attempts.len() < 3)",
            "execution_loops.filter(|id| execution_loops.len() == 2).len() == 2",
            "execution_loops.values().some(|one| one.attempts.some(|x| one.attempts.len() > x))",
            "execution_loops.values().some(|one| execution_loops.values().all(|other| \
             execution_loops.len() == 2 && one.attempts.len() >= other.attempts.len()))",
            "execution_loops.values().some(|one| totals.events == 7) && totals.events == 7",
        ] {
            assert_eq!(asked(text), Ok(true), "{text}");
            assert_eq!(asked(&format!("!({text})")), Ok(false), "{text}");
        }
        let wrong = "execution_loops.values().some(|one| execution_loops.len() > one.none)";
        let failure = asked(wrong).unwrap_err();
        assert!(failure.message().contains("column 65"), "{}", failure.message());
    }

    #[test]
    fn what_is_not_understood_names_the_column() {
        for (text, place) in [
            ("totals.events >", "column 16"),
            ("totals.events > 3 )", "column 19"),
            ("total.events > 3", "column 1"),
            ("totals.evens > 3", "column 8"),
            ("1 + totals.events", "as a whole"),
            ("let x = 3; x > 2", "column 1"),
            ("while true { }", "column 1"),
            ("eval(\"true\")", "column 1"),
            ("sleep(1) == ()", "column 1"),
            ("totals.events > 3 &&\n totals.evens > 3", "line 2, column 9"),
            ("", "column 1"),
        ] {
            let failure = asked(text).unwrap_err();
            assert!(failure.message().contains(place), "{text}: {}", failure.message());
        }
    }

    #[test]
    fn an_expression_that_is_nested_too_deeply_is_refused() {
        for (open, close) in [("(", ")"), ("[", "]"), ("!", ""), ("-", ""), ("f(", ")")] {
            let text = format!("{}1{}", open.repeat(5_000), close.repeat(5_000));
            assert!(asked(&text).is_err(), "{open}");
        }
        assert!(asked(&"x".repeat(1 << 20)).is_err());
    }

    #[test]
    fn an_expression_that_takes_too_long_or_too_much_is_stopped() {
        let list = format!("[{}]", "0,".repeat(200));
        let nested = format!("{list}.all(|a| {list}.all(|b| {list}.all(|c| a + b + c == 0)))");
        assert!(asked(&nested).unwrap_err().message().contains("ask for less"));
        for grown in
            ["\"\".pad(1_000_000_000, 'x').len() > 1", "[].pad(1_000_000_000, 0).len() > 1"]
        {
            assert!(asked(grown).unwrap_err().message().contains("too large"), "{grown}");
        }
    }

    #[test]
    fn a_state_of_many_entities_is_asked_like_one_of_few() {
        let entity = |number: u64| {
            let entity = json!({ "current_state": "INIT", "purpose": "x".repeat(400) });
            (format!("LOOP-{number}"), entity)
        };
        // More text and more fields than the state of a few has room for.
        let many: serde_json::Map<String, Value> = (0..40_000).map(entity).collect();
        let state = json!({ "execution_loops": many });
        for text in [
            "execution_loops.len() == 40000",
            "execution_loops.values().filter(|one| one.current_state == \"INIT\").len() == 40000",
            "execution_loops.values().all(|one| one.purpose.len() == 400)",
        ] {
            let predicate = Predicate::parse(text, false).unwrap();
            assert_eq!(predicate.holds(&state), Ok(true), "{text}");
        }
    }
}
