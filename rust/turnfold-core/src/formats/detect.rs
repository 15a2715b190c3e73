//! Which wire format a request is in, and why.

use std::borrow::Cow;

use super::{ALL, WireFormat};
use crate::errors::{ReadError, ReadErrorCode};
use crate::json::{Document, Value};

/// How much a mark proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// Seen more often in this format than in others.
    Hint,
    /// Belongs to this format; bodies for gateways that are in others have it too.
    Passed,
    /// Belongs to this format.
    Usual,
    /// Exists in this format only.
    Proof,
}

/// Something in a request that speaks for a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How much it proves.
    pub strength: Strength,
    /// What was seen and where: `messages[2] has tool_calls`.
    pub text: Cow<'static, str>,
    /// Byte offset of it.
    pub offset: usize,
}

impl Mark {
    pub(super) fn new(strength: Strength, at: Value<'_>, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            strength,
            text: text.into(),
            offset: at.span().start as usize,
        }
    }

    /// The stronger of two marks; of equals the first.
    pub(super) fn stronger(best: Option<Self>, found: Option<Self>) -> Option<Self> {
        match (&best, &found) {
            (Some(a), Some(b)) if a.strength >= b.strength => best,
            (_, Some(_)) => found,
            (_, None) => best,
        }
    }
}

/// Fields that hold the conversation in formats that this version does not read.
const OTHER_BODIES: [(&str, &str); 5] = [
    ("conversations", "ShareGPT"),
    ("conversation", "a conversation export"),
    ("steps", "an agent trajectory"),
    ("trajectory", "an agent trajectory"),
    ("prompt", "a text completion"),
];

/// The conversation of a body: the array of messages, or the one value that stands for it.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'d> {
    /// The value.
    pub value: Value<'d>,
    /// Whether it is one value in place of the array.
    pub lone: bool,
}

/// The conversation of a body, and the formats that it may be in: `named`, or those that keep it in the field where it
/// was found. A bare array may be in any.
///
/// # Errors
/// `unknown_format` where the body holds the conversation in a field of another format; `not_a_transcript` otherwise.
pub fn conversation<'d>(
    root: Value<'d>,
    named: Option<&'static dyn WireFormat>,
) -> Result<(Conversation<'d>, Vec<&'static dyn WireFormat>), ReadError> {
    let formats = named.map_or_else(|| ALL.to_vec(), |format| vec![format]);
    if root.is_array() {
        return Ok((
            Conversation {
                value: root,
                lone: false,
            },
            formats,
        ));
    }
    let wrong = |code, at: Value<'_>, path: &str, text: String| {
        Err(ReadError {
            code,
            offset: at.span().start as usize,
            path: path.to_owned(),
            text,
        })
    };
    if !root.is_object() {
        let text = "neither a request body nor an array of messages".to_owned();
        return wrong(ReadErrorCode::NotATranscript, root, "", text);
    }
    let mut refused = None;
    for field in list_fields(&formats) {
        let Some(value) = root.get(field) else { continue };
        let lone = !value.is_array();
        let mut fitting = formats.clone();
        fitting.retain(|f| f.list_field() == field && (!lone || f.lone_message(value).is_some()));
        if !fitting.is_empty() {
            return Ok((Conversation { value, lone }, fitting));
        }
        refused.get_or_insert((field, value));
    }
    if let Some((field, value)) = refused {
        let text = format!("`{field}` is not an array");
        return wrong(ReadErrorCode::NotATranscript, value, field, text);
    }
    for (field, owner) in OTHER_BODIES {
        if let Some(value) = root.get(field) {
            let text = match named {
                Some(format) => format!(
                    "no `{}`, but `{field}`: this looks like {owner}, and {} was named",
                    format.list_field(),
                    format.name()
                ),
                None => {
                    format!("no `messages`, but `{field}`: this looks like {owner}, which this version does not read")
                }
            };
            return wrong(ReadErrorCode::UnknownFormat, value, field, text);
        }
    }
    let fields: Vec<String> = list_fields(&formats).iter().map(|field| format!("`{field}`")).collect();
    let text = format!("the body has no {}", fields.join(" or "));
    wrong(ReadErrorCode::NotATranscript, root, "", text)
}

/// The fields that hold messages, each once, in the order of the formats.
fn list_fields(formats: &[&'static dyn WireFormat]) -> Vec<&'static str> {
    let mut fields = Vec::new();
    for format in formats {
        if !fields.contains(&format.list_field()) {
            fields.push(format.list_field());
        }
    }
    fields
}

/// What in a request speaks for each format that it may be in, up to some message.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The model that the body names.
    model: Option<String>,
    signs: Vec<Sign>,
    /// How many messages were searched for marks of formats that are not read here.
    screened: usize,
    /// Messages that stand in the place of others since, in order: what they say was not looked at.
    unread: Vec<usize>,
}

/// The strongest mark of one format.
#[derive(Clone, Debug)]
struct Sign {
    format: &'static dyn WireFormat,
    /// Where the format stands in [`ALL`].
    place: usize,
    mark: Option<Mark>,
    /// The message that has it; `None` where it stands beside the messages.
    message: Option<usize>,
}

impl Sign {
    fn takes_model(&self, model: Option<&str>) -> bool {
        model.is_none_or(|model| self.format.is_own_model(model))
    }

    fn strength(&self) -> Option<Strength> {
        self.mark.as_ref().map(|mark| mark.strength)
    }
}

/// How strongly one message speaks for each format, in the order of [`ALL`]; what it says in full is read when asked for.
#[derive(Clone, Copy, Debug)]
pub struct Leaning {
    /// Where the body names no model, or the format's own.
    own: [Option<Strength>; ALL.len()],
    other: [Option<Strength>; ALL.len()],
    /// Whether it looks like a message of a format that is not read here, to a reader of the format it was read as.
    foreign: bool,
}

impl Leaning {
    /// That of `message`, which was read as `format`.
    pub fn of(message: Value<'_>, format: &'static dyn WireFormat) -> Self {
        let strengths = |own| ALL.map(|format| format.message_mark(message, 0, own).map(|mark| mark.strength));
        Self {
            own: strengths(true),
            other: strengths(false),
            foreign: foreign(std::iter::once((0, message)), &[format]).is_some(),
        }
    }
}

impl Evidence {
    /// What stands beside the messages; the request is in one of `formats`.
    pub fn of_body(body: Value<'_>, messages: Value<'_>, formats: &[&'static dyn WireFormat]) -> Self {
        let sign = |&format: &&'static dyn WireFormat| Sign {
            format,
            place: ALL
                .iter()
                .position(|known| known.name() == format.name())
                .unwrap_or(ALL.len()),
            mark: format.body_mark(body, messages),
            message: None,
        };
        let model = body.get("model").and_then(Value::text);
        Self {
            model: model.map(Cow::into_owned),
            signs: formats.iter().map(sign).collect(),
            screened: 0,
            unread: Vec::new(),
        }
    }

    /// Adds the messages that come next, the first of them at `first`. Looks no further than the first proof of each
    /// format.
    pub fn add<'d, I>(&mut self, first: usize, messages: &I)
    where
        I: Iterator<Item = Value<'d>> + Clone,
    {
        for sign in &mut self.signs {
            let own_model = sign.takes_model(self.model.as_deref());
            for (index, message) in (first..).zip(messages.clone()) {
                if sign.mark.as_ref().is_some_and(|m| m.strength == Strength::Proof) {
                    break;
                }
                let found = sign.format.message_mark(message, index, own_model);
                if found.as_ref().map(|mark| mark.strength) > sign.strength() {
                    (sign.mark, sign.message) = (found, Some(index));
                }
            }
        }
    }

    /// Adds one message, given its JSON text and its leaning. `None` where only [`Evidence::add`] can tell.
    pub fn add_known(&mut self, index: usize, message: &[u8], leaning: &Leaning) -> Option<()> {
        if leaning.foreign {
            return None;
        }
        for sign in &mut self.signs {
            let (own, other) = (*leaning.own.get(sign.place)?, *leaning.other.get(sign.place)?);
            if own.max(other) > sign.strength() {
                let own_model = sign.takes_model(self.model.as_deref());
                if if own_model { own } else { other } <= sign.strength() {
                    continue;
                }
                let document = Document::parse(message).ok()?;
                sign.mark = sign.format.message_mark(document.root(), index, own_model);
                sign.message = Some(index);
            }
        }
        self.screened = index + 1;
        Some(())
    }

    /// What the messages before `end` alone say; `None` where some of it rests on later ones.
    pub fn before(&self, end: usize) -> Option<Self> {
        let earlier = |sign: &Sign| sign.message.is_none_or(|index| index < end);
        self.signs.iter().all(earlier).then(|| Self {
            screened: self.screened.min(end),
            unread: self.unread.iter().copied().filter(|&index| index < end).collect(),
            ..self.clone()
        })
    }

    /// What is said where these messages stand in the place of others, which is for [`Evidence::read`] to find; `None`
    /// where it rests on one of the others.
    pub fn replaced(&self, messages: &[usize]) -> Option<Self> {
        let rests = |sign: &Sign| sign.message.is_some_and(|index| messages.contains(&index));
        let mut unread = [self.unread.as_slice(), messages].concat();
        unread.sort_unstable();
        unread.dedup();
        (!self.signs.iter().any(rests)).then(|| Self { unread, ..self.clone() })
    }

    /// Looks at the messages that were not looked at, given the JSON of each. `None` where one of them says as much as
    /// all the others do.
    pub fn read<'d>(&mut self, message: impl Fn(usize) -> Option<&'d [u8]>) -> Option<()> {
        let formats: Vec<_> = self.signs.iter().map(|sign| sign.format).collect();
        for index in std::mem::take(&mut self.unread) {
            let document = Document::parse(message(index)?).ok()?;
            let root = document.root();
            let outdoes = |sign: &Sign| {
                let own_model = sign.takes_model(self.model.as_deref());
                let found = sign.format.message_mark(root, index, own_model);
                let found = found.map(|mark| mark.strength);
                let is_first = sign.message.is_some_and(|first| index < first);
                found > sign.strength() || (is_first && found.is_some() && found == sign.strength())
            };
            if self.signs.iter().any(outdoes) || foreign(std::iter::once((index, root)), &formats).is_some() {
                return None;
            }
        }
        Some(())
    }

    /// Whether [`Evidence::weigh`] needs no message before `first`.
    pub fn reaches(&self, first: usize) -> bool {
        self.screened >= first
            || self
                .strongest()
                .0
                .is_some_and(|(_, mark)| mark.strength == Strength::Proof)
    }

    /// The format, with the reason. `messages` are those added since the evidence was last weighed, with their indexes.
    ///
    /// # Errors
    /// `unknown_format` where equally strong marks speak for two formats, or a mark speaks for one that is not read here.
    pub fn weigh<'d>(&mut self, messages: impl Iterator<Item = (usize, Value<'d>)>) -> Result<Verdict, ReadError> {
        let (best, rival) = self.strongest();
        let formats: Vec<_> = self.signs.iter().map(|sign| sign.format).collect();
        let verdict = verdict(best, rival, &formats);
        if best.is_some_and(|(_, mark)| mark.strength == Strength::Proof) {
            return verdict;
        }
        let screened = &mut self.screened;
        match foreign(messages.inspect(|(index, _)| *screened = index + 1), &formats) {
            Some(error) => Err(error),
            None => verdict,
        }
    }

    /// The strongest mark, and the last of another format that is as strong.
    fn strongest(&self) -> (Option<Candidate<'_>>, Option<Candidate<'_>>) {
        let dialects = self.marks().filter(|(_, mark)| mark.strength > Strength::Hint);
        let covered: Vec<&str> = dialects.filter_map(|(format, _)| format.dialect_of()).collect();
        let (mut best, mut rival): (Option<Candidate<'_>>, _) = (None, None);
        for (format, mark) in self.marks().filter(|(format, _)| !covered.contains(&format.name())) {
            match &best {
                Some((_, found)) if found.strength > mark.strength => {}
                Some((_, found)) if found.strength == mark.strength => rival = Some((format, mark)),
                _ => {
                    rival = None;
                    best = Some((format, mark));
                }
            }
        }
        (best, rival)
    }

    fn marks(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.signs
            .iter()
            .filter_map(|sign| Some((sign.format, sign.mark.as_ref()?)))
    }
}

/// A format and its mark.
type Candidate<'a> = (&'static dyn WireFormat, &'a Mark);

/// A format, and why it is that.
pub type Verdict = (&'static dyn WireFormat, Cow<'static, str>);

fn verdict(
    best: Option<Candidate<'_>>,
    rival: Option<Candidate<'_>>,
    formats: &[&'static dyn WireFormat],
) -> Result<Verdict, ReadError> {
    match (best, rival) {
        (Some((format, mark)), None) => Ok((format, mark.text.clone())),
        (Some((a, mark)), Some((b, other))) if mark.strength > Strength::Hint => Err(ReadError {
            code: ReadErrorCode::UnknownFormat,
            offset: mark.offset.max(other.offset),
            path: String::new(),
            text: format!(
                "marks of two formats: {} ({}) and {} ({}); name the format",
                mark.text,
                a.name(),
                other.text,
                b.name()
            ),
        }),
        _ => {
            let format = formats.first().copied().unwrap_or(&super::openai_chat::OpenAiChat);
            let reason = match formats {
                [_] => format!("only {} keeps its messages in `{}`", format.name(), format.list_field()),
                _ => format!(
                    "nothing in it belongs to one format only; plain messages are read as {}",
                    format.name()
                ),
            };
            Ok((format, Cow::Owned(reason)))
        }
    }
}

/// A message that belongs to a format which is not read here.
fn foreign<'d>(
    messages: impl Iterator<Item = (usize, Value<'d>)>,
    formats: &[&'static dyn WireFormat],
) -> Option<ReadError> {
    let unknown = |at: Value<'_>, path: String, text: String| {
        Some(ReadError {
            code: ReadErrorCode::UnknownFormat,
            offset: at.span().start as usize,
            path,
            text: format!("{text}, which this version does not read"),
        })
    };
    for (index, message) in messages {
        if !message.is_object() {
            continue;
        }
        let (mut role, mut content, mut other) = (false, None, None);
        for (key, value) in message.fields() {
            match &*key.key() {
                b"role" => role = true,
                b"content" => content = Some(value),
                b"parts" if value.items().any(|part| part.get("type").is_some()) => {
                    other = Some((value, "parts", "the AI SDK's UI messages"));
                }
                b"parts" if formats.iter().all(|format| format.list_field() != "contents") => {
                    other = Some((value, "parts", "Gemini's `contents` under another name"));
                }
                b"from" => other = Some((value, "from", "ShareGPT")),
                _ => {}
            }
        }
        if let Some((value, field, owner)) = other
            && (content.is_none() || !role)
        {
            let path = format!("messages[{index}].{field}");
            return unknown(value, path, format!("a message with `{field}` looks like {owner}"));
        }
    }
    None
}
