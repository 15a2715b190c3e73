//! What is remembered by encoding.

use std::sync::OnceLock;

use turnfold_tokens::Encoding;

const PUBLISHED: usize = Encoding::ALL.len();

/// One value an encoding, filled once each, by whichever thread is first. Few messages are counted in an encoding that a
/// caller registered, so those have room only where one is.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Slots<T> {
    published: [OnceLock<T>; PUBLISHED],
    registered: OnceLock<Box<[OnceLock<T>; Encoding::LIMIT - PUBLISHED]>>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            published: Default::default(),
            registered: OnceLock::new(),
        }
    }
}

impl<T> Slots<T> {
    /// The value of a slot, if it is filled.
    pub(crate) fn get(&self, slot: usize) -> Option<&T> {
        match slot.checked_sub(PUBLISHED) {
            None => self.published.get(slot)?.get(),
            Some(slot) => self.registered.get()?.get(slot)?.get(),
        }
    }

    /// Where the value of a slot goes. `None` where there is no such slot.
    pub(crate) fn place(&self, slot: usize) -> Option<&OnceLock<T>> {
        match slot.checked_sub(PUBLISHED) {
            None => self.published.get(slot),
            Some(slot) => self.registered.get_or_init(Box::default).get(slot),
        }
    }

    /// Fills a slot that is empty.
    pub(crate) fn put(&self, slot: usize, value: T) {
        if let Some(place) = self.place(slot) {
            let _ = place.set(value);
        }
    }

    /// The values that there are, by slot.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (usize, &T)> {
        let registered = self
            .registered
            .get()
            .into_iter()
            .flat_map(|registered| registered.iter());
        let places = self.published.iter().chain(registered).enumerate();
        places.filter_map(|(slot, place)| Some((slot, place.get()?)))
    }

    /// The places of the encodings that ship.
    pub(crate) fn published(&self) -> &[OnceLock<T>] {
        &self.published
    }
}
