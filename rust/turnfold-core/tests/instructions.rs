//! How many instructions the work on transcripts takes as they double, counted by valgrind: the same number on every
//! machine, whether bytes are read or not. Without valgrind the work runs, and nothing is counted.
//!
//! The program runs itself under callgrind, which counts what [`counted`] does and writes the number down before the next
//! call of it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test stops where its input is wrong, and prints what it counted"
)]

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use turnfold_core::Transcript;
use turnfold_core::findings::{Category, scan};
use turnfold_core::groups::{groups, turns};
use turnfold_core::layout::layout;
use turnfold_core::pairs::{ScanOptions, check, pair};
use turnfold_core::prefix::compare;
use turnfold_core::repair::{RepairOptions, Unanswered, repair};
use turnfold_core::splice::{Part, splice};
use turnfold_core::splits::{Keep, find_split, splits};
use turnfold_tokens::Encoding;

mod steps;

use steps::{calls, formats, joined, results, user};

/// How much more twice as much may take: what grows with the square takes four times as much.
const MOST: f64 = 2.2;

/// Steps of the transcripts, or calls of the one step.
const SIZES: [usize; 3] = [60, 120, 240];

/// How often each size is counted, with other messages each time. The table of known messages grows now and then, all of
/// its parts at about the same time; the least count is one in which it did not.
const TIMES: usize = 2;

/// Says that this process is the one whose work is counted.
const CHILD: &str = "TURNFOLD_COUNTED";

fn main() -> ExitCode {
    if env::var_os(CHILD).is_some() {
        all(&mut |work| counted(work));
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        all(&mut |work| work());
        println!("valgrind is not there: the work was done, and its instructions are not counted");
        return ExitCode::SUCCESS;
    }
    let mut rows = Vec::new();
    for format in formats() {
        for shape in Shape::ALL {
            rows.extend(
                shape
                    .work()
                    .iter()
                    .map(|(name, _)| format!("{format:19} {:7} {name}", shape.name())),
            );
        }
    }
    let counts = count();
    assert_eq!(
        counts.len(),
        rows.len() * SIZES.len() * TIMES,
        "counts for each work and size"
    );
    let counts: Vec<u64> = counts.chunks(TIMES).map(|same| *same.iter().min().unwrap()).collect();
    let mut steep = 0;
    for (row, counts) in rows.iter().zip(counts.chunks(SIZES.len())) {
        let ratios = counts.windows(2).map(|pair| ratio(pair[0], pair[1]));
        let ratios: Vec<f64> = ratios.collect();
        let grows = ratios.iter().any(|&ratio| ratio > MOST);
        steep += usize::from(grows);
        let mark = if grows { "  grows faster than its input" } else { "" };
        if grows || env::args().any(|argument| argument == "--all") {
            println!("{row:45} {counts:?} {:.2} {:.2}{mark}", ratios[0], ratios[1]);
        }
    }
    println!(
        "{} counts of instructions, {steep} of them grow faster than their input",
        rows.len()
    );
    if steep == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// How much more the second count is, to three places.
fn ratio(few: u64, many: u64) -> f64 {
    f64::from(u32::try_from(many * 1_000 / few).unwrap()) / 1_000.0
}

/// Runs the work under callgrind. Gives what each call of [`counted`] took.
fn count() -> Vec<u64> {
    let folder = env::temp_dir().join(format!("turnfold-instructions-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let done = Command::new("valgrind")
        // Only one of two equal patterns would have an effect.
        .args([
            "--tool=callgrind",
            "--toggle-collect=instructions::counted*",
            "--dump-before=*structions::counted*",
        ])
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .arg(env::current_exe().unwrap())
        .env(CHILD, "1")
        .output()
        .unwrap();
    // The first is written before anything is counted, and the last without a number when the program ends.
    let numbered = (2..).map_while(|number| total(&folder.join(format!("out.{number}"))));
    let counts: Vec<u64> = numbered.chain(total(&folder.join("out"))).collect();
    fs::remove_dir_all(&folder).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    counts
}

/// The number in the line `totals:`; `None` where there is no such file.
fn total(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
    Some(line.unwrap().trim().parse().unwrap())
}

#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    black_box(());
}

/// Transcripts that are large in different ways.
#[derive(Clone, Copy)]
enum Shape {
    /// Many steps with two parallel calls each.
    Steps,
    /// One step with many calls.
    Wide,
    /// Many steps, all of them broken: results that are missing, have no call, stand too late or come twice.
    Broken,
    /// Many steps, read message by message.
    Grown,
}

/// A transcript as it is read, and what it is read from.
struct Case {
    format: &'static str,
    body: Arc<Vec<u8>>,
    transcript: Transcript,
}

type Work = fn(&Case);

impl Shape {
    const ALL: [Self; 4] = [Self::Steps, Self::Wide, Self::Broken, Self::Grown];

    fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Wide => "wide",
            Self::Broken => "broken",
            Self::Grown => "grown",
        }
    }

    fn work(self) -> &'static [(&'static str, Work)] {
        match self {
            Self::Steps | Self::Wide => &CLEAN,
            Self::Broken => &BROKEN,
            Self::Grown => &GROWN,
        }
    }

    /// A transcript whose steps have the numbers from `first` on, a multiple of 4: those of two cases are not the same.
    fn case(self, format: &'static str, first: usize, size: usize) -> Case {
        let step = |k| format!("{},{}", calls(format, k, 2), results(format, k, 2));
        let messages = match self {
            Self::Steps | Self::Grown => joined((first..first + size).map(step)),
            Self::Wide => format!("{},{}", calls(format, first, size), results(format, first, size)),
            Self::Broken => joined((first..first + size).map(|k| {
                let (calls, results, user) = (calls(format, k, 2), results(format, k, 2), user(format));
                match k % 4 {
                    0 => format!("{calls},{user}"),
                    1 => format!("{results},{user}"),
                    2 => format!("{calls},{user},{results}"),
                    _ => format!("{calls},{results},{results},{user}"),
                }
            })),
        };
        let body = Arc::new(format!("[{},{messages}]", user(format)).into_bytes());
        let mut transcript = Transcript::from_json(Arc::<Vec<u8>>::clone(&body), Some(format)).unwrap();
        if let Self::Grown = self {
            let first = splice(&transcript, &[Part::Keep(0..1)]).unwrap();
            let rest = transcript
                .messages()
                .skip(1)
                .map(|message| Arc::new(message.bytes().to_vec()));
            transcript = rest.fold(first, |grown, message| grown.append(message).unwrap());
        }
        Case {
            format,
            body,
            transcript,
        }
    }
}

const CLEAN: [(&str, Work); 9] = [
    ("read", |case| {
        let read = Transcript::from_json(Arc::<Vec<u8>>::clone(&case.body), Some(case.format)).unwrap();
        assert_eq!(read.len(), case.transcript.len());
    }),
    ("scan", |case| {
        assert!(scan(&case.transcript, &ScanOptions::default()).ok());
    }),
    ("check", |case| {
        assert_eq!(check(&case.transcript).orphan_results, []);
    }),
    ("splits", |case| {
        assert!(splits(&case.transcript, &ScanOptions::default()).iter().len() > 1);
    }),
    ("groups", |case| {
        let table = pair(&case.transcript, &ScanOptions::default());
        assert!(!groups(&case.transcript, &table).is_empty());
        assert_eq!(turns(&case.transcript).len(), 1);
        assert_eq!(layout(&case.transcript, &ScanOptions::default()).barrier, 0..0);
    }),
    ("tokens", |case| {
        assert!(case.transcript.tokens(Encoding::O200kBase, None).hi > 0);
    }),
    ("trim", |case| {
        let cuts = splits(&case.transcript, &ScanOptions::default());
        let limit = case.transcript.tokens(Encoding::O200kBase, None).hi / 2;
        let cut = find_split(&case.transcript, &cuts, Keep::Tokens(limit), Encoding::O200kBase).unwrap();
        let kept = splice(&case.transcript, &[Part::Keep(cut.index..case.transcript.len())]).unwrap();
        assert!(kept.tokens(Encoding::O200kBase, Some(0..kept.len())).hi <= limit);
        scan(&kept, &ScanOptions::default());
    }),
    ("prefix", |case| {
        let end = case.body.len() - 1;
        let more = [&case.body[..end], b",", user(case.format).as_bytes(), b"]"].concat();
        let after = Transcript::from_json(Arc::new(more), Some(case.format)).unwrap();
        let report = compare(&case.transcript, &after, Encoding::O200kBase);
        assert_eq!(report.messages, case.transcript.len());
    }),
    ("repair", |case| {
        assert_eq!(repair(&case.transcript, &RepairOptions::default()).unwrap().repairs, []);
    }),
];

const BROKEN: [(&str, Work); 4] = [
    ("scan", |case| {
        assert!(!scan(&case.transcript, &ScanOptions::default()).ok());
    }),
    ("splits", |case| {
        assert!(splits(&case.transcript, &ScanOptions::default()).iter().len() > 1);
    }),
    ("repair", |case| mend(case, Unanswered::Synthesize)),
    ("repair by drop", |case| mend(case, Unanswered::Drop)),
];

const GROWN: [(&str, Work); 4] = [
    ("append", |case| {
        let first = splice(&case.transcript, &[Part::Keep(0..1)]).unwrap();
        let rest = case
            .transcript
            .messages()
            .skip(1)
            .map(|message| Arc::new(message.bytes().to_vec()));
        let grown = rest.fold(first, |grown, message| {
            let grown = grown.append(message).unwrap();
            check(&grown);
            grown
        });
        assert_eq!(grown.len(), case.transcript.len());
    }),
    ("scan", |case| {
        assert!(scan(&case.transcript, &ScanOptions::default()).ok());
    }),
    ("splits", |case| {
        assert!(splits(&case.transcript, &ScanOptions::default()).iter().len() > 1);
    }),
    ("repair", |case| {
        assert_eq!(repair(&case.transcript, &RepairOptions::default()).unwrap().repairs, []);
    }),
];

fn mend(case: &Case, unanswered: Unanswered) {
    let options = RepairOptions {
        unanswered,
        ..RepairOptions::default()
    };
    let repaired = repair(&case.transcript, &options).unwrap();
    let left = scan(&repaired.transcript, &ScanOptions::default()).findings;
    assert!(left.iter().all(|finding| finding.category != Category::Integrity));
}

/// Does all work on transcripts of every size, one after the other.
fn all(run: &mut dyn FnMut(&mut dyn FnMut())) {
    for format in formats() {
        for shape in Shape::ALL {
            for (_, work) in shape.work() {
                // What is made once for all, such as tables, is no work on the transcript.
                work(&shape.case(format, 0, 8));
                let mut first = 8;
                for size in SIZES {
                    for _ in 0..TIMES {
                        let case = shape.case(format, first, size);
                        first += size;
                        run(&mut || work(&case));
                    }
                }
            }
        }
    }
}
