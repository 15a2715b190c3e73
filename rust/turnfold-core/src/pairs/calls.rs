//! The calls of a transcript, and the open ones of each id or name.

use super::BlockRef;

pub(super) const NONE: u32 = u32::MAX;

pub(super) struct Call {
    pub(super) at: BlockRef,
    pub(super) server_side: bool,
    pub(super) answered: bool,
    /// Its latest result is one that others may follow.
    pub(super) goes_on: bool,
    /// How many calls of its name stand before it.
    pub(super) number: u32,
    /// First message of those whose calls share its queue.
    pub(super) group: u32,
}

/// A call's place in the list of one id or name.
pub(super) struct Link {
    call: u32,
    /// The call that comes next in the same message.
    next: u32,
    /// The first call of the nearest earlier message.
    below: u32,
}

/// All calls, with the lists that they are in.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) rows: Vec<Call>,
    pub(super) links: Vec<Link>,
}

impl Calls {
    /// Adds a call that is in no list.
    pub(super) fn push(&mut self, at: BlockRef, server_side: bool, number: u32, group: u32) -> u32 {
        self.rows.push(Call {
            at,
            server_side,
            answered: false,
            goes_on: false,
            number,
            group,
        });
        self.rows.len() as u32 - 1
    }
}

/// The calls of one id or name: a stack of messages, each a queue of calls, threaded through the links.
pub(super) struct IdState {
    pub(super) head: u32,
    tail: u32,
    /// First message of those that the tail's queue is for.
    group: usize,
    pub(super) last_call: u32,
    pub(super) calls: u32,
    pub(super) results: u32,
    /// Whether the id stands among the duplicate results already.
    pub(super) told: bool,
}

impl Default for IdState {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            group: 0,
            last_call: NONE,
            calls: 0,
            results: 0,
            told: false,
        }
    }
}

impl IdState {
    /// That of an id whose last call this is, without any that is open.
    pub(super) fn answered(last_call: u32) -> Self {
        Self {
            last_call,
            calls: 1,
            ..Self::default()
        }
    }

    /// Adds a call of the messages that start at `group` and share one queue.
    pub(super) fn push(&mut self, all: &mut Calls, call: u32, group: usize) {
        let new = all.links.len() as u32;
        let same_queue = self.head != NONE && self.group == group;
        let below = if same_queue { NONE } else { self.head };
        all.links.push(Link {
            call,
            next: NONE,
            below,
        });
        if same_queue {
            if let Some(tail) = all.links.get_mut(self.tail as usize) {
                tail.next = new;
            }
        } else {
            self.head = new;
        }
        self.tail = new;
        self.group = group;
        self.last_call = call;
        self.calls += 1;
    }

    /// The open call whose turn it is. Drops those before it, which were answered through another list.
    pub(super) fn first_open(&mut self, all: &mut Calls) -> Option<u32> {
        while let Some(link) = all.links.get(self.head as usize) {
            let open = all.rows.get(link.call as usize).is_some_and(|call| !call.answered);
            if open {
                return Some(link.call);
            }
            self.drop_head(all);
        }
        None
    }

    fn drop_head(&mut self, all: &mut Calls) {
        let Some(&Link { next, below, .. }) = all.links.get(self.head as usize) else {
            return;
        };
        if let Some(following) = all.links.get_mut(next as usize) {
            following.below = below;
            self.head = next;
        } else {
            self.head = below;
            self.tail = below;
            // The queue below takes no more calls: its messages are past.
            self.group = usize::MAX;
        }
    }
}
