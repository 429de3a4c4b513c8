fn before() -> u8 { 1 + }

struct Half {
    a: u8,
    b

impl Half {
    fn ok(&self) {}
    fn broken(&self {
    }
}

<<<<<<< HEAD
fn ours() {}
=======
fn theirs() {}
>>>>>>> branch

fn after() {}
