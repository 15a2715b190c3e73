//! A body reads and counts the same whether its messages were counted before or not.

use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use turnfold_tokens::Encoding;

use crate::bodies::{self, Body};
use crate::extend::{alone, same};

/// The body, with a field in each message that no other call gives.
fn unseen(body: &Body) -> Body {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let marked = |message: &String| message.replacen('{', &format!("{{\"n\":{number},"), 1);
    Body {
        messages: body.messages.iter().map(marked).collect(),
        ..body.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_was_counted_before_changes_no_answer(
        body in bodies::body(),
        other in bodies::body(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        named in any::<bool>(),
        after in prop::sample::select(vec!["", " ", "}", "],\"messages\":[]}", ",7]}", "{"]),
    ) {
        let (body, format) = (unseen(&body), named.then_some(body.format));
        // Some of its messages in other places, between others, and bytes that do not belong there.
        let pool: Vec<&String> = body.messages.iter().chain(&other.messages).collect();
        let mixed = Body {
            messages: order.iter().filter(|_| !pool.is_empty()).map(|at| (*at.get(&pool)).clone()).collect(),
            ..body.clone()
        };
        let mixed = format!("{}{after}", mixed.json());
        let fresh = alone(mixed.as_bytes(), format);
        let fresh_body = alone(body.json().as_bytes(), format);
        for read in [&fresh_body, &fresh].into_iter().flatten() {
            read.tokens(Encoding::O200kBase, None);
        }
        same(&alone(mixed.as_bytes(), format), &fresh)?;
        same(&alone(body.json().as_bytes(), format), &fresh_body)?;
    }
}
