// Templates, namespaces, constructors, operators, lambdas, concepts.
#include <vector>
#define EXPORT_API(x) x
namespace fs = std::filesystem;
using namespace std::literals; using std::vector;
namespace geo::flat { inline namespace v1 { class Point; } }

template <typename T> concept Sized = requires(T t) { t.size(); typename T::value_type; { t.area() } -> Same<int>; };
template <class T, int N = 3, template <class> class Box = vector, typename... Rest>
class Shape final : public Base<T>, private geo::Drawable, virtual geo::flat::Named<T, N> {
public:
  explicit Shape(const T& size, Box<T>&& parts = {}) : Base<T>(size), geo::Drawable(parts), größe_{size}, count(N) { this->ready = true; }
  ~Shape() override = default;
  Shape& operator=(const Shape& other) = delete; operator bool() const { return größe_ > 0; }
  template <class U> [[nodiscard]] auto as(U&& u) const noexcept -> decltype(u.get()) { return static_cast<T*>(u)->get(); }
  static inline int made = 0, *last, table[N]; friend class Factory; using Base<T>::Base; enum class Kind : uint8_t { Round = 1, Flat };
private:
  T größe_; int count : 3; int (*hook)(int code); struct Part { int id; } part; mutable std::map<std::string, fs::path> paths;
};
using Names = std::map<std::string, Shape<int>>; typedef struct tag { int m; } Tag, *TagRef;

template <> int Shape<int>::made = 1;
geo::Size geo::flat::Point::measure(const std::vector<geo::Size>& all, size_t limit, int (*cb)(int)) const {
  auto [wide, high] = all.front(); const auto* é = "é"; Shape<int> a(1), b{2}, *c = new geo::flat::Shape<int>(wide), d = Shape<int>{3};
  a = b; c->part.id = high; ++limit; a.table[0] += 1; geo::total = Tag{ .m = 1 }.m; *c = a; delete c;
  for (const auto& each : all) { each.template as<int>(limit); } for (int i = 0; i < limit; i++) if (auto it = paths.find(é); it != paths.end()) throw geo::Error("ü", i);
  auto add = [&a, this, sum = b](auto x) -> int { return x + sum; }; add(1); fn<int>(2); geo::make<Shape<int>>(b); c->~Shape(); (*cb)(1); EXPORT_API(limit);
  try { goto done; } catch (const std::exception& error) { cb(error.what()); } done: return Names::mapped_type::made + sizeof(Tag) + Shape<int>::Kind::Round;
}
geo::flat::Point::~Point() {} geo::flat::Point::Point(int x) : x(x) {} bool operator==(const Tag& l, const Tag& r) { return l.m == r.m; }
long double operator""_km(long double v); extern "C" { void c_api(struct tag* t); } template class Shape<long>;
