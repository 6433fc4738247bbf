#include "scale_programs.h"

#include <fmt/format.h>

#include <iterator>
#include <random>
#include <vector>

namespace palimpsest::bench {
namespace {

constexpr char kSchema[] = "# schema: my::foo(Tensor(a!) x) -> ()\n";
constexpr char kRow[] = "\"f32[16][1]\"";

// A program text that is being written.
class Text {
 public:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "    ";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += "\n";
  }
  // Calls aten::`op` and returns the name of the result.
  std::string Call(const std::string& type, const std::string& op, const std::string& args) {
    std::string name = fmt::format("v{}", next_++);
    Line("{}: {} = torch.ops.aten.{}({})", name, type, op, args);
    return name;
  }
  void Foo(const std::string& view) { Line("f{} = torch.ops.my.foo.default({})", next_++, view); }
  int calls() const { return next_; }
  std::string Take(const std::string& header) { return kSchema + header + text_; }

 private:
  std::string text_;
  int next_ = 0;
};

std::string Join(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string RowsReadAfterUpdate(int rows) {
  Text text;
  std::vector<std::string> sums;
  for (int i = 0; i < rows; ++i) {
    text.Foo(text.Call(kRow, "select.int", fmt::format("x, 0, {}", i)));
    std::string row = text.Call(kRow, "select.int", fmt::format("x, 0, {}", i));
    sums.push_back(text.Call("\"f32[][]\"", "sum.default", row));
  }
  std::string all =
      text.Call(fmt::format("\"f32[{}][1]\"", rows), "stack.default", "[" + Join(sums) + "]");
  text.Line("return ({},)", all);
  return text.Take(fmt::format("def forward(self, x: \"f32[{}, 16][16, 1]\"):\n", rows));
}

std::string RowUpdates(int calls) {
  Text text;
  for (int i = 0; i < calls; ++i) {
    text.Foo(text.Call(kRow, "select.int", fmt::format("x, 0, {}", i)));
  }
  text.Line("return ()");
  return text.Take(fmt::format("def forward(self, x: \"f32[{}, 16][16, 1]\"):\n", calls));
}

std::string Decoder(int nodes) {
  constexpr char kHidden[] = "\"f32[4, 16][16, 1]\"";
  Text text;
  std::string header = fmt::format("def forward(self, h: {}, w: \"f32[16, 16][16, 1]\"", kHidden);
  std::string h = "h";
  for (int layer = 0; text.calls() < nodes; ++layer) {
    for (const char* cache : {"keys", "vals"}) {
      header += fmt::format(", {}{}: \"f32[32, 16][16, 1]\"", cache, layer);
      std::string projected = text.Call(kHidden, "mm.default", h + ", w");
      std::string slot =
          text.Call(kHidden, "slice.Tensor", fmt::format("{}{}, 0, {}, {}", cache, layer, 8, 12));
      text.Call(kHidden, "copy_.default", slot + ", " + projected);
      text.Foo(slot);
    }
    std::string keys =
        text.Call("\"f32[16, 32][1, 16]\"", "t.default", fmt::format("keys{}", layer));
    std::string scores = text.Call("\"f32[4, 32][32, 1]\"", "mm.default", h + ", " + keys);
    std::string weights =
        text.Call("\"f32[4, 32][32, 1]\"", "_softmax.default", scores + ", -1, False");
    std::string mixed = text.Call(kHidden, "mm.default", fmt::format("{}, vals{}", weights, layer));
    std::string gate = text.Call(kHidden, "silu.default", mixed);
    h = text.Call(kHidden, "add.Tensor", h + ", " + gate);
  }
  text.Line("return ({},)", h);
  return text.Take(header + "):\n");
}

std::string RandomDag(int nodes, unsigned seed) {
  constexpr char kType[] = "\"f32[8, 16][16, 1]\"";
  std::mt19937 random(seed);
  auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Text text;
  std::string header = "def forward(self";
  std::vector<std::string> pool;
  for (int i = 0; i < 8; ++i) {
    header += fmt::format(", x{}: {}", i, kType);
    pool.push_back(fmt::format("x{}", i));
  }
  while (text.calls() < nodes) {
    const std::string a = pool[pick(pool.size())], b = pool[pick(pool.size())];
    std::string made;
    switch (pick(6)) {
      case 0:
        made = text.Call(kType, "add.Tensor", a + ", " + b);
        break;
      case 1:
        made = text.Call(kType, "clone.default", a);
        break;
      case 2:
        made = text.Call(kType, "relu.default", a);
        break;
      case 3:
        text.Foo(text.Call(kRow, "select.int", fmt::format("{}, 0, {}", a, pick(8))));
        break;
      case 4: {
        std::string row = text.Call(kRow, "select.int", fmt::format("{}, 0, {}", a, pick(8)));
        text.Call(kRow, "mul_.Scalar", row + ", 2");
        break;
      }
      default: {
        std::string from = text.Call(kRow, "select.int", fmt::format("{}, 0, {}", a, pick(8)));
        std::string to = text.Call(kRow, "select.int", fmt::format("{}, 0, {}", b, pick(8)));
        text.Call(kRow, "copy_.default", to + ", " + from);
      }
    }
    // A window of recent values stays in use; the inputs (the first 8) always.
    if (made.empty()) continue;
    if (pool.size() < 24) {
      pool.push_back(made);
    } else {
      pool[8 + pick(16)] = made;
    }
  }
  text.Line("return ({})", Join(std::vector<std::string>(pool.begin() + 8, pool.end())));
  return text.Take(header + "):\n");
}

}  // namespace palimpsest::bench
