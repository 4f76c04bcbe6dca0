//! The command `tightloop`.

fn main() {}
