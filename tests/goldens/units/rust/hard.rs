// Licence of the file.

//! Documentation of the file,
//! not of what is below.
#![allow(dead_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
use std::fmt;
use std::{
    collections::{hash_map::{self, Entry as E}, BTreeMap, *},
    io::{self, prelude::*, Read as _},
};
pub(crate) use crate::a::b as renamed;
pub use self::inner::Thing;
use super::sibling::*;
use {alone::one, alone::two};
use ::absolute::path;
use r#type::raw;
extern crate alloc;
#[macro_use]
extern crate log as logging;

mod declared;
#[cfg(test)]
#[path = "other.rs"]
pub(super) mod elsewhere;

pub const LIMIT: usize = 10;
static GLOBAL: fn(i32) -> i32 = |x| x;
const _: () = { fn in_const() {} };
thread_local! {
    static KEY: u8 = 0;
}

/// Documented.
///
/// More.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Job<'a, T: ?Sized + 'a, const N: usize = 1>
where
    T: fmt::Debug,
{
    /// A field.
    pub name: &'a str,
    run: Box<dyn Fn(u8) -> Result<(), Box<T>>>,
}

pub struct Tuple(pub u8, (u8, u16));
struct Unit;
#[derive(Default)] pub struct Inline { a: u8 }

/** Block documented. */
pub enum State<T> {
    // variant
    Idle,
    Running { since: u64, job: T },
    #[allow(unused)]
    Done(T) = 3,
}

#[repr(C)]

// apart from its attribute
pub union Bits { int: u32, float: f32 }

pub type Alias<T> = Result<T, Box<dyn std::error::Error>>;
type Callback = unsafe extern "C" fn(*mut u8) -> i32;

/// Inherent.
impl<'a, T, const N: usize> Job<'a, T, N> where T: fmt::Debug {
    const DEFAULT: u8 = 1;
    /// Makes.
    pub fn new(name: &'a str) -> Self {
        fn nested<U>(u: U) -> U { u }
        let closure = |x: u8| { fn in_closure() {} x };
        struct Local { x: u8 }
        impl Local { fn local_method(&self) {} }
        impl fmt::Display for Local { fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { Ok(()) } }
        todo!()
    }
    #[inline(always)]
    pub(crate) async unsafe fn dangerous(self: Box<Self>) {}
    #[must_use] pub const fn constant(&self) -> usize { N }
    pub extern "C" fn exported() {}
    pub fn r#match(&mut self) {}
    fn returns_impl<'b>(&'b self) -> impl Iterator<Item = &'b u8> + 'b + use<'b> { [].iter() }
}

impl<T: fmt::Debug> fmt::Display for Job<'_, T> {
    fn fmt(
        &self,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

impl<T> From<Vec<T>> for State<T> { fn from(v: Vec<T>) -> Self { State::Idle } }
impl<T> From<[T; 2]> for State<T> { fn from(v: [T; 2]) -> Self { State::Idle } }
impl Iterator for crate::module::Counter {
    type Item = u8;
    fn next(&mut self) -> Option<Self::Item> { None }
}
impl<'a, T> IntoIterator for &'a mut Wrapper<T> { type Item = &'a T; fn into_iter(self) {} }
impl<T> Extension for [T] { fn extend_it(&self) {} }
impl Extension for (u8, u16) { fn extend_it(&self) {} }
impl Extension for dyn Runner + Send { fn extend_it(&self) {} }
impl<F> Runner for F where F: Fn() -> u8 { fn required(&self) {} }
impl Extension for Box<dyn Fn(u8) -> u8> { fn boxed(&self) {} }
impl Extension for fn(u8) -> u8 { fn pointer(&self) {} }
impl !Send for Unit {}
unsafe impl<T> Sync for Job<'_, T> {}
impl const Default for Unit { fn default() -> Self { Unit } }
#[async_trait]
impl Service for Unit {}

/// A trait.
pub trait Runner: Send + Sync
where
    Self: Sized,
{
    type Output: Default;
    type Generic<'a, T> where Self: 'a;
    const ID: u32;
    /// Must be had.
    fn required(&self);
    #[doc(hidden)]
    fn provided(&self) -> u8 { fn helper() -> u8 { 1 } helper() }
    async fn later(&mut self) -> Self::Output;
}
unsafe trait Marker {}
pub auto trait Auto {}

mod nested {
    //! Inner documentation.
    fn below_inner_doc() {}

    use super::*;
    pub mod deeper {
        pub(in crate::nested) struct Deep;
        impl Deep { pub fn method(&self) {} }
        pub fn function() {}
        mod leaf;
    }
    /*! inner block */
    fn after_inner_block() {}
}

extern "C" {
    // An external one.
    pub fn external(a: i32, ...) -> i32;
    static EXTERNAL: i32;
    #[link_name = "other"]
    fn linked();
    type Opaque;
}
unsafe extern "system" { safe fn safe_external(); }

/// A macro.
#[macro_export]
macro_rules! make {
    ($name:ident) => { fn $name() {} };
    () => {};
}
make!(made_by_macro);
cfg_if! { if #[cfg(unix)] { fn in_macro() {} } }

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), ()> {
    let f = async move |x: u8| x;
    match f(1).await {
        _ if { fn in_guard() {} true } => {}
        _ => (),
    }
    Ok(())
}

pub unsafe extern "C" fn ffi(x: *const u8) {}
const fn generic<const N: usize, T: Into<[u8; { N + 1 }]>>(_: T) {}
fn where_clause<T>(t: T)
where
    T: for<'a> Fn(&'a u8) -> u8,
{
}
fn r#fn() {}
fn ünïcode() {}
fn lifetimes<'a: 'b, 'b>(s: &'a str) -> &'b str { let _c = 'x'; let _s = r#"fn no() {}"#; s }

// Comment
/// and doc
#[test]
// between
#[ignore = "slow"]
/* block */
fn decorated() {}

/* apart */

fn apart() {}
fn one() {} fn same_line() {}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture() -> Job<'static, u8> { todo!() }

    #[test]
    fn it_works() {
        assert_eq!(1, 1);
    }

    impl Runner for Fake { fn required(&self) {} }
}
