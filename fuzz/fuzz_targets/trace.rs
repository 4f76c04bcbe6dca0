//! Trace files: see `tightloop_fuzz::trace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tightloop_fuzz::trace(bytes));
