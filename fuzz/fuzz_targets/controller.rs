//! Operations on any controller: see `tightloop_fuzz::controller`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tightloop_fuzz::controller(bytes));
