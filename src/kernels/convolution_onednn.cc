// f32 convolutions through oneDNN.
//
// oneDNN chooses the layouts that it is fastest in; operands are reordered where they lie
// otherwise. It keeps the primitives it has built in a cache of its own (1,024 of them, thread
// safe), so that nothing is kept here but the engine.
#include <fmt/format.h>

#include <dnnl.hpp>
#include <unordered_map>

#include "kernels/convolution_run.h"

namespace palimpsest::kernels {
namespace {

using Memory = dnnl::memory;

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

Memory::dims ToDnnl(const Dims& dims) { return Memory::dims(dims.begin(), dims.end()); }

Memory::desc Plain(const Tensor& t) {
  return Memory::desc(ToDnnl(t.sizes), Memory::data_type::f32, ToDnnl(t.strides));
}
Memory::desc AnyLayout(const Memory::desc& desc) {
  return Memory::desc(desc.dims(), Memory::data_type::f32, Memory::format_tag::any);
}

// [O, C/g, ...] -> [g, O/g, C/g, ...]; of a transposed convolution [C, O/g, ...] -> the same.
Memory::desc WeightDesc(const Tensor& weight, const ConvolutionShape& shape) {
  Memory::dims sizes, strides;
  int64_t first = weight.sizes[0] / shape.groups;
  int64_t outer = shape.transposed ? 1 : 0, inner = 1 - outer;
  int64_t per_group[2] = {first, weight.sizes[1]};
  int64_t steps[2] = {weight.strides[0], weight.strides[1]};
  if (shape.groups > 1) {
    sizes.push_back(shape.groups);
    strides.push_back(first * weight.strides[0]);
  }
  for (int64_t i : {outer, inner}) {
    sizes.push_back(per_group[i]);
    strides.push_back(steps[i]);
  }
  for (size_t d = 2; d < weight.dim(); ++d) {
    sizes.push_back(weight.sizes[d]);
    strides.push_back(weight.strides[d]);
  }
  return Memory::desc(sizes, Memory::data_type::f32, strides);
}

struct Descs {
  Memory::desc input, weight, bias, result;
  Memory::dims stride, dilation, before, behind;
};

Descs DescsOf(const Convolution& c) {
  Descs d;
  d.input = Plain(c.input);
  d.weight = WeightDesc(c.weight, c.shape);
  d.result = Plain(c.result);
  if (c.bias != nullptr) d.bias = Plain(*c.bias);
  d.stride = ToDnnl(c.shape.stride);
  d.before = ToDnnl(c.shape.padding);
  d.behind = ToDnnl(c.shape.padding_behind);
  for (int64_t dilation : c.shape.dilation) d.dilation.push_back(dilation - 1);
  return d;
}

template <typename Primitive>
typename Primitive::primitive_desc Describe(const Descs& d, bool has_bias, dnnl::algorithm how) {
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  using Desc = typename Primitive::desc;
  Desc desc = has_bias ? Desc(kInference, how, AnyLayout(d.input), AnyLayout(d.weight), d.bias,
                              AnyLayout(d.result), d.stride, d.dilation, d.before, d.behind)
                       : Desc(kInference, how, AnyLayout(d.input), AnyLayout(d.weight),
                              AnyLayout(d.result), d.stride, d.dilation, d.before, d.behind);
  return typename Primitive::primitive_desc(desc, Engine());
}

Memory Wrap(const Memory::desc& desc, const Tensor& t) {
  return Memory(desc, Engine(), t.data_as<float>());
}

// The operand in the layout that the primitive wants.
Memory Reordered(Memory from, const Memory::desc& wanted, dnnl::stream& stream) {
  if (from.get_desc() == wanted) return from;
  Memory to(wanted, Engine());
  dnnl::reorder(from, to).execute(stream, from, to);
  return to;
}

template <typename Primitive>
void Execute(const Convolution& c, const Descs& d, dnnl::algorithm how) {
  auto described = Describe<Primitive>(d, c.bias != nullptr, how);
  dnnl::stream stream(Engine());
  Memory result = Wrap(d.result, c.result);
  const Memory::desc computed = described.dst_desc();
  bool in_place = computed == d.result;
  Memory target = in_place ? result : Memory(computed, Engine());
  std::unordered_map<int, Memory> args = {
      {DNNL_ARG_SRC, Reordered(Wrap(d.input, c.input), described.src_desc(), stream)},
      {DNNL_ARG_WEIGHTS, Reordered(Wrap(d.weight, c.weight), described.weights_desc(), stream)},
      {DNNL_ARG_DST, target}};
  if (c.bias != nullptr) args.insert({DNNL_ARG_BIAS, Wrap(d.bias, *c.bias)});
  Primitive(described).execute(stream, args);
  if (!in_place) dnnl::reorder(target, result).execute(stream, target, result);
  stream.wait();
}

}  // namespace

Status ConvolveByOneDnn(const Convolution& c) {
  // oneDNN's C++ face reports failures as exceptions: they end here.
  try {
    Descs descs = DescsOf(c);
    if (c.shape.transposed) {
      Execute<dnnl::deconvolution_forward>(c, descs, dnnl::algorithm::deconvolution_direct);
    } else {
      Execute<dnnl::convolution_forward>(c, descs, dnnl::algorithm::convolution_auto);
    }
    return {};
  } catch (const dnnl::error& error) {
    return RuntimeFailure(fmt::format("oneDNN's convolution of {} with {} failed: {}",
                                      ToString(c.input.sizes), ToString(c.weight.sizes),
                                      error.what()));
  }
}

}  // namespace palimpsest::kernels
