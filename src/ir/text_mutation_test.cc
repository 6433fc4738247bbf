// Whatever is done to a text: it is refused with a place, or what is read is a sound graph that
// prints and reads again as itself. Seeded; PAL_MUTATIONS=N runs more than the default.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "ir/compare.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace palimpsest::ir {
namespace {

const char* const kTexts[] = {
    R"g(# schema: my::foo(Tensor(a!) x, *, int[2] n=1, float f=0.5, str? s=None) -> (Tensor(a!), Tensor[])
# phase: functional
# range: s0 = [2, 9]
# input: k = buffer 'k' not persistent
# input: c = constant 2.5 named 'c'
# storage: x+0 k+4
# write-back: k = add
# order: a < add
# place: add = arena+128
def forward(self, x: "f32[2*s0 + 1][1]cpu", k: "f32[4][1]", c: "Number", s0: "Sym(s0)"):
    # File: m.py:3 in f, code: y = x
    a = torch.ops.my.bar.default(x, [1, None, -2.5e-3], d = {'k': torch.float32}, s = "it's");  x = None
    add: "f32[Max(4, s0//2)][1]" = torch.ops.my.bar.default(k, (1+2j), (a, -inf), device(type='cpu'))
    getitem = add[0]
    ge: "Sym(s0 >= 0)" = s0 >= 0
    neg = -s0
    return (a, getitem, None)
)g",
    R"g(class <lambda>(torch.nn.Module):
    def forward(self, p: "b8[][]", x: "f32[4][1]"):
        true_graph_0 = self.true_graph_0
        const = self.w.weight
        cond = torch.ops.higher_order.cond(p, true_graph_0, self.body, (x, const));  true_graph_0 = None
        getitem: "f32[4][1]" = cond[0]
        return getitem

    class true_graph_0(torch.nn.Module):
        def forward(self, x: "f32[4][1]"):
            return (x,)

    class body(torch.nn.Module):
        def forward(self, x):
            foo = torch.ops.my.foo.default(x)
            return [foo]
)g",
    R"g(I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs] TRACED GRAPH
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]  class <lambda>(torch.nn.Module):
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]     def forward(self, x: "f32[s77][1]cpu"):
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]         x: "f32[4]"; x: "f32[3]";
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]         add = torch.ops.aten.add.Tensor(x, 1)
warning
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]         return (add,)
)g",
};

const char* const kPieces[] = {"(",
                               ")",
                               "[",
                               "]",
                               "{",
                               "}",
                               ",",
                               ":",
                               "=",
                               "\"",
                               "'",
                               "\\",
                               "#",
                               "\n",
                               "    ",
                               "self",
                               "self.body",
                               "x",
                               "None",
                               "0",
                               "-1",
                               "1e400",
                               "torch.ops.",
                               "class a(torch.nn.Module):\n",
                               "def forward(self):\n",
                               "return ",
                               "return x\n",
                               "# order: x < x\n",
                               "# input: x = ",
                               ".",
                               "//",
                               "**",
                               "inf",
                               "j",
                               "\0",
                               "\xff"};

std::string Mutate(std::string text, std::mt19937& random) {
  auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  for (size_t changes = 1 + below(3); changes > 0; --changes) {
    size_t at = below(text.size() + 1), length = below(12);
    switch (below(4)) {
      case 0:
        text.erase(std::min(at, text.size()), length);
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2: {  // a piece of the text at another place
        std::string piece = text.substr(below(text.size()), 3 * length);
        text.insert(at, piece);
        break;
      }
      default:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
    }
  }
  return text;
}

TEST(TextMutation, RefusedOrSound) {
  const char* wanted = std::getenv("PAL_MUTATIONS");
  int count = wanted == nullptr ? 5000 : std::atoi(wanted), read = 0;
  std::mt19937 random(20260);
  op::OpTable ops;
  for (int i = 0; i < count; ++i) {
    std::string text = Mutate(kTexts[static_cast<size_t>(i) % std::size(kTexts)], random);
    Result<Graph> graph = ParseText(text, ops);
    if (!graph.ok()) {
      EXPECT_NE(graph.error().kind, ErrorKind::kInternal) << text;
      continue;
    }
    ++read;
    Status verified = Verify(*graph);
    ASSERT_TRUE(verified.ok() || graph->phase != Phase::kProgram)
        << verified.error().message << "\n"
        << text;
    std::string printed = Print(*graph);
    Result<Graph> again = ParseText(printed, ops);
    ASSERT_TRUE(again.ok()) << again.error().ToString() << "\nfrom\n"
                            << text << "\nprinted\n"
                            << printed;
    ASSERT_EQ(Difference(*graph, *again), "") << text << "\nprinted\n" << printed;
  }
  EXPECT_GT(read, count / 20);
}

}  // namespace
}  // namespace palimpsest::ir
