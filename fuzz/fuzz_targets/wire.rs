//! Bytes from the network: see `tightloop_fuzz::wire`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tightloop_fuzz::wire(bytes));
