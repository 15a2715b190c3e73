//! What a fork waits for. The child has the locks that threads held at that moment, and no thread that lets go of them.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Threads count themselves in so many places, that two of them seldom write to one line.
const PLACES: usize = 64;
/// How long who waits does so before it looks again.
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

#[repr(align(128))]
struct Place(AtomicUsize);

/// How many threads are in the kernel without the interpreter.
static INSIDE: [Place; PLACES] = [const { Place(AtomicUsize::new(0)) }; PLACES];
/// How many forks are under way.
static FORKS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is the one that forks: other handlers of the fork may call the kernel, too.
    static FORKING: Cell<bool> = const { Cell::new(false) };
    static MINE: &'static AtomicUsize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let [first, ..] = &INSIDE;
        &INSIDE.get(next % PLACES).unwrap_or(first).0
    };
}

/// A thread that is in the kernel, until it is dropped.
pub(crate) struct Inside(&'static AtomicUsize);

impl Inside {
    /// Counts this thread, once no fork is under way; to be called without the interpreter, which forks need.
    pub(crate) fn enter() -> Self {
        let mine = MINE.with(|&mine| mine);
        loop {
            // Sequential order on both sides: either the fork sees this thread, or this thread the fork.
            mine.fetch_add(1, Ordering::SeqCst);
            if FORKS.load(Ordering::SeqCst) == 0 || FORKING.get() {
                return Self(mine);
            }
            mine.fetch_sub(1, Ordering::SeqCst);
            thread::sleep(BETWEEN_LOOKS);
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Waits until no thread is in the kernel, and keeps all out.
#[pyfunction]
fn before() {
    FORKING.set(true);
    FORKS.fetch_add(1, Ordering::SeqCst);
    while INSIDE.iter().any(|place| place.0.load(Ordering::SeqCst) > 0) {
        thread::sleep(BETWEEN_LOOKS);
    }
}

#[pyfunction]
fn after_in_parent() {
    FORKING.set(false);
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// The threads that looked whether they may go in are not there.
#[pyfunction]
fn after_in_child() {
    FORKING.set(false);
    for place in &INSIDE {
        place.0.store(0, Ordering::SeqCst);
    }
    FORKS.store(0, Ordering::SeqCst);
}

/// Has Python's forks wait, where there are any.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let os = module.py().import("os")?;
    if os.hasattr("register_at_fork")? {
        let told = PyDict::new(module.py());
        told.set_item("before", wrap_pyfunction!(before, module)?)?;
        told.set_item("after_in_parent", wrap_pyfunction!(after_in_parent, module)?)?;
        told.set_item("after_in_child", wrap_pyfunction!(after_in_child, module)?)?;
        os.call_method("register_at_fork", (), Some(&told))?;
    }
    Ok(())
}
