//! Bytes of Python's that are written where Python keeps them, by whoever has let go of the interpreter.
//!
//! The one module of the crate with unsafe code. A copy of a body that was made elsewhere, or the zeros that `PyBytes::new_with`
//! puts there first, would hold the interpreter for as long as all the rest takes.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::door::{Fault, detached};

/// So many bytes, of the pieces that `write` hands to what it is given.
pub(crate) fn bytes(
    py: Python<'_>,
    length: usize,
    write: impl FnOnce(&mut dyn FnMut(&[u8])) + Send,
) -> PyResult<Bound<'_, PyBytes>> {
    let size = ffi::Py_ssize_t::try_from(length).map_err(|_| PyErr::new::<pyo3::exceptions::PyMemoryError, _>(()))?;
    // SAFETY: a null pointer asks for bytes that nobody has written; what comes back is a new reference, or null with an
    // exception set.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(std::ptr::null(), size)) }?;
    let made = made.cast_into::<PyBytes>()?;
    // SAFETY: the object has `length` bytes, of any value, for as long as `made` lives, and nobody else has seen it. Where
    // `length` is 0 it may be an object that others have: nothing is written to it.
    let mut room = unsafe {
        let start: *mut MaybeUninit<u8> = ffi::PyBytes_AsString(made.as_ptr()).cast();
        std::slice::from_raw_parts_mut(start, length)
    };
    detached(py, || {
        write(&mut |piece| {
            if let Some(place) = room.split_off_mut(..piece.len()) {
                for (to, byte) in place.iter_mut().zip(piece) {
                    to.write(*byte);
                }
            }
        });
        if room.is_empty() {
            return Ok(());
        }
        Err(Fault::new(
            "internal",
            format!("{} of {length} bytes were not written", room.len()),
        ))
    })?;
    Ok(made)
}
