//! Sections of items as text.

/// What a section is about, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Commands that were run, and searches.
    Commands,
    /// What an earlier summary says that stands nowhere else.
    Earlier,
    /// What failed.
    Errors,
    /// Files that were read or changed.
    Files,
    /// What the model said.
    Findings,
    /// What must survive letter for letter.
    Identifiers,
    /// Where the work stands.
    State,
    /// What other tools did.
    Tools,
    /// What the user said.
    Users,
    /// Calls of version control.
    Versions,
}

impl Topic {
    /// Every topic, in the order of their names, which is the one in which they are put together.
    pub const ALL: [Self; 10] = [
        Self::Commands,
        Self::Earlier,
        Self::Errors,
        Self::Files,
        Self::Findings,
        Self::Identifiers,
        Self::State,
        Self::Tools,
        Self::Users,
        Self::Versions,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Commands => "commands",
            Self::Earlier => "earlier",
            Self::Errors => "errors",
            Self::Files => "files",
            Self::Findings => "findings",
            Self::Identifiers => "identifiers",
            Self::State => "state",
            Self::Tools => "tools",
            Self::Users => "users",
            Self::Versions => "versions",
        }
    }

    /// The topic of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.as_str() == name)
    }
}

/// One section: its title, and the topics that stand in it.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// What stands in it, in this order.
    pub topics: Vec<Topic>,
}

/// The sections of a summary, in the order in which they stand, and the line before them all.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The first line, where there is one.
    pub heading: Option<String>,
    /// The sections.
    pub sections: Vec<Section>,
}

impl Layout {
    /// The sections that have items, each item one dash, below its heading.
    pub(super) fn render(&self, lines: &Lines) -> String {
        let mut text = String::with_capacity(lines.bytes() + 512);
        if let Some(line) = &self.heading {
            text.push_str(line);
            text.push('\n');
        }
        for section in &self.sections {
            let mut own = section.topics.iter().flat_map(|&topic| lines.of(topic)).peekable();
            if own.peek().is_some() {
                text.push_str("## ");
                text.push_str(&section.title);
                text.push('\n');
            }
            for line in own {
                push_item(&mut text, line);
            }
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }
}

/// A section's heading.
pub(super) fn heading(title: &str) -> String {
    format!("## {title}\n")
}

/// A text as one item: a dash, and its further lines indented.
pub(super) fn item(text: &str) -> String {
    let mut made = String::with_capacity(text.len() + 8);
    push_item(&mut made, text);
    made
}

fn push_item(made: &mut String, text: &str) {
    made.push_str("- ");
    let mut lines = text.split('\n');
    made.push_str(lines.next().unwrap_or_default());
    for line in lines {
        made.push_str("\n  ");
        made.push_str(line);
    }
    made.push('\n');
}

/// Lines by topic.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines([Vec<String>; Topic::ALL.len()]);

impl Lines {
    pub(super) fn of(&self, topic: Topic) -> &[String] {
        self.0.get(topic as usize).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add(&mut self, topic: Topic, line: String) {
        if let Some(own) = self.0.get_mut(topic as usize) {
            own.push(line);
        }
    }

    /// Has `line` be all of its topic.
    pub(super) fn set(&mut self, topic: Topic, line: String) {
        if let Some(own) = self.0.get_mut(topic as usize) {
            *own = vec![line];
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().map(String::as_str)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    fn bytes(&self) -> usize {
        self.all().map(|line| line.len() + 4).sum()
    }

    /// Of equal lines of a topic, keeps the last.
    pub(super) fn keep_latest(&mut self) {
        for own in &mut self.0 {
            let mut seen = std::collections::HashSet::new();
            let latest: Vec<bool> = own.iter().rev().map(|line| seen.insert(line.as_str())).collect();
            let mut latest = latest.into_iter().rev();
            own.retain(|_| latest.next().unwrap_or(true));
        }
    }
}
