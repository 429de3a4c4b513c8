//! Lifetimes, generics, patterns, macros, attributes.
use std::{collections::HashMap as Map, fmt::{self, Display as _}, io::*};
pub use crate::base::{Worker, prelude};
extern crate alloc as heap;
mod inner;

#[derive(Debug, Clone)]
#[cfg_attr(test, allow(dead_code))]
pub struct Pool<'a, T: Task<Out = U> + 'a, U, const N: usize = 4> where T: fmt::Debug { name: &'a str, pub slots: [Option<T>; N], größe: U }
struct Id(pub u64, Worker);
enum State<T> { Idle, Busy(T), Failed { code: i32, why: Error } , Last = 3 }
union Bits { all: u32 }
type Shared<T> = heap::sync::Arc<Pool<'static, T, u8>>;
static COUNT: AtomicUsize = AtomicUsize::new(0); const LIMIT: usize = 1 << 3;

pub trait Task: Send + fmt::Display + Into<Id> { type Out: Default; const KIND: u8; fn run(&mut self, with: Self::Out) -> Result<Self::Out>; }

impl<'a, T, const N: usize> fmt::Display for Pool<'a, T, u8, N> where for<'b> T: Task + Fn(&'b T) -> u8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "é {} {}", self.name.len(), helper(&self.slots, Id { 0: 1 })) }
}
impl From<Id> for u64 { fn from(Id(raw, _): Id) -> Self { raw } }
impl<T> Pool<'_, T, u8> {
    pub async fn spawn(mut self, (left, right): (u8, u8), &size: &usize, Opts { depth, name: alias, ref rest, .. }: Opts) -> Self {
        let mut total = 0; let [head, .., tail @ ..] = rest else { return Self { name: alias, größe: left, ..self } };
        total += 1; self.größe = total; (left, self.name) = split::<u8>(right, depth)?; COUNT.fetch_add(size, Ordering::SeqCst);
        'outer: for (i, Some(x)) in self.slots.iter_mut().enumerate() { while let Ok(n) | Err(n) = x.poll() { if n == LIMIT { break 'outer; } } }
        match state { State::Idle => {} State::Busy(job) if job.ready() => drop(job), State::Failed { code: -1..=LIMIT, why } => log!("ü", why), None => (), whole @ MAX => whole.go(), other => { other } }
        let add = |a, (b, c): (u8, u8)| -> u8 { a + b + c + head + tail.len() }; add(1, (2, 3)); <T as Task>::run(self); Vec::<T>::with_capacity(N); r#type(r#match);
        vec![add(1); i]; inner::emit!{ State::Idle => "é" }; let boxed: Box<dyn Fn(T) -> State<T> + 'static> = Box::new(add); boxed as *const Shared<T>
    }
}
macro_rules! log { ($text:expr, $($rest:tt)*) => { println!("{}", format($text)) }; }
extern "C" { fn c_call(code: c_int, ...) -> c_int; }
