#include <vector>
#include "shop.hpp"
using namespace std;

namespace shop::inner {
template <typename T> class Basket : public Base<T>, private detail::Other {
public:
    explicit Basket(int n = 1) : count_(n) {}
    ~Basket();
    virtual T total(const std::vector<T> &items) const;
    int operator+(const Basket &other) const { return count_ + other.count_; }
    struct Inner { void touch() { helper::poke(this); } };

private:
    int count_;
};

template <typename T> T Basket<T>::total(const std::vector<T> &items) const
{
    T sum{};
    for (auto &item : items)
        sum += std::invoke([&](auto x) { return x.value(); }, item);
    return sum;
}

enum class Color : char { Red, Green };
} // namespace shop::inner

auto arrow(int a) -> decltype(a) { return a ? arrow(a - 1) : std::max<int>(a, 0); }
int main() { auto b = new shop::inner::Basket<int>(3); b->total({}); try { throw 1; } catch (int) {} }
