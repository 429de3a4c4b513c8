//! doc
use a::{
    b,
    c as d,
};
/// one
/// two
#[inline]
fn f(
    a: u8,
) -> u8 {
    a
}

// apart

impl T {
    // m
    fn m() {}
}
