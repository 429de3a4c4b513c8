#include "a.h"
// one
// two
template <class T>
int f(
    T a)
{
    return a;
}

class A {
  // m
  int m() { return 1; }
  int p();
};
