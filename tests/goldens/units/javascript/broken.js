function before() { return 1 + }
var x = {
  a: function () {
  b: 1,

class Half {
  ok() {}
  broken( {
}

<<<<<<< HEAD
function ours() {}
=======
function theirs() {}
>>>>>>> branch

exports.after = function () {};
