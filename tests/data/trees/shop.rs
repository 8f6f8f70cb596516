use std::collections::{HashMap, hash_map::Entry as E, *};
use crate::shape;
pub use self::inner::Thing;
extern crate serde as s;

/// fn in_comment() {}
#[derive(Debug)]
pub struct Basket<T: Clone> { items: Vec<T> }
struct Unit;
pub enum Color { Red, Green(u8) }
union Any { i: i32, f: f32 }

pub trait Shape: Debug {
    fn area(&self) -> f64;
    fn name(&self) -> String { String::from("fn in_string() {}") }
}

impl<T: Clone> Basket<T> {
    pub fn new() -> Self { Self { items: Vec::new() } }
    pub async fn total(&self, tax: f64, (a, b): (i32, i32)) -> f64 {
        for x in &self.items {
            if check(x) { println!("{}", x); }
        }
        self.items.iter().map(|x| x.clone()).count() as f64
    }
}

impl Shape for Unit { fn area(&self) -> f64 { match 1 { 1 => 0.0, _ => shape::area::<f64>() } } }

mod inner {
    pub fn helper(mut n: u32) -> u32 { fn nested() {} nested(); n += 1; n }
    macro_rules! square { ($x:expr) => { $x * $x }; }
}
