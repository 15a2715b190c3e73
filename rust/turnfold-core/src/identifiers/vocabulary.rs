//! Closed word lists that tell an identifier from prose.

/// File name endings, lower case, that make a bare `name.ending` a path.
pub(super) static FILE_ENDINGS: &[Word] = &words([
    "adoc",
    "bash",
    "bat",
    "bin",
    "bz2",
    "c",
    "cc",
    "cfg",
    "cjs",
    "class",
    "cmake",
    "conf",
    "cpp",
    "cs",
    "css",
    "csv",
    "cxx",
    "dart",
    "db",
    "diff",
    "dll",
    "doc",
    "docx",
    "ejs",
    "env",
    "erl",
    "ex",
    "exe",
    "exs",
    "gif",
    "go",
    "gradle",
    "graphql",
    "gz",
    "h",
    "hcl",
    "hpp",
    "hs",
    "htm",
    "html",
    "ico",
    "ini",
    "ipynb",
    "jar",
    "java",
    "jl",
    "jpeg",
    "jpg",
    "js",
    "json",
    "json5",
    "jsonl",
    "jsx",
    "kt",
    "kts",
    "less",
    "lock",
    "log",
    "lua",
    "m4",
    "map",
    "md",
    "mdx",
    "mjs",
    "ml",
    "mli",
    "mp3",
    "mp4",
    "mts",
    "nix",
    "npy",
    "npz",
    "o",
    "parquet",
    "patch",
    "pb",
    "pdf",
    "php",
    "pickle",
    "pkl",
    "pl",
    "plist",
    "png",
    "ppt",
    "pptx",
    "properties",
    "proto",
    "ps1",
    "pxd",
    "py",
    "pyc",
    "pyi",
    "pyx",
    "rb",
    "rs",
    "rst",
    "sass",
    "scala",
    "scss",
    "sh",
    "so",
    "sql",
    "sqlite",
    "sqlite3",
    "svelte",
    "svg",
    "swift",
    "tar",
    "tex",
    "tf",
    "tgz",
    "toml",
    "ts",
    "tsv",
    "tsx",
    "ttf",
    "txt",
    "vim",
    "vue",
    "wasm",
    "wav",
    "webp",
    "whl",
    "xls",
    "xlsx",
    "xml",
    "xz",
    "yaml",
    "yml",
    "zig",
    "zip",
    "zst",
]);

/// File names without an ending that are known as such.
pub(super) static FILE_NAMES: &[Word] = &words([
    "Brewfile",
    "CMakeLists",
    "Containerfile",
    "Dockerfile",
    "Gemfile",
    "Jenkinsfile",
    "Justfile",
    "Makefile",
    "Pipfile",
    "Procfile",
    "Rakefile",
    "Vagrantfile",
]);

/// Names after a leading dot, beside `*rc` and `*ignore`.
pub(super) static DOT_FILES: &[Word] = &words([
    "aws",
    "bash_profile",
    "cache",
    "cargo",
    "config",
    "cursorrules",
    "editorconfig",
    "env",
    "git",
    "gitattributes",
    "github",
    "gitlab",
    "gitmodules",
    "kube",
    "nvmrc",
    "profile",
    "ssh",
    "venv",
    "vscode",
]);

/// First parts that make `a/b` of plain words a path.
pub(super) static ROOTS: &[Word] = &words([
    "app",
    "apps",
    "benches",
    "bin",
    "build",
    "cmd",
    "components",
    "config",
    "crates",
    "data",
    "dist",
    "doc",
    "docs",
    "etc",
    "examples",
    "home",
    "include",
    "internal",
    "lib",
    "libs",
    "modules",
    "node_modules",
    "opt",
    "packages",
    "pkg",
    "public",
    "python",
    "rust",
    "scripts",
    "server",
    "source",
    "spec",
    "src",
    "static",
    "target",
    "templates",
    "test",
    "tests",
    "tmp",
    "tools",
    "usr",
    "utils",
    "var",
    "vendor",
    "web",
]);

/// First parts of a media type (IANA's registry), which is no path.
pub(super) static MEDIA_TYPES: &[Word] =
    &words(["application", "audio", "font", "image", "multipart", "text", "video"]);

/// Top-level domains that make `name.tld` a host; endings that are also file endings are left out.
pub(super) static DOMAINS: &[Word] = &words([
    "ai",
    "app",
    "at",
    "be",
    "ch",
    "cloud",
    "cn",
    "co",
    "com",
    "de",
    "dev",
    "edu",
    "es",
    "eu",
    "fr",
    "gov",
    "info",
    "internal",
    "io",
    "it",
    "jp",
    "local",
    "localhost",
    "net",
    "nl",
    "org",
    "pt",
    "ru",
    "se",
    "uk",
    "us",
    "xyz",
]);

/// POSIX error names that logs print bare.
pub(super) static ERRNO: &[Word] = &words([
    "EACCES",
    "EADDRINUSE",
    "EAGAIN",
    "EBADF",
    "EBUSY",
    "ECONNABORTED",
    "ECONNREFUSED",
    "ECONNRESET",
    "EEXIST",
    "EHOSTUNREACH",
    "EINTR",
    "EINVAL",
    "EIO",
    "EISDIR",
    "EMFILE",
    "ENETUNREACH",
    "ENOENT",
    "ENOMEM",
    "ENOSPC",
    "ENOTDIR",
    "ENOTEMPTY",
    "ENOTFOUND",
    "EPERM",
    "EPIPE",
    "ETIMEDOUT",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGKILL",
    "SIGPIPE",
    "SIGSEGV",
    "SIGTERM",
]);

/// Names of products and formats that are spelled like code or like ids.
pub(super) static ORDINARY: &[Word] = &words([
    "AirBnB",
    "Base64",
    "BitBucket",
    "ChatGPT",
    "DeepMind",
    "DevOps",
    "DevTools",
    "FaceBook",
    "FastAPI",
    "GitHub",
    "GitLab",
    "GraphQL",
    "JavaScript",
    "LangChain",
    "LinkedIn",
    "MacBook",
    "MasterCard",
    "MongoDB",
    "MySQL",
    "NumPy",
    "OAuth2",
    "OpenAI",
    "PayPal",
    "PostgreSQL",
    "PowerPoint",
    "PowerShell",
    "PyCharm",
    "PyPI",
    "PyTorch",
    "SQLite",
    "SciPy",
    "TensorFlow",
    "TypeScript",
    "WhatsApp",
    "WordPress",
    "YouTube",
]);

/// Upper-case words before `-<number>` that name a standard, not an issue.
pub(super) static STANDARDS: &[Word] = &words([
    "AES", "COVID", "CP", "GMT", "GPT", "HTTP", "IEC", "IEEE", "ISO", "MD", "PEP", "RFC", "RSA", "SHA", "TCP", "TLS",
    "USB", "UTC", "UTF", "WCAG",
]);

/// Upper-case words before digits that are no id: `SHA256`, `UTF16`, `INT32`.
pub(super) static SIZED: &[Word] = &words([
    "BASE", "CP", "FLOAT", "FP", "GPT", "HTTP", "INT", "IPV", "ISO", "LATIN", "MD", "SHA", "SHAKE", "UINT", "UTF",
]);

/// Endings of names that make a name an error's.
pub(super) const ERROR_ENDINGS: &[&str] = &[
    "Error",
    "Exception",
    "Fault",
    "Interrupt",
    "Panic",
    "Violation",
    "Warning",
];

/// A word of a list as one number, in the order of its letters: a search among numbers is a few steps without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word(u128);

impl Word {
    /// Most bytes of it: the byte beside them is for their number.
    const MOST: usize = size_of::<u128>() - 1;

    /// None for a word that is longer than those of any list.
    fn of(word: &str) -> Option<Self> {
        (word.len() <= Self::MOST).then(|| Self::packed(word))
    }

    const fn packed(word: &str) -> Self {
        let mut letters = 0;
        let mut rest = word.as_bytes();
        while let [first, behind @ ..] = rest {
            letters = letters << u8::BITS | *first as u128;
            rest = behind;
        }
        let empty = (Self::MOST - word.len()) as u32 * u8::BITS;
        Self(letters << empty << u8::BITS | word.len() as u128)
    }
}

const fn words<const N: usize>(list: [&str; N]) -> [Word; N] {
    let mut words = [Word(0); N];
    let mut at = 0;
    while at < N {
        assert!(list[at].len() <= Word::MOST, "a word is too long");
        words[at] = Word::packed(list[at]);
        at += 1;
    }
    words
}

/// Whether a list, which is sorted, holds `word` as it is spelled.
pub(super) fn is_in(list: &[Word], word: &str) -> bool {
    Word::of(word).is_some_and(|word| list.binary_search(&word).is_ok())
}

/// Whether a lower-case list holds `word`, whatever its case.
pub(super) fn is_in_any_case(list: &[Word], word: &str) -> bool {
    word.len() <= Word::MOST && is_in(list, &word.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_are_as_equal_and_in_order_as_their_letters(one in "[a-c\0é]{0,17}", other in "[a-c\0é]{0,17}") {
            let words = (Word::of(&one), Word::of(&other));
            prop_assert_eq!(words.0.is_none(), one.len() > Word::MOST);
            if let (Some(a), Some(b)) = words {
                prop_assert_eq!(a.cmp(&b), one.cmp(&other));
            }
        }
    }

    #[test]
    fn lists_are_sorted() {
        for list in [
            FILE_ENDINGS,
            FILE_NAMES,
            DOT_FILES,
            ROOTS,
            MEDIA_TYPES,
            DOMAINS,
            ERRNO,
            ORDINARY,
            STANDARDS,
            SIZED,
        ] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }
}
