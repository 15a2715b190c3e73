//! Commands and code that were run.

use super::call::{Argument, Call};
use super::{Description, DigestKind, Extractor, TARGET_CHARS, one_line};

const NAMES: [&str; 25] = [
    "bash",
    "shell",
    "sh",
    "zsh",
    "cmd",
    "powershell",
    "terminal",
    "run",
    "exec",
    "execute",
    "executebash",
    "bashexec",
    "runcommand",
    "runcommands",
    "executecommand",
    "execcommand",
    "runshellcommand",
    "shellcommand",
    "shellexec",
    "runinterminal",
    "runterminalcmd",
    "runterminalcommand",
    "localshell",
    "containerexec",
    "bashcommand",
];
const CODE_NAMES: [&str; 9] = [
    "python",
    "ipython",
    "runpython",
    "executepython",
    "pythonexec",
    "runcode",
    "executecode",
    "codeinterpreter",
    "executeipythoncell",
];
const COMMANDS: [&str; 4] = ["command", "cmd", "commands", "script"];

pub(super) struct Shell;

impl Shell {
    pub(super) fn command<'c>(call: &'c Call<'_>) -> Option<&'c Argument> {
        if call.is_named(&CODE_NAMES) {
            return call.argument(&["code", "source", "script", "input"]);
        }
        let alone = call.arguments.iter().any(|a| a.name == "command" || a.name == "cmd") && call.path().is_none();
        if call.is_named(&NAMES) || alone {
            return call.argument(&COMMANDS).or_else(|| {
                call.is_named(&NAMES)
                    .then(|| call.argument(&["code", "input"]))
                    .flatten()
            });
        }
        None
    }
}

impl Extractor for Shell {
    fn kind(&self) -> DigestKind {
        DigestKind::Shell
    }

    fn recognises(&self, call: &Call<'_>) -> bool {
        Self::command(call).is_some()
    }

    fn describe(&self, call: &Call<'_>) -> Description {
        let command = Self::command(call)
            .map(|c| one_line(bare(&c.text), TARGET_CHARS))
            .unwrap_or_default();
        let outcome = match &call.outcome {
            None => "no result".to_owned(),
            Some(result) => {
                let exit = result.exit.map(|code| format!("exit {code}"));
                let rest = if exit.is_some() && result.is_silent() {
                    "no output".to_owned()
                } else if result.failed() {
                    result.quoted_error()
                } else {
                    output(&result.size())
                };
                exit.map_or(rest.clone(), |exit| format!("{exit}, {rest}"))
            }
        };
        let verb = if call.is_named(&CODE_NAMES) { "ran code" } else { "ran" };
        let text = format!("{verb} {command}: {outcome}");
        Description {
            target: Some(command),
            outcome,
            text,
        }
    }
}

fn output(size: &str) -> String {
    if size == "empty" {
        "no output".to_owned()
    } else {
        format!("{size} of output")
    }
}

/// The command inside `bash -lc ...`, as harnesses wrap it.
fn bare(command: &str) -> &str {
    ["bash -lc ", "bash -c ", "sh -c ", "/bin/bash -lc ", "/bin/sh -c "]
        .iter()
        .find_map(|wrap| command.strip_prefix(wrap))
        .unwrap_or(command)
}
