module;
#include <cstdio>
export module my.module:part;
import std;
export import other;

export int exported(int a) { return a; }
export template <class T> class Box { T get(); };
export namespace api {
void in_namespace() {}
}
export {
struct Grouped { int x; };
}
