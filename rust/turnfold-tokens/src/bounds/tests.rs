//! The bounds hold the count, whatever the text, on every level.

use super::*;
use crate::Encoding;
use proptest::prelude::*;

fn check(text: &str) -> Result<(), TestCaseError> {
    let levels = Level::ALL.into_iter().filter(|level| level.is_there());
    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        let tokenizer = encoding.tokenizer().as_published().unwrap();
        let pattern = if encoding == Encoding::O200kBase {
            Pattern::O200k
        } else {
            Pattern::Cl100k
        };
        let count = tokenizer.count(text);
        let found = tokenizer.bounds(text);
        prop_assert!(
            found.lo <= count && count <= found.hi,
            "{found:?} {count} {encoding:?} {text:?}"
        );
        for level in levels.clone() {
            let marked = at_level(level, pattern, tokenizer.tables().facts(), text.as_bytes());
            prop_assert_eq!(marked.whole, found, "{:?}", level);
        }
        for limit in [
            0,
            1,
            found.lo.saturating_sub(1),
            found.lo,
            count.saturating_sub(1),
            count,
            count + 1,
            found.hi,
        ] {
            prop_assert_eq!(tokenizer.fits(text, limit), count <= limit, "{} of {}", limit, count);
        }
    }
    Ok(())
}

/// Pieces of every kind, many of them with no end in a block or with edges that a vocabulary leaves in doubt.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-zA-Z ]{1,40}",
        "[fjkqvxz]{1,30}",
        "[0-9a-f.,;/'\"\n\t ]{1,20}",
        "[0-9٠-٩]{1,9}",
        " {1,90}",
        "[ \u{A0}\u{3000}]{1,12}",
        "[ \t\r\n]{1,12}",
        "[!-/:-@\\[-`{-~]{1,12}",
        "[\u{0}-\u{7F}]{1,12}",
        "\\PC{1,12}",
        "[А-я ]{1,60}",
        "[一-龥。]{1,50}",
        "[가-힣 ]{1,30}",
        "[ก-๎]{1,30}",
        "[ऀ-ൿ ]{1,30}",
        "[👀-🙏]{1,9}",
        "[a-z]{1,9}'(s|t|re|VE|ſ)",
        "(ab|的|😀|\u{301}){1,80}",
    ];
    proptest::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn the_count_is_inside(text in texts()) {
        check(&text)?;
    }

    #[test]
    fn the_count_of_any_characters_is_inside(text in proptest::collection::vec(any::<char>(), 0..200)) {
        check(&text.into_iter().collect::<String>())?;
    }

    #[test]
    fn the_count_of_tokens_side_by_side_is_inside(ranks in proptest::collection::vec(0..100_000_u32, 0..40)) {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            let bytes = encoding.tokenizer().decode(&ranks).unwrap();
            check(&String::from_utf8_lossy(&bytes))?;
        }
    }

    #[test]
    fn windows_are_apart(bonds: u64, starts: u64) {
        let starts = starts & bonds.rotate_left(9) & bonds.rotate_left(23) | 1;
        let (bonds, inner) = (bonds & !starts, !starts);
        let mut taken = 0_u64;
        let mut most = 0;
        for place in (0..64).filter(|place| bonds >> place & 1 == 1) {
            // The window of each bond that shares no place with those taken.
            let window = ((1_u128 << (place + 2)) - (1_u128 << (place - 1))) as u64 & inner;
            if taken & window == 0 {
                taken |= window;
                most += 1;
            }
        }
        prop_assert!(windows(bonds, inner) <= most);
        prop_assert_eq!(windows(bonds, inner) == 0, bonds == 0);
    }
}

#[test]
fn every_character_alone_and_between_others() {
    for character in (0..0x11_0000).filter_map(char::from_u32) {
        // Every character would be slow here; what is rare is taken in steps.
        if u32::from(character) >= 0x3000 && u32::from(character) % 13 != 0 {
            continue;
        }
        let text = format!("{character} {character}a{character}{character}é{character}");
        check(&text).unwrap();
    }
}

#[test]
fn runs_and_long_pieces_are_inside() {
    let parts = [
        " ", "\n", "\t", "\r", "\r\n", " \n", "\t ", "=", "-", "a", "A", "é", "的", "x\u{301}", "👍", "9", "'s", "ab",
        "qx", "Aa", "\u{A0}", "\u{3000}", "а", "ー", "ก",
    ];
    for part in parts {
        for times in [1, 2, 3, 7, 31, 32, 63, 64, 65, 79, 80, 127, 128, 129, 1_000, 20_000] {
            let run = part.repeat(times);
            for text in [run.clone(), format!("a{run}"), format!("{run}b"), format!("é{run} ")] {
                check(&text).unwrap();
            }
        }
    }
}

#[test]
fn what_is_taken_for_granted_holds_in_what_ships() {
    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        let facts = encoding.tokenizer().as_published().unwrap().tables().facts();
        assert!(facts.is_usual, "{encoding:?}");
        assert!(facts.has_numbers, "{encoding:?}");
        assert!(facts.longest_word < LONGEST_TOKEN);
    }
}

#[test]
fn intervals_are_narrow_where_that_was_promised() {
    let prose =
        "The harbour office moves the meeting to Thursday, because two of the reports have not come in. ".repeat(50);
    let log = "2024-05-01 12:30:01,417 INFO  [worker-3] 10.0.12.7 GET /items/99812 200 51ms\n".repeat(50);
    let russian = "Собрание перенесли на четверг, потому что два отчёта ещё не пришли. ".repeat(50);
    for (text, least, most) in [(prose, 90, 350), (log, 90, 170), (russian, 65, 400)] {
        let tokenizer = Encoding::O200kBase.tokenizer();
        let (count, found) = (tokenizer.count(&text), tokenizer.bounds(&text));
        assert!(100 * found.lo >= least * count, "{found:?} {count}");
        assert!(100 * found.hi <= most * count, "{found:?} {count}");
    }
}
