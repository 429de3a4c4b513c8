int before() { return 1 + }

class Half {
  int a
  void ok() {}
  void broken( {
};

<<<<<<< HEAD
int ours() { return 1; }
=======
int theirs() { return 1; }
>>>>>>> branch

namespace open {
int after() { return 1; }
