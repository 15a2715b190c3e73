//! Texts as statements, each with what it is worth.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyString;
use turnfold_core::extractive::{self, Layout, Line, Material, Said, Section, Topic};
use turnfold_core::statements::{self, Cues, Statement};

use crate::door::{Fault, Rows, detached};
use crate::input;

/// `order`, `place`, `text`, `label`, `enclosed`, `score`, `replaced`, `doubtful`, `after`, `features`.
type StatementFields = (
    usize,
    usize,
    String,
    String,
    bool,
    f64,
    bool,
    bool,
    Option<usize>,
    usize,
);

/// `plain`, `names`.
type FeatureFields = (String, Vec<String>);

/// `user`, `text`, `quoted`.
type SaidFields<'py> = (bool, Bound<'py, PyString>, bool);

/// `topic`, `text`, `worth`, `fades`.
type LineFields<'py> = (Bound<'py, PyString>, Bound<'py, PyString>, f64, bool);

/// `heading`, and of each section `title` and `topics`.
type LayoutFields = (Option<String>, Vec<(String, Vec<String>)>);

/// The closed lists that statements are weighed by: forbid, oblige, wish, decide, update, reset, aside, stand.
#[pyclass(frozen, module = "turnfold._core")]
pub(crate) struct Statements(Cues);

#[pymethods]
impl Statements {
    #[new]
    fn new(py: Python<'_>, lists: Vec<(String, String)>, back: String, back_glued: Vec<String>) -> PyResult<Self> {
        detached(py, || {
            let cues = Cues::new(&lists, &back, back_glued);
            Ok(Self(cues.map_err(|error| Fault::new("argument", error.to_string()))?))
        })
    }

    fn counts(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Vec<usize>> {
        let text = input::text(text)?;
        detached(py, || Ok(self.0.counts(&text)))
    }

    fn rules(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Rows<String>> {
        let text = input::text(text)?;
        detached(py, || {
            let rules = statements::rules(&text, &self.0);
            Ok(rules.into_iter().map(ToOwned::to_owned).collect())
        })
    }

    fn weigh(
        &self,
        py: Python<'_>,
        texts: Vec<(bool, Bound<'_, PyString>)>,
    ) -> PyResult<(Rows<StatementFields>, Rows<FeatureFields>)> {
        let texts: Vec<(bool, Cow<'_, str>)> = texts
            .iter()
            .map(|(user, text)| Ok((*user, input::text(text)?)))
            .collect::<PyResult<_>>()?;
        detached(py, || {
            let weighed = statements::weigh(&texts, &self.0);
            let features = weighed.features.into_iter().map(|one| (one.plain, one.names));
            Ok((weighed.statements.into_iter().map(fields).collect(), features.collect()))
        })
    }

    #[expect(clippy::too_many_arguments, reason = "one a field of what there is to say")]
    fn summary(
        &self,
        py: Python<'_>,
        texts: Vec<SaidFields<'_>>,
        lines: Vec<LineFields<'_>>,
        #[pyo3(from_py_with = input::strings)] identifiers: Vec<Bound<'_, PyString>>,
        quotes: &Bound<'_, PyString>,
        touched: &Bound<'_, PyString>,
        #[pyo3(from_py_with = input::strings)] elsewhere: Vec<Bound<'_, PyString>>,
        layout: LayoutFields,
        #[pyo3(from_py_with = input::name)] encoding: String,
        max_tokens: usize,
    ) -> PyResult<String> {
        let said: Vec<(bool, Cow<'_, str>, bool)> = texts
            .iter()
            .map(|(user, text, quoted)| Ok((*user, input::text(text)?, *quoted)))
            .collect::<PyResult<_>>()?;
        let lines: Vec<(Cow<'_, str>, Cow<'_, str>, f64, bool)> = lines
            .iter()
            .map(|(topic, text, worth, fades)| Ok((input::text(topic)?, input::text(text)?, *worth, *fades)))
            .collect::<PyResult<_>>()?;
        let (names, elsewhere) = (input::texts(py, &identifiers)?, input::texts(py, &elsewhere)?);
        let (quotes, touched) = (input::text(quotes)?, input::text(touched)?);
        detached(py, || {
            let tokenizer = input::encoding(&encoding)?.tokenizer();
            let texts: Vec<Said<'_>> = said
                .iter()
                .map(|(user, text, quoted)| Said {
                    user: *user,
                    text,
                    quoted: *quoted,
                })
                .collect();
            let lines = lines.iter().map(|(topic, text, worth, fades)| {
                let (topic, worth, fades) = (named(topic)?, *worth, *fades);
                Ok(Line {
                    topic,
                    text,
                    worth,
                    fades,
                })
            });
            let lines: Vec<Line<'_>> = lines.collect::<Result<_, Fault>>()?;
            let material = Material {
                texts: &texts,
                lines: &lines,
                names: &names,
                quotes: &quotes,
                touched: &touched,
                elsewhere: &elsewhere,
            };
            Ok(extractive::write(
                &material,
                &self.0,
                &laid_out(layout)?,
                tokenizer,
                max_tokens,
            ))
        })
    }
}

fn named(topic: &str) -> Result<Topic, Fault> {
    Topic::from_name(topic).ok_or_else(|| Fault::new("argument", format!("no topic is named {topic:?}")))
}

fn laid_out((heading, sections): LayoutFields) -> Result<Layout, Fault> {
    let sections = sections.into_iter().map(|(title, topics)| {
        let topics = topics.iter().map(|topic| named(topic)).collect::<Result<_, Fault>>()?;
        Ok(Section { title, topics })
    });
    let sections = sections.collect::<Result<_, Fault>>()?;
    Ok(Layout { heading, sections })
}

fn fields(one: Statement) -> StatementFields {
    (
        one.order,
        one.place,
        one.text,
        one.label,
        one.enclosed,
        one.score,
        one.replaced,
        one.doubtful,
        one.after,
        one.features,
    )
}
