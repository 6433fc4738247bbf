// Kind `iteration`: order and merging of dims in the iterator, strides, the inner-loop calls.
#include <cstdio>

#include "json.h"
#include "kinds.h"
#include "palimpsest/iterator.h"
#include "tensors.h"

namespace cases {
namespace {

using namespace palimpsest;

struct Operands {
  std::vector<std::optional<View>> views;  // nullopt: an output to be allocated
};

Operands ReadOperands(const Json& list) {
  Operands operands;
  for (const Json& op : list.items()) {
    if (op.IsNull()) {
      operands.views.emplace_back();
      continue;
    }
    View view;
    view.dtype = DTypeOf(op["dt"]);
    view.sizes = op["sz"].Dims();
    view.strides = op["st"].Dims();
    view.offset = op["of"].Int();
    operands.views.push_back(std::move(view));
  }
  return operands;
}

Result<Iteration> Build(const std::string& kind, const Operands& operands) {
  IteratorConfig config = IteratorConfig::Binary();
  if (kind == "copy") config = IteratorConfig::Copy();
  if (kind == "reduce") config = IteratorConfig::Reduce();
  config.linear = kind == "linear";
  for (size_t i = 0; i < operands.views.size(); ++i) {
    const std::optional<View>& view = operands.views[i];
    if (i > 0) {
      config.AddInput(*view);
    } else if (view) {
      config.AddOutput(*view);
    } else {
      config.AddOutput();
    }
  }
  return Iteration::Build(config);
}

std::string Join(const std::vector<int64_t>& values) { return ToString(Dims(values)); }

Difference Expect(const char* what, int64_t actual, const Json* expected) {
  if (expected == nullptr || expected->Int() == actual) return std::nullopt;
  return std::string(what) + " is " + std::to_string(actual) + ", expected " +
         std::to_string(expected->Int());
}
Difference Expect(const char* what, const Dims& actual, const Json& expected) {
  if (actual == expected.Dims()) return std::nullopt;
  return std::string(what) + " is " + ToString(actual) + ", expected " + ToString(expected.Dims());
}

Difference CompareStrides(const Iteration& it, const Json& expected) {
  for (size_t operand = 0; operand < it.num_operands(); ++operand) {
    Dims strides;
    for (size_t d = 0; d < it.dim(); ++d) strides.push_back(it.byte_stride(d, operand));
    std::string what = "strides of operand " + std::to_string(operand);
    const Json& list = expected[operand];
    if (Difference d = Expect(what.c_str(), strides, list)) return d;
  }
  return std::nullopt;
}

// [size0, size1, byte offset of operand 0, ...] for each call of the inner loop.
std::vector<std::vector<int64_t>> RecordCalls(const Iteration& it, int64_t begin, int64_t end) {
  // Addresses that nobody reads: only their distances count.
  std::vector<std::byte*> bases;
  for (size_t i = 0; i < it.num_operands(); ++i) {
    bases.push_back(reinterpret_cast<std::byte*>((i + 1) << 40));
  }
  std::vector<std::vector<int64_t>> calls;
  it.ForRange(bases, begin, end,
              [&](std::byte* const* pointers, const int64_t*, int64_t size0, int64_t size1) {
                std::vector<int64_t> call = {size0, size1};
                for (size_t i = 0; i < bases.size(); ++i) call.push_back(pointers[i] - bases[i]);
                calls.push_back(std::move(call));
              });
  return calls;
}

Difference CompareCalls(const Iteration& it, const Json& range, const Json& expect) {
  auto calls = RecordCalls(it, range[0].Int(), range[1].Int());
  if (Difference d =
          Expect("number of calls", static_cast<int64_t>(calls.size()), expect.Find("ncalls"))) {
    return d;
  }
  const Json& listed = expect["calls"];
  for (size_t i = 0; i < listed.size(); ++i) {
    if (Dims(calls[i]) == listed[i].Dims()) continue;
    return "call " + std::to_string(i) + " is " + Join(calls[i]) + ", expected " +
           ToString(listed[i].Dims());
  }
  return std::nullopt;
}

Outcome RunOne(const Json& c) {
  Operands operands = ReadOperands(c["ops"]);
  Result<Iteration> built = Build(c["kind"].Text(), operands);
  if (!built.ok()) return FromError(built.error(), "refused");
  const Iteration& it = *built;
  const Json& expect = c["expect"];
  Difference d = Expect("shape", it.shape(), expect["shape"]);
  if (!d) d = CompareStrides(it, expect["strides"]);
  if (!d) d = Expect("numel", it.numel(), expect.Find("numel"));
  if (!d && it.IsContiguous() != expect["contiguous"].Bool()) {
    d = it.IsContiguous() ? "is contiguous" : "is not contiguous";
  }
  if (!d) d = Expect("output sizes", it.operand(0).sizes, expect["out_sz"]);
  if (!d) d = Expect("output strides", it.operand(0).strides, expect["out_st"]);
  if (!d) d = CompareCalls(it, c["range"], expect);
  if (!d) {
    d = Expect("reduce_dims", static_cast<int64_t>(it.NumReducedDims()),
               expect.Find("reduce_dims"));
  }
  if (!d) d = Expect("out_numel", it.NumOutputElements(), expect.Find("out_numel"));
  return d ? Outcome::Failed(*d) : Outcome::Passed();
}

}  // namespace

Result<Tally> RunIteration(const Settings& settings) {
  PAL_TRY(std::vector<Json> lines, LoadJsonLines(settings.path));
  Tally tally(settings);
  for (const Json& line : lines) {
    std::string id = line["id"].Text();
    if (settings.Wants(id)) tally.Add(id, RunOne(line));
  }
  tally.PrintSkipReasons();
  return tally;
}

}  // namespace cases
