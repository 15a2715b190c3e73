//! How large an image is, from the first bytes of its encoded data (nothing is decoded beyond the header), and how many
//! pages a document has.

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Width.
    pub width: u64,
    /// Height.
    pub height: u64,
}

/// Letters of base64 that are looked at: JPEG puts its size behind metadata of up to some 64 KB a piece.
const LOOK_AT: usize = 400_000;

/// The size of an image given as base64 letters (standard or URL-safe alphabet). `None` where the header is not that
/// of a PNG, GIF, WebP or JPEG, or does not reach the size. O(1) for all but JPEG, there O(metadata).
pub fn image_pixels(base64: &[u8]) -> Option<Pixels> {
    let start = decode(base64.get(..64.min(base64.len()))?);
    png(&start)
        .or_else(|| gif(&start))
        .or_else(|| webp(&start))
        .or_else(|| {
            start
                .starts_with(b"\xFF\xD8")
                .then(|| decode(base64.get(..LOOK_AT.min(base64.len())).unwrap_or_default()))
                .and_then(|bytes| jpeg(&bytes))
        })
}

/// Pages of a PDF given as base64 letters. `None` where its first bytes are not those of a PDF, or it keeps its pages in
/// compressed objects. O(n).
pub fn pdf_pages(base64: &[u8]) -> Option<u64> {
    if !decode(base64.get(..8.min(base64.len()))?).starts_with(b"%PDF") {
        return None;
    }
    let bytes = decode(base64);
    let pages = memchr::memmem::find_iter(&bytes, b"/Type").filter(|&at| {
        let rest = bytes.get(at + 5..).unwrap_or_default().trim_ascii_start();
        let name = rest.strip_prefix(b"/Page");
        name.is_some_and(|after| !after.first().is_some_and(u8::is_ascii_alphanumeric))
    });
    Some(pages.count() as u64).filter(|&pages| pages > 0)
}

/// The data behind `data:image/png;base64,`, if that is what the URL is.
pub fn data_url_payload(url: &[u8]) -> Option<&[u8]> {
    let rest = url.strip_prefix(b"data:")?;
    let comma = memchr::memchr(b',', rest.get(..256.min(rest.len()))?)?;
    rest.get(..comma)?
        .ends_with(b";base64")
        .then(|| rest.get(comma + 1..))?
}

fn decode(letters: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(letters.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for &letter in letters {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = (bits << 6 | u32::from(six)) & 0xFFFF;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held & 0xFF) as u8);
        }
    }
    out
}

fn number(bytes: &[u8], at: usize, width: usize, big_endian: bool) -> Option<u64> {
    let field = bytes.get(at..at + width)?;
    let push = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
    Some(if big_endian {
        field.iter().fold(0, push)
    } else {
        field.iter().rev().fold(0, push)
    })
}

/// A damaged header says anything: a side beyond what JPEG and GIF can say is not believed of the others either.
fn sized(width: u64, height: u64) -> Option<Pixels> {
    let sides = 1..=0xFFFF;
    (sides.contains(&width) && sides.contains(&height)).then_some(Pixels { width, height })
}

fn png(bytes: &[u8]) -> Option<Pixels> {
    if !bytes.starts_with(b"\x89PNG\r\n\x1a\n") || bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    sized(number(bytes, 16, 4, true)?, number(bytes, 20, 4, true)?)
}

fn gif(bytes: &[u8]) -> Option<Pixels> {
    if !bytes.starts_with(b"GIF8") {
        return None;
    }
    sized(number(bytes, 6, 2, false)?, number(bytes, 8, 2, false)?)
}

fn webp(bytes: &[u8]) -> Option<Pixels> {
    if !bytes.starts_with(b"RIFF") || bytes.get(8..12)? != b"WEBP" {
        return None;
    }
    match bytes.get(12..16)? {
        b"VP8 " => sized(
            number(bytes, 26, 2, false)? & 0x3FFF,
            number(bytes, 28, 2, false)? & 0x3FFF,
        ),
        b"VP8L" => {
            let packed = number(bytes, 21, 4, false)?;
            sized((packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1)
        }
        b"VP8X" => sized(number(bytes, 24, 3, false)? + 1, number(bytes, 27, 3, false)? + 1),
        _ => None,
    }
}

fn jpeg(bytes: &[u8]) -> Option<Pixels> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xFF {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            0xFF => at += 1,
            0x01 | 0xD0..=0xD8 => at += 2,
            // Start of frame, in all its kinds; C4, C8 and CC are tables.
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                return sized(number(bytes, at + 7, 2, true)?, number(bytes, at + 5, 2, true)?);
            }
            0xD9 | 0xDA => return None,
            _ => at += 2 + (number(bytes, at + 2, 2, true)? as usize).max(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pixels, data_url_payload, decode, image_pixels, pdf_pages};

    fn encode(bytes: &[u8]) -> Vec<u8> {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = Vec::new();
        for group in bytes.chunks(3) {
            let word = group.iter().fold(0u32, |w, &b| w << 8 | u32::from(b)) << (8 * (3 - group.len()));
            for k in 0..=group.len() {
                out.push(LETTERS[(word >> (18 - 6 * k) & 63) as usize]);
            }
        }
        out
    }

    #[test]
    fn sizes_stand_in_the_header() {
        let png = [
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(),
            &[0, 0, 2, 128, 0, 0, 1, 224],
            &[8, 6],
        ]
        .concat();
        let damaged = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0xFF; 8], &[8, 6]].concat();
        assert_eq!(image_pixels(&encode(&damaged)), None);
        let gif = [b"GIF89a".as_slice(), &[0x80, 2, 0xE0, 1, 0, 0, 0]].concat();
        let lossy = [
            b"RIFF\0\0\0\0WEBPVP8 ".as_slice(),
            &[0; 10],
            &[0x80, 2, 0xE0, 1],
            &[0; 8],
        ]
        .concat();
        let packed = ((479u32 << 14) + 639).to_le_bytes();
        let lossless = [b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f".as_slice(), &packed, &[0; 8]].concat();
        let extended = [b"RIFF\0\0\0\0WEBPVP8X".as_slice(), &[0; 8], &[0x7F, 2, 0, 0xDF, 1, 0]].concat();
        let exif = [&[0xFF, 0xE1, 0x40, 0x02][..], &[7; 0x4000]].concat();
        let frame = [0xFF, 0xC2, 0, 17, 8, 1, 0xE0, 2, 0x80, 3];
        let jpeg = [b"\xFF\xD8".as_slice(), &exif, &[0xFF, 0xC4, 0, 3, 0], &frame].concat();
        for (name, bytes) in [
            ("png", png),
            ("gif", gif),
            ("lossy", lossy),
            ("lossless", lossless),
            ("x", extended),
            ("jpeg", jpeg),
        ] {
            let expected = Some(Pixels {
                width: 640,
                height: 480,
            });
            let letters = encode(&bytes);
            assert_eq!(decode(&letters), bytes, "{name}");
            assert_eq!(image_pixels(&letters), expected, "{name}");
            for cut in 0..letters.len().min(80) {
                let _ = image_pixels(&letters[..cut]);
            }
        }
        assert_eq!(image_pixels(b"iVBORw0KGgo="), None);
        assert_eq!(image_pixels(b""), None);
        assert_eq!(image_pixels(b"\xFF\xD8\xFF"), None);
    }

    #[test]
    fn pages_are_those_that_stand_open() {
        let pdf =
            b"%PDF-1.4\n1 0 obj<</Type /Pages/Count 2>>\n2 0 obj<</Type/Page/Parent 1 0 R>>\n3 0 obj<</Type\n/Page>>";
        assert_eq!(pdf_pages(&encode(pdf)), Some(2));
        assert_eq!(pdf_pages(&encode(b"%PDF-1.7\n1 0 obj<</Type/ObjStm>>")), None);
        assert_eq!(pdf_pages(&encode(b"PK\x03\x04 /Type/Page")), None);
        assert_eq!(pdf_pages(b""), None);
    }

    #[test]
    fn data_urls_are_told_from_links() {
        assert_eq!(data_url_payload(b"data:image/png;base64,AAAA"), Some(&b"AAAA"[..]));
        assert_eq!(data_url_payload(b"data:text/plain,AAAA"), None);
        assert_eq!(data_url_payload(b"https://example.org/a,b.png"), None);
    }
}
