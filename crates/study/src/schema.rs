//! The schema of study files, for editors: JSON Schema, draft 2020-12, made of the declarations by
//! which studies are read.
//!
//! The schema says what each key may be, not which keys are needed: any may be swept instead. It
//! tells several shapes of a value apart with `if`, so that an editor reports an error at its place;
//! editors that complete keys look through `anyOf` alone, which lists the shapes once more.

use crate::array_plan::Wanted;
use crate::expect;
use crate::fabric_estimate;
use crate::model::{MODELS, ModelEntry};
use crate::study::Head;
use serde_json::{Map, Value as Json, json};
use sojourn_core::parameters::{Entry, Field, Parameters, Shape, Value};
use std::collections::BTreeMap;

/// The tables that stand in a study only for one other command than `run`.
const TABLES_OF_COMMANDS: [(&str, Listing); 2] =
    [("fabric", fabric_estimate::table), ("array", Wanted::entry)];

/// A function that documents parameters.
type Listing = fn() -> Entry;

/// The schema as JSON.
pub fn schema() -> String {
    let mut schema = Schema::default();
    let studies: Vec<(Json, Json)> =
        (MODELS.iter()).map(|model| (has("model", model.name), schema.study(model))).collect();
    let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
    let one_of = json!({ "enum": names });
    let wrong = json!({ "properties": { "model": one_of } });
    let unnamed = json!({ "if": { "required": ["model"] }, "then": wrong, "else": studies[0].1 });
    let mut whole = choice(studies, unnamed);
    whole["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    whole["title"] = json!("A study of sojourn");
    whole["$defs"] = Json::Object(schema.definitions);
    whole.to_string()
}

/// The subject of a definition: the function that lists parameters or kinds, and which part of them.
type Of = (usize, Part);

/// The part of a list of parameters or of kinds that a definition describes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Value,
    Swept,
    Kind(usize),
}

#[derive(Default)]
struct Schema {
    definitions: Map<String, Json>,
    names: BTreeMap<Of, String>,
}

impl Schema {
    /// A study of a model.
    fn study(&mut self, model: &ModelEntry) -> Json {
        let entry = (model.entry)();
        let mut properties = Map::new();
        for field in &Head::entry().parameters {
            properties.insert(field.name.to_owned(), self.field(field));
        }
        let name = json!({ "const": model.name, "description": entry.summary });
        properties.insert("model".to_owned(), name);
        let mut expected = expect::schema(model);
        expected["description"] = properties[expect::KEY]["description"].take();
        properties.insert(expect::KEY.to_owned(), expected);
        for field in &entry.parameters {
            properties.insert(field.name.to_owned(), self.field(field));
        }
        for (of, table) in TABLES_OF_COMMANDS {
            if of == model.name {
                properties.insert(table().name.to_owned(), self.value(&Shape::Table(table)));
            }
        }
        let mut swept = self.swept_fields(&entry.parameters);
        swept["description"] = json!("Lists of values: a case for each combination of them.");
        properties.insert("sweep".to_owned(), swept);
        let name = format!("study-{}", model.name);
        let found = reference(&name);
        self.definitions.insert(name, object(properties));
        found
    }

    /// A parameter with its documentation.
    fn field(&mut self, field: &Field) -> Json {
        let mut json = self.value(&field.shape);
        if json.get("$ref").is_some() {
            json = json!({ "allOf": [json] }); // editors look at nothing beside a reference
        }
        json["description"] = json!(field.summary.split_whitespace().collect::<Vec<_>>().join(" "));
        if let Some(default) = &field.default {
            json["default"] = plain(default);
        }
        json
    }

    /// A value of a shape.
    fn value(&mut self, shape: &Shape) -> Json {
        match shape {
            Shape::Truth => json!({ "type": "boolean" }),
            Shape::Whole { least, most: i64::MAX } => {
                json!({ "type": "integer", "minimum": least })
            }
            Shape::Whole { least, most } => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Shape::Number { least, most } => {
                let mut number = json!({ "type": "number" });
                for (bound, at) in [("minimum", least), ("maximum", most)] {
                    if at.is_finite() {
                        number[bound] = json!(at);
                    }
                }
                number
            }
            Shape::Text(None) | Shape::File { .. } => json!({ "type": "string" }),
            Shape::Text(Some(pattern)) => json!({ "type": "string", "pattern": pattern }),
            Shape::Names(names) => json!({ "enum": names }),
            Shape::List(each) => json!({ "type": "array", "items": self.value(each) }),
            Shape::Any(shapes) => {
                let shapes: Vec<Json> = shapes.iter().map(|shape| self.value(shape)).collect();
                json!({ "anyOf": shapes })
            }
            Shape::Table(entry) => {
                let entry = *entry;
                self.defined((entry as usize, Part::Value), entry().name, |schema| {
                    let entry = entry();
                    let mut table = object(schema.fields(&entry.parameters));
                    table["description"] = json!(entry.summary);
                    table
                })
            }
            Shape::Settings => json!({ "type": "object" }),
            Shape::Kind { what, key, entries, other } => {
                let of = (*entries as usize, Part::Value);
                self.defined(of, what, |schema| schema.kinds(what, key, *entries, *other))
            }
        }
    }

    /// The name of one of several entries, or a table of one. A table without that name changes what
    /// is named elsewhere.
    fn kinds(
        &mut self,
        what: &str,
        key: &str,
        entries: fn() -> Vec<Entry>,
        other: Option<fn() -> Entry>,
    ) -> Json {
        let names: Vec<&str> = entries().iter().map(|entry| entry.name).collect();
        let mut tables = Vec::new();
        for (place, entry) in entries().into_iter().enumerate() {
            let of = (entries as usize, Part::Kind(place));
            let table = self.defined(of, &format!("{what}.{}", entry.name), |schema| {
                let mut fields = schema.fields(&entry.parameters);
                fields.insert(key.to_owned(), json!({ "const": entry.name }));
                let mut table = object(fields);
                table["description"] = json!(entry.summary);
                table
            });
            tables.push((has(key, entry.name), table));
        }
        let other = other.map(|entry| self.value(&Shape::Table(entry)));
        let any: Vec<&Json> = tables.iter().map(|(_, table)| table).chain(&other).collect();
        let mut unnamed = json!({ "type": "object", "anyOf": any });
        match other {
            None => unnamed["properties"] = json!({ key: { "enum": names } }),
            Some(table) => tables.push((json!({ "type": "object", "required": [key] }), table)),
        }
        let name = (json!({ "type": "string" }), json!({ "enum": names }));
        choice([vec![name], tables].concat(), unnamed)
    }

    fn fields(&mut self, fields: &[Field]) -> Map<String, Json> {
        fields.iter().map(|field| (field.name.to_owned(), self.field(field))).collect()
    }

    /// The shape of a swept value under `sweep`: a list of such values, or a table of what is swept
    /// inside it.
    fn swept(&mut self, shape: &Shape) -> Json {
        let list = json!({ "type": "array", "items": self.value(shape), "minItems": 1 });
        let inside: Vec<Json> = match shape {
            Shape::Table(entry) => {
                let entry = *entry;
                let of = (entry as usize, Part::Swept);
                vec![self.defined(of, &format!("sweep-{}", entry().name), |schema| {
                    schema.swept_fields(&entry().parameters)
                })]
            }
            Shape::Kind { what, key, entries, other } => {
                let (key, entries, other) = (*key, *entries, *other);
                let of = (entries as usize, Part::Swept);
                vec![self.defined(of, &format!("sweep-{what}"), |schema| {
                    let entries: Vec<Entry> =
                        entries().into_iter().chain(other.map(|it| it())).collect();
                    let names = entries.iter().map(|entry| entry.name).collect();
                    let fields: Vec<Field> =
                        entries.into_iter().flat_map(|entry| entry.parameters).collect();
                    let mut table = schema.swept_fields(&fields);
                    let name = other.map_or(Shape::Names(names), |_| Shape::Text(None));
                    table["properties"][key] = schema.swept(&name);
                    table
                })]
            }
            Shape::Any(shapes) => shapes.iter().map(|shape| self.swept(shape)).collect(),
            Shape::Settings => vec![json!({ "type": "object" })],
            _ => Vec::new(),
        };
        match inside.is_empty() {
            true => list,
            false => {
                let inside = match &inside[..] {
                    [one] => one.clone(),
                    _ => json!({ "anyOf": inside }),
                };
                choice(vec![(json!({ "type": "array" }), list)], inside)
            }
        }
    }

    /// A table of lists: what is swept of these parameters, of which several may have one name.
    fn swept_fields(&mut self, fields: &[Field]) -> Json {
        let mut properties: Map<String, Json> = Map::new();
        for field in fields {
            let swept = self.swept(&field.shape);
            match properties.get_mut(field.name) {
                None => drop(properties.insert(field.name.to_owned(), swept)),
                Some(other) if *other == swept => {}
                Some(other) => *other = json!({ "anyOf": [other.take(), swept] }),
            }
        }
        let mut table = object(properties);
        // A path may be quoted whole, or from here on.
        table["patternProperties"] = json!({ "[.]": { "type": "array" } });
        table
    }

    /// A reference to a definition; makes the definition where it is not there yet.
    fn defined(&mut self, of: Of, name: &str, make: impl FnOnce(&mut Schema) -> Json) -> Json {
        if let Some(name) = self.names.get(&of) {
            return reference(name);
        }
        let name = name.replace(' ', "-");
        let taken = |name: &String| self.definitions.contains_key(name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = [name.clone()].into_iter().chain(numbered).find(|name| !taken(name));
        let name = free.expect("numbered names do not run out");
        self.names.insert(of, name.clone());
        self.definitions.insert(name.clone(), Json::Null);
        let made = make(self);
        self.definitions.insert(name.clone(), made);
        reference(&name)
    }
}

/// One of several shapes by what it has, or another.
fn choice(shapes: Vec<(Json, Json)>, other: Json) -> Json {
    let mut any: Vec<Json> = shapes.iter().map(|(_, shape)| shape.clone()).collect();
    any.extend([other.clone(), json!({})]);
    let mut chain = shapes
        .into_iter()
        .rev()
        .fold(other, |other, (has, shape)| json!({ "if": has, "then": shape, "else": other }));
    chain["anyOf"] = Json::Array(any);
    chain
}

/// A table with this name under a key.
fn has(key: &str, name: &str) -> Json {
    json!({ "type": "object", "properties": { key: { "const": name } }, "required": [key] })
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn object(properties: Map<String, Json>) -> Json {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn plain(value: &Value) -> Json {
    match value {
        Value::Bool(truth) => json!(truth),
        Value::Int(number) => json!(number),
        Value::Float(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::File(file) => json!(file.name),
        Value::List(values) => values.iter().map(plain).collect(),
        Value::Table(table) => {
            table.iter().map(|(key, value)| (key.to_owned(), plain(value))).collect()
        }
    }
}
