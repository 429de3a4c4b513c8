import x from "x";

// one
// two
export function f(
  a: string,
) {
  return a;
}

@D()
class C {
  // m
  m() {}
}
