//! What OpenAI's models read in the place of tool definitions and of a reply's schema.
//!
//! Functions become the members of a TypeScript namespace, a schema is shown without its lists of required fields:
//! `OpenAI`'s published harmony format has both ("Function calling", "Structured output"), and the recorded usage of
//! gpt-4o, gpt-4.1 and gpt-5 agrees with the texts made here to the token, by the corrections in [`Functions::tokens`].

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use turnfold_tokens::Tokenizer;

use crate::json::{Document, Value};

/// Functions as the model reads them.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// The namespace, without the headline above it.
    text: String,
    /// Functions with parameters none of which is described: these stand on one line.
    inline: u64,
    /// Functions without parameters.
    bare: u64,
    /// Tools of other kinds.
    pub(super) hosted: u64,
}

impl Functions {
    /// The functions of a `tools` value; `None` where it holds none.
    pub(super) fn of(tools: &[u8]) -> Option<Self> {
        let document = Document::parse(tools).ok()?;
        let mut found = Self::default();
        found.text.push_str("namespace functions {\n\n");
        let mut functions = 0u64;
        for tool in document.root().items() {
            let function = tool.get("function").or_else(|| tool.get("custom")).unwrap_or(tool);
            let kind = tool.get("type");
            if kind.is_some_and(|k| !k.is_text("function") && !k.is_text("custom")) || function.get("name").is_none() {
                found.hosted += 1;
                continue;
            }
            functions += 1;
            found.add(function);
        }
        found.text.push_str("} // namespace functions");
        (functions + found.hosted > 0).then_some(found)
    }

    fn add(&mut self, function: Value<'_>) {
        comment(function.get("description"), &mut self.text);
        self.text.push_str("type ");
        push(function.get("name"), &mut self.text);
        let parameters = function.get("parameters");
        let mut properties = parameters
            .and_then(|p| p.get("properties"))
            .into_iter()
            .flat_map(Value::fields)
            .peekable();
        if let Some(format) = function.get("format") {
            self.text.push_str(" = (FREEFORM) => any;\n");
            push(
                format.get("grammar").unwrap_or(format).get("definition"),
                &mut self.text,
            );
            self.text.push_str("\n\n");
        } else if properties.peek().is_none() {
            self.bare += 1;
            self.text.push_str(" = () => any;\n\n");
        } else {
            let described =
                properties.any(|(_, property)| property.get("description").is_some_and(|d| !d.key().is_empty()));
            self.inline += u64::from(!described);
            self.text.push_str(" = (_: ");
            Types::of(parameters).members(parameters, &mut self.text);
            self.text.push_str(") => any;\n\n");
        }
    }

    /// Tokens of the system message that they add to a request: its frame included, its headline where there is one.
    pub(super) fn tokens(&self, tokenizer: &Tokenizer, reasons: bool, headline: bool) -> u64 {
        const HEADLINE: &str = "# Tools\n\n## functions\n\n";
        let headline = if headline { tokenizer.count(HEADLINE) } else { 0 };
        let text = (headline + tokenizer.count(&self.text)) as u64;
        let bare = if reasons { self.bare } else { 0 };
        (text + 3).saturating_sub(self.inline + bare)
    }
}

/// Tokens of a reply's schema, named in `response_format` or `text.format`; `None` where the value holds none.
pub(super) fn schema_tokens(format: &[u8], tokenizer: &Tokenizer) -> Option<u64> {
    let document = Document::parse(format).ok()?;
    let root = document.root();
    let named = root.get("json_schema").unwrap_or(root);
    let schema = named.get("schema").filter(|schema| schema.is_object())?;
    let mut text = String::from("# Response Formats\n\n## ");
    push(named.get("name"), &mut text);
    text.push_str("\n\n");
    comment(named.get("description"), &mut text);
    compact(schema, &mut text);
    Some(tokenizer.count(&text) as u64 + 1)
}

fn push(value: Option<Value<'_>>, out: &mut String) {
    if let Some(text) = value.and_then(Value::text) {
        out.push_str(&text);
    }
}

fn raw(value: Value<'_>, out: &mut String) {
    out.push_str(&String::from_utf8_lossy(value.raw()));
}

/// A description above what it describes, each line of it a comment.
fn comment(description: Option<Value<'_>>, out: &mut String) {
    if let Some(text) = description.and_then(Value::text).filter(|text| !text.is_empty()) {
        for line in text.lines() {
            out.push_str("// ");
            out.push_str(line);
            out.push('\n');
        }
    }
}

/// The definitions that a schema refers to. Which text a model reads in place of a reference is on no record; the type that it
/// stands for is what it has to know, so it stands where it is first referred to, and its name from then on.
struct Types<'d> {
    unused: HashMap<Cow<'d, [u8]>, Value<'d>>,
    /// How many definitions lie around what is written: a chain of them is bounded by nothing else.
    depth: u32,
}

impl<'d> Types<'d> {
    const DEEPEST: u32 = 64;
    const PLACES: [&'static str; 2] = ["$defs", "definitions"];

    fn of(schema: Option<Value<'d>>) -> Self {
        let places = Self::PLACES.iter().filter_map(|place| schema?.get(place));
        let definitions = places.flat_map(Value::fields);
        Self {
            unused: definitions.map(|(name, definition)| (name.key(), definition)).collect(),
            depth: 0,
        }
    }

    /// The properties of an object schema as the members of a type.
    fn members(&mut self, schema: Option<Value<'d>>, out: &mut String) {
        out.push_str("{\n");
        let properties = schema
            .and_then(|s| s.get("properties"))
            .into_iter()
            .flat_map(Value::fields);
        let required: HashSet<_> = schema
            .and_then(|s| s.get("required"))
            .into_iter()
            .flat_map(Value::items)
            .map(Value::key)
            .collect();
        for (name, property) in properties {
            comment(property.get("description"), out);
            push(Some(name), out);
            out.push_str(if required.contains(&name.key()) { ": " } else { "?: " });
            self.type_of(property, out);
            out.push(',');
            if let Some(default) = property.get("default") {
                out.push_str(" // default: ");
                raw(default, out);
            }
            out.push('\n');
        }
        out.push('}');
    }

    /// A schema as a type. Nesting is bounded by that of the document, and of definitions.
    fn type_of(&mut self, schema: Value<'d>, out: &mut String) {
        if let Some(reference) = schema.get("$ref").and_then(Value::text) {
            return self.referred(&reference, out);
        }
        let choices = [("enum", " | "), ("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")]
            .into_iter()
            .find_map(|(key, between)| Some((key, between, schema.get(key)?)));
        if let Some((key, between, choices)) = choices {
            for (place, choice) in choices.items().enumerate() {
                out.push_str(if place == 0 { "" } else { between });
                if key == "enum" {
                    raw(choice, out);
                } else {
                    self.type_of(choice, out);
                }
            }
            return;
        }
        if let Some(value) = schema.get("const") {
            return raw(value, out);
        }
        let Some(kind) = schema.get("type") else {
            return out.push_str("any");
        };
        if kind.is_array() {
            for (place, one) in kind.items().enumerate() {
                out.push_str(if place == 0 { "" } else { " | " });
                push(Some(one), out);
            }
            return;
        }
        match &*kind.key() {
            b"integer" | b"number" => out.push_str("number"),
            b"object" => self.members(Some(schema), out),
            b"array" => {
                match schema.get("items") {
                    Some(items) => self.type_of(items, out),
                    None => out.push_str("any"),
                }
                out.push_str("[]");
            }
            _ => push(Some(kind), out),
        }
    }

    fn referred(&mut self, reference: &str, out: &mut String) {
        let mut places = Self::PLACES.iter();
        let name = places.find_map(|place| reference.strip_prefix("#/")?.strip_prefix(place)?.strip_prefix('/'));
        let Some(name) = name else {
            return out.push_str("any");
        };
        match self.unused.remove(name.as_bytes()) {
            Some(definition) if self.depth < Self::DEEPEST => {
                self.depth += 1;
                self.type_of(definition, out);
                self.depth -= 1;
            }
            _ => out.push_str(name),
        }
    }
}

/// JSON without white space, lists of required fields and `additionalProperties`.
pub(super) fn compact(value: Value<'_>, out: &mut String) {
    if value.is_object() {
        let mut mark = '{';
        for (key, inner) in value.fields() {
            if key.is_text("additionalProperties") || key.is_text("required") && inner.is_array() {
                continue;
            }
            out.push(mark);
            raw(key, out);
            out.push(':');
            compact(inner, out);
            mark = ',';
        }
        out.push_str(if mark == '{' { "{}" } else { "}" });
    } else if value.is_array() {
        let mut mark = '[';
        for inner in value.items() {
            out.push(mark);
            compact(inner, out);
            mark = ',';
        }
        out.push_str(if mark == '[' { "[]" } else { "]" });
    } else {
        raw(value, out);
    }
}

#[cfg(test)]
mod tests {
    use turnfold_tokens::Encoding;

    use super::{Functions, schema_tokens};

    #[test]
    fn functions_read_as_a_namespace() {
        let tools = br#"[{"type":"function","function":{"name":"now","description":"The time.","parameters":{"type":
            "object","properties":{}}}}, {"type":"function","name":"find","parameters":{"type":"object","required":["q"],
            "properties":{"q":{"type":"string","description":"What\nto find"},"kind":{"enum":["a","b"],"default":"a"},
            "at":{"type":"object","properties":{"x":{"type":["integer","null"]}}},
            "tags":{"type":"array","items":{"anyOf":[{"type":"string"},{"const":3}]}},"free":{}}}},
            {"type":"web_search"}]"#;
        let found = Functions::of(tools).expect("functions");
        assert_eq!(
            found.text,
            "namespace functions {\n\n// The time.\ntype now = () => any;\n\ntype find = (_: {\n// What\n// to find\n\
             q: string,\nkind?: \"a\" | \"b\", // default: \"a\"\nat?: {\nx?: integer | null,\n},\n\
             tags?: string | 3[],\nfree?: any,\n}) => any;\n\n} // namespace functions"
        );
        assert_eq!((found.inline, found.bare, found.hosted), (0, 1, 1));
        assert!(Functions::of(b"[]").is_none());
        assert!(Functions::of(b"nothing").is_none());
    }

    #[test]
    fn what_a_schema_refers_to_stands_where_it_is_first() {
        let parameters = r##"{"type":"object","required":["at"],"properties":{"at":{"$ref":"#/$defs/Place"},
            "from":{"anyOf":[{"$ref":"#/$defs/Place"},{"type":"null"}]},"by":{"allOf":[{"$ref":"#/definitions/Way"}]},
            "far":{"$ref":"other.json#/Far"}},"definitions":{"Way":{"enum":["road","sea"]}},
            "$defs":{"Place":{"type":"object","properties":{"in":{"description":"Around it","$ref":"#/$defs/Place"}}}}}"##;
        let tools = format!(r#"[{{"type":"function","name":"go","parameters":{parameters}}}]"#);
        assert_eq!(
            Functions::of(tools.as_bytes()).expect("functions").text,
            "namespace functions {\n\ntype go = (_: {\nat: {\n// Around it\nin?: Place,\n},\nfrom?: Place | null,\n\
             by?: \"road\" | \"sea\",\nfar?: any,\n}) => any;\n\n} // namespace functions"
        );
    }

    #[test]
    fn chains_of_definitions_end() {
        let chain: Vec<String> = (0..20_000)
            .map(|k| format!(r##""d{k}":{{"type":"array","items":{{"$ref":"#/$defs/d{}"}}}}"##, k + 1))
            .collect();
        let properties = r##"{"a":{"$ref":"#/$defs/d0"}}"##;
        let parameters = format!(r#"{{"properties":{properties},"$defs":{{{}}}}}"#, chain.join(","));
        let tools = format!(r#"[{{"type":"function","name":"go","parameters":{parameters}}}]"#);
        let text = Functions::of(tools.as_bytes()).expect("functions").text;
        assert!(text.contains(&format!("d64{}", "[]".repeat(64))), "{text}");
    }

    /// Functions of one parameter and of none, and a schema, in the forms of which usage is on record.
    #[test]
    fn counts_are_those_on_record() {
        let tokenizer = Encoding::O200kBase.tokenizer();
        let one =
            br#"[{"type":"function","function":{"name":"multiply","description":"Multiply two numbers.","parameters":
            {"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"type":"object"}}}]"#;
        let found = Functions::of(one).expect("functions");
        assert_eq!(found.tokens(tokenizer, false, true), 37);
        let schema = br#"{"type":"json_schema","json_schema":{"name":"result","strict":false,"schema":{"properties":
            {"city":{"type":"string"},"country":{"type":"string"}},"required":["city","country"],"type":"object"}}}"#;
        assert_eq!(schema_tokens(schema, tokenizer), Some(29));
        assert_eq!(schema_tokens(br#"{"type":"json_object"}"#, tokenizer), None);
    }
}
