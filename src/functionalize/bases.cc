#include "functionalize/bases.h"

#include <fmt/format.h>

#include "analysis/view_info.h"
#include "base/check.h"

namespace palimpsest::functionalize {
namespace {

using analysis::ViewInfo;

ir::Argument Ints(std::span<const int64_t> values) { return ir::Argument::Ints(values); }

bool CoversStorage(const Tensor& t) {
  return t.offset == 0 && IsDense(t.view()) && t.numel() * t.item_size() == t.storage->bytes();
}

// The 1-d layout of a whole storage, in bytes where the dtype's elements do not fill it.
View WholeStorage(const Tensor& t) {
  int64_t bytes = t.storage->bytes();
  DType dtype = bytes % t.item_size() == 0 ? t.dtype : DType::kU8;
  return ContiguousView(dtype, Dims{bytes / ItemSize(dtype)});
}

}  // namespace

size_t Bases::ViewHash::operator()(const View& view) const {
  uint64_t h = static_cast<uint64_t>(view.offset) * 0x9E3779B97F4A7C15u + view.dim();
  auto mix = [&h](int64_t v) {
    h = (h ^ static_cast<uint64_t>(v)) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  };
  mix(static_cast<int64_t>(view.dtype));
  for (int64_t v : view.sizes) mix(v);
  for (int64_t v : view.strides) mix(v);
  return static_cast<size_t>(h);
}

BaseId Bases::Of(const Tensor& tensor) const {
  auto it = index_.find(tensor.storage.get());
  PAL_CHECK(it != index_.end(), "a tensor of a storage that nobody made");
  return it->second;
}

void Bases::Add(const Tensor& tensor, ir::NodeId node, bool is_input) {
  auto [it, made] =
      index_.emplace(tensor.storage.get(), BaseId(static_cast<int64_t>(bases_.size())));
  if (made) {
    Base b;
    b.layout = WholeStorage(tensor);
    b.first = tensor;
    b.first_node = node;
    if (is_input) b.input = node;
    bases_.push_back(std::move(b));
  }
  Base& b = base(it->second);
  if (!b.dense && CoversStorage(tensor)) {
    b.dense = true;
    b.layout = tensor.view();
    b.newest = node;
    b.first = tensor;
    b.first_node = node;
    if (is_input) b.input = node;
  }
  b.views.emplace(tensor.view(), node);
}

bool Bases::IsBaseObject(const Tensor& tensor) const {
  const Base& b = base(Of(tensor));
  return b.dense && tensor.object != 0 && tensor.object == b.first.object &&
         tensor.view() == b.layout;
}

Result<ir::NodeId> Bases::EmitView(const Base& b, const View& view) {
  bool from_base = b.newest.valid();
  ir::NodeId node = from_base ? b.newest : b.first_node;
  ViewInfo info = analysis::DescribeView(from_base ? b.layout : b.first.view(), view);
  switch (info.kind) {
    case ViewInfo::Kind::kSame:
      return node;
    case ViewInfo::Kind::kSlice:
      return emit_->Call("aten::slice.Tensor", {node, info.dim, info.start, info.end}, view);
    case ViewInfo::Kind::kSelect:
      return emit_->Call("aten::select.int", {node, info.dim, info.start}, view);
    case ViewInfo::Kind::kPermute:
      return emit_->Call("aten::permute", {node, Ints(info.dims)}, view);
    case ViewInfo::Kind::kView:
      return emit_->Call("aten::view", {node, Ints(info.dims)}, view);
    case ViewInfo::Kind::kAsStrided:
      return emit_->Call("aten::as_strided",
                         {node, Ints(view.sizes), Ints(view.strides), view.offset}, view);
    case ViewInfo::Kind::kDType:
      break;
  }
  return emit_->Call("palimpsest::view",
                     {node, view.dtype, Ints(view.sizes), Ints(view.strides), view.offset}, view);
}

Result<ir::NodeId> Bases::Read(const Tensor& tensor) {
  Base& b = base(Of(tensor));
  auto it = b.views.find(tensor.view());
  if (it != b.views.end()) return it->second;
  PAL_TRY(ir::NodeId node, EmitView(b, tensor.view()));
  b.views.emplace(tensor.view(), node);
  return node;
}

Result<ir::NodeId> Bases::Newest(BaseId id) {
  Base& b = base(id);
  if (b.newest.valid()) return b.newest;
  if (b.layout.dtype == b.first.dtype) {
    PAL_TRY(b.newest, emit_->Call("palimpsest::storage", {b.first_node}, b.layout));
  } else {
    PAL_TRY(b.newest, emit_->Call("palimpsest::view",
                                  {b.first_node, b.layout.dtype, Ints(b.layout.sizes),
                                   Ints(b.layout.strides), b.layout.offset},
                                  b.layout));
  }
  return b.newest;
}

void Bases::SetNewest(BaseId id, ir::NodeId node) {
  Base& b = base(id);
  b.newest = node;
  b.written = true;
  b.views.clear();
  b.views.emplace(b.layout, node);
}

Status Bases::Write(const Tensor& written, ir::NodeId value, const View& value_view) {
  BaseId id = Of(written);
  const View& layout = base(id).layout;
  // A value that is a view of something lies elsewhere: it cannot be the new version itself.
  if (written.view() == layout && value_view == layout) {
    SetNewest(id, value);
    return {};
  }
  PAL_TRY(ir::NodeId old, Newest(id));
  PAL_TRY(ir::NodeId node,
          emit_->Call("palimpsest::scatter_view",
                      {old, value, Ints(written.sizes), Ints(written.strides), written.offset},
                      base(id).layout));
  SetNewest(id, node);
  return {};
}

std::vector<ir::WriteBack> Bases::WriteBacks() {
  std::vector<ir::WriteBack> result;
  for (const Base& b : bases_) {
    if (b.input.valid() && b.written) result.push_back({b.input, b.newest});
  }
  return result;
}

}  // namespace palimpsest::functionalize
