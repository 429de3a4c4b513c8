import a.b.C
class Broken {
  void before() { }

  void missing( {
    int x = ;
  }

  int after() {
    return 1;

class Next {
  void inNext() {}
}
