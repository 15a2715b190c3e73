//! Tables in large pages, where the system has them.
//!
//! A table of megabytes that is looked up by hash is touched first at another page each time, and each is a trap into the
//! system; later most look-ups miss the processor's table of pages. In pages of two megabytes there is neither. It is
//! advice: where the system does not follow it, and on systems that know no such advice, the table is the same.
#![allow(unsafe_code)]

/// A table of `count` times `value`.
pub(crate) fn table<T: Clone>(value: T, count: usize) -> Vec<T> {
    let mut table = Vec::with_capacity(count);
    advise(table.spare_capacity_mut());
    table.resize(count, value);
    table
}

#[cfg(target_os = "linux")]
fn advise<T>(room: &mut [std::mem::MaybeUninit<T>]) {
    const PAGE: usize = 4096;
    const LARGE: usize = 2 << 20;
    let bytes = std::mem::size_of_val(room);
    if bytes < LARGE {
        return;
    }
    let start = room.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(PAGE);
    let whole = bytes.saturating_sub(before) / PAGE * PAGE;
    // SAFETY: the pages lie in memory that is borrowed here for writing, and the advice does not change what they hold.
    unsafe { libc::madvise(start.wrapping_add(before).cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_room: &mut [std::mem::MaybeUninit<T>]) {}
