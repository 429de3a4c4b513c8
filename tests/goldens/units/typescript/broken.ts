export function before(): number { return 1 + }

interface Half {
  a: string
  m(

class Unclosed {
  method() {
    if (x) {
  }
  other() {}

<<<<<<< HEAD
function ours() {}
=======
function theirs() {}
>>>>>>> branch

export const after = () => {};
