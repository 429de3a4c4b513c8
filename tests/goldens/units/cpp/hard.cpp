// Licence of the file.

#include <vector>
#include "local.hpp"
import std;
import <format>;
import my.module;

#define EXPORT __attribute__((visibility("default")))
#define CALL(x) \
  do { x(); } while (false)

namespace outer::inner {
inline namespace v1 {

// Runs.
template <typename T, class... Rest>
  requires Runnable<T>
class Job final : public Base<T>, private virtual Other {
 public:
  using value_type = T;
  typedef T* pointer;
  friend class Helper;
  template <class U> friend class Job;
  friend void declared_friend(Job&);
  friend bool operator==(const Job& a, const Job& b) { return true; }

  Job() = default;
  explicit Job(int a) : a_(a), b_{1} {}
  Job(const Job&) = delete;
  Job(Job&&) noexcept;
  virtual ~Job() {}

  // Assigns.
  Job& operator=(const Job& other);
  auto operator<=>(const Job&) const = default;
  T& operator[](size_t i) { return a_[i]; }
  void operator()(int a, int b) const {}
  T* operator->() const { return nullptr; }
  Job operator++(int) { return *this; }
  explicit operator bool() const noexcept { return true; }
  operator const char*() const;
  void* operator new(size_t size);
  void operator delete[](void* p) {}

  virtual void pure() const = 0;
  void overridden() override final {}
  [[nodiscard]] constexpr int attributed() const& noexcept { return 1; }
  static int static_method(int a = f(1));
  auto trailing() const -> decltype(auto) { return a_; }
  template <class U, int N = 3>
  void templated(U&& u) { auto lambda = [&](auto x) { return x; }; lambda(u); }
  T* pointer_returned();
  const T& reference_returned() const { return a_; }
  std::vector<T> qualified_type(std::map<int, T> m) { return {}; }
  void (*function_pointer)(int);
  int bits : 3;
  static constexpr int constant = 1;

  struct Nested {
    int x;
    Nested(int x) : x(x) {}
    struct Deeper { void deep(); };
  };
  enum class State : unsigned char { Idle, Running };
  enum { kAnonymous = 1 };
  union { int u; float v; };

#if defined(DEBUG)
  void debug_only() {}
#else
  void release_only() {}
#endif

 protected:
  T a_;
  Q_OBJECT_LIKE(Job)
};

/// Out of its class.
template <typename T, class... Rest>
Job<T, Rest...>::Job(Job&& other) noexcept {}

template <typename T, class... Rest>
auto Job<T, Rest...>::operator=(const Job& other) -> Job& {
  return *this;
}

Widget::Widget(int a)
    : Base(a),
      member_(a) {
  struct Local { void in_local() {} };
}
Widget::~Widget() = default;
Widget::operator bool() const { return true; }
void outer::Widget::method() && {}
int& Widget::reference() { return x; }
const char* Widget::Nested::name() const { return ""; }
void ::global::absolute() {}
int Widget::static_member = 3;

bool operator<(const Widget& a, const Widget& b) { return true; }
std::ostream& operator<<(std::ostream& os, const Widget& w) { return os; }
constexpr auto operator""_km(long double x) -> double { return x; }

}  // namespace v1
}  // namespace outer::inner

namespace {
int in_anonymous(int a) { return a; }
class Hidden { void m(); };
}

namespace alias = outer::inner;

template <>
struct formatter<Widget, char> : formatter<int> {
  template <typename C> auto format(const Widget& w, C& c) const -> int { return 1; }
  constexpr auto parse(int& c) { return 1; }
};
template <typename T> struct formatter<std::vector<T>>;
template <typename T> class Pair<T, T*> { void m() {} };
template <class T> T Pair<T, T*>::convert() { return {}; }
template <> void specialised<int>(int a) {}
template <typename T> void specialised(T a);
template class Pair<int, int*>;
extern template class Pair<char, char*>;
template <class T> Pair(T) -> Pair<T, T>;

// A concept.
template <typename T>
concept Runnable = requires(T t) {
  { t.run() } -> std::same_as<void>;
};
void constrained(Runnable auto& r) requires true {}
template <class... Ts> struct overloaded : Ts... { using Ts::operator()...; };
template <template <class> class C> void template_template(C<int> c) {}

template <class T> using Vector = std::vector<T>;
using Callback = void (*)(int);
typedef std::map<int, std::string> Map;
typedef struct { int a; } Plain;
typedef int (*Compare)(const void*, const void*);

class EXPORT Exported : public Base {
 public:
  Exported();
  void method() {}
};
struct EXPORT ExportedStruct {
  int x;
};
class [[deprecated("x")]] Attributed { int x; };
class alignas(16) Aligned { int x; };
struct Outer::OutOfLine { int x; };
class Forward;

extern "C" int c_function(int a) { return a; }
extern "C" {
int c_prototype(void);
void c_defined(void) {}
}

TEST(Suite, works) { auto helper = [] { return 1; }; }
TEST_F(Fixture, does_this) {
  EXPECT_EQ(1, 1);
}
TYPED_TEST_P(Typed, Name) {}
INSTANTIATE_TEST_SUITE_P(Prefix, Suite, ::testing::Values(1));
TEST_CASE("a case", "[tag]") {
  SECTION("a section") { int y; }
}
BENCHMARK(speed);

static auto lambda = [](int a) { return a; };
Widget vexing(Other());
int global = compute(1);
void try_block() try { } catch (const std::exception& e) { }
int main(int argc, char* argv[]) {
  std::vector<int> vector(argc);
  Widget local(other);
  for (auto& x : vector) { if (x) { } else if (!x) { } }
  class LocalClass { public: int m() { return 1; } };
  extern int local_prototype(int);
  return 0;
}
consteval int immediate() { return 1; }
static inline const std::string& inlined(const std::string& s) { return s; }
unsigned long long* many(void) { return nullptr; }
task<int> coroutine() { co_await x; co_return 1; }
void reference(int (&array)[3], void (*callback)(int)) {}
int (*returns_function(int a))(char) { return nullptr; }

/* apart */

void apart() {}
class EXPORT
Annotated final {
  int a GUARDED_BY(mutex_);
  void locked() EXCLUSIVE_LOCKS_REQUIRED(mutex_) { a = 1; }
  bool ok() const
      LOCKS_EXCLUDED(mutex_);
};
EXPORT template <typename T> class Loud {
  void m() {}
};
// 日本
void ünïcode() {}
