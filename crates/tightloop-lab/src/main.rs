//! The command `tightloop`.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "no command asks for a report yet")
)]
mod report;

fn main() {}
