//! Tables whose memory is there at once, in large pages where the system has them.
//!
//! A table of megabytes that is looked up by hash touches each of its pages for the first time at another moment, and
//! each first touch is a trap into the system; later each look-up may miss the processor's table of pages. Asking for
//! large pages, and for all of them with one call, leaves neither. It is advice: where the system does not follow it,
//! and on systems that know no such advice, the table is the same.
#![allow(unsafe_code)]

/// A table of `count` times `value`.
pub(crate) fn table<T: Clone>(value: T, count: usize) -> Vec<T> {
    let mut table = Vec::with_capacity(count);
    prepare(table.spare_capacity_mut());
    table.resize(count, value);
    table
}

#[cfg(target_os = "linux")]
fn prepare<T>(room: &mut [std::mem::MaybeUninit<T>]) {
    const PAGE: usize = 4096;
    const LARGE: usize = 2 << 20;
    let bytes = std::mem::size_of_val(room);
    if bytes < 16 * PAGE {
        return;
    }
    let start = room.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(PAGE);
    let whole = bytes.saturating_sub(before) / PAGE * PAGE;
    let first = start.wrapping_add(before).cast();
    // SAFETY: the pages from `first` lie in memory that is borrowed here for writing, and neither advice changes what
    // they hold; pages that the system does not know of are refused by it.
    unsafe {
        if bytes >= LARGE {
            libc::madvise(first, whole, libc::MADV_HUGEPAGE);
        }
        libc::madvise(first, whole, libc::MADV_POPULATE_WRITE);
    }
}

#[cfg(not(target_os = "linux"))]
fn prepare<T>(_room: &mut [std::mem::MaybeUninit<T>]) {}
