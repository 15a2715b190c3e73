//! Tables that lie side by side in large pages, where the system has them.
//!
//! Tables of megabytes that are looked up by hash are touched first at another page each time, and each is a trap into the
//! system, which takes microseconds in a virtual machine; later most look-ups miss the processor's table of pages. In pages
//! of two megabytes there is neither, and side by side the tables of a vocabulary fill them. It is advice: where the system
//! does not follow it, and on systems that know no such advice, the tables are the same.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::simd::Line;

const LARGE: usize = 2 << 20;
/// What every table starts at a multiple of: a line of the cache.
const LINE: usize = align_of::<Line>();

/// Numbers, and arrays of them.
///
/// # Safety
///
/// A value is made of bits that are all 0, and needs no alignment beyond a line of the cache.
pub(crate) unsafe trait Numbers: Copy + Send + Sync {}

// SAFETY: integers.
unsafe impl Numbers for u8 {}
// SAFETY: as above.
unsafe impl Numbers for u32 {}
// SAFETY: as above.
unsafe impl Numbers for u64 {}
// SAFETY: as above.
unsafe impl Numbers for u128 {}
// SAFETY: as above, aligned to one line.
unsafe impl Numbers for Line {}
// SAFETY: as above.
unsafe impl<T: Numbers, const N: usize> Numbers for [T; N] {}

/// Room for tables.
pub(crate) struct Room {
    memory: Arc<Memory>,
    /// How many of its bytes are given away.
    used: usize,
}

impl Room {
    /// For tables of so many bytes together. More makes another room.
    pub(crate) fn new(bytes: usize) -> Self {
        let page = if bytes < LARGE { LINE } else { LARGE };
        let memory = Memory::new(bytes + page);
        let used = memory.start.align_offset(page);
        // What does not fill a large page is no reason to have one.
        memory.advise(used, bytes / LARGE * LARGE);
        Self {
            memory: Arc::new(memory),
            used,
        }
    }

    /// A table of so many numbers, all 0.
    pub(crate) fn table<T: Numbers>(&mut self, count: usize) -> Table<T> {
        // Half of the addresses are more than `Memory::new` ever gives.
        let bytes = size_of::<T>()
            .saturating_mul(count)
            .min(usize::MAX / 2)
            .next_multiple_of(LINE);
        if bytes > self.memory.layout.size().saturating_sub(self.used) {
            *self = Self::new(bytes);
        }
        // SAFETY: so many bytes are left in the memory.
        let start = unsafe { self.memory.start.add(self.used) }.cast();
        self.used += bytes;
        Table {
            start,
            count,
            _memory: Some(Arc::clone(&self.memory)),
        }
    }
}

/// A table in a room.
pub(crate) struct Table<T> {
    start: NonNull<T>,
    count: usize,
    _memory: Option<Arc<Memory>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            start: NonNull::dangling(),
            count: 0,
            _memory: None,
        }
    }
}

// SAFETY: a table owns its part of the memory, which holds nothing but numbers.
unsafe impl<T: Numbers> Send for Table<T> {}
// SAFETY: as above.
unsafe impl<T: Numbers> Sync for Table<T> {}

impl<T: Numbers> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `Room::table` gave this part of the memory, which is as old as the table at least, to no other; without
        // memory there are no numbers.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T: Numbers> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

/// Bytes that are 0 at first, and read and written through tables alone.
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory itself is only given back, by its last owner.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// At least so many bytes.
    fn new(bytes: usize) -> Self {
        // As 16-byte numbers, as any allocator aligns large memory: then zeros come from the system untouched.
        let Ok(layout) = Layout::array::<u128>(bytes.div_ceil(size_of::<u128>())) else {
            handle_alloc_error(Layout::new::<u128>())
        };
        // SAFETY: the layout is not empty: `Room::new` asks for a line at least.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            handle_alloc_error(layout)
        };
        Self { start, layout }
    }

    /// Asks for large pages for `bytes` from byte `from` on, where a page starts.
    #[cfg(target_os = "linux")]
    fn advise(&self, from: usize, bytes: usize) {
        let there = bytes.min(self.layout.size().saturating_sub(from));
        // SAFETY: these pages lie in the memory, and the advice does not change what they hold.
        unsafe { libc::madvise(self.start.add(from).as_ptr().cast(), there, libc::MADV_HUGEPAGE) };
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "nobody to advise")]
    fn advise(&self, _from: usize, _bytes: usize) {}
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and no table is left.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_empty_and_lie_apart() {
        let mut room = Room::new(1 << 12);
        let mut bytes = room.table::<u8>(100);
        let mut lines = room.table::<Line>(8);
        let mut words = room.table::<u32>(7);
        // More than is left.
        let mut numbers = room.table::<u64>(LARGE);
        drop(room);
        let none = Table::<u64>::default();
        assert!(bytes.iter().all(|byte| *byte == 0) && words.iter().all(|word| *word == 0));
        assert!(lines.iter().all(|line| line.0 == [0; 4]) && numbers.iter().all(|number| *number == 0));
        bytes.fill(u8::MAX);
        words.fill(1);
        lines.fill(Line([2; 4]));
        numbers.fill(3);
        assert!(bytes.iter().all(|byte| *byte == u8::MAX) && words.iter().all(|word| *word == 1));
        assert!(lines.iter().all(|line| line.0 == [2; 4]) && numbers.iter().all(|number| *number == 3));
        assert_eq!(
            [bytes.len(), lines.len(), words.len(), numbers.len(), none.len()],
            [100, 8, 7, LARGE, 0]
        );
    }
}
