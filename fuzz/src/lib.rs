//! What is fuzzed, as plain functions of bytes. Each panics where a promise is
//! broken and returns otherwise.
//!
//! The fuzz targets call these; so does `crates/tightloop/tests/corpus.rs`,
//! with every file of `fuzz/corpus/`.

mod path;

pub use path::controller;
