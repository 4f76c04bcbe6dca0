//! Scenario files: see `tightloop_fuzz::scenario`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tightloop_fuzz::scenario(bytes));
