// one
var f = function () {
  return 1;
};


class A {
  // m
  m() {}
}
exports.x = () => 1;
