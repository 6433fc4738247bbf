// Registration: what an operator leaves unsaid is derived from its schema and its functional twin.
//
// Note [Derived meta and kernel]
//   * A schema whose returns are none, or only written arguments (`-> Tensor(a!)`), says
//   everything:
//     the results are the arguments.
//   * An in-place operator with a functional twin (`add_` and `add`): meta runs the twin's meta;
//   the
//     result must have self's sizes and a dtype that may be converted to self's. The kernel is the
//     twin's with result 0 = self. That is right where the twin may write onto its operand
//     (point-wise, tied, a copy); any other twin writes into new memory first, which is then
//     copied.
// The twin is looked up when it is needed: the order of registration does not matter.
#include "op/op.h"

#include <fmt/format.h>

#include <algorithm>

#include "op/call.h"
#include "op/check_arguments.h"

namespace palimpsest::op {
namespace {

// The argument whose written alias set a return carries; -1 if the return is no written argument.
int WrittenArgOfReturn(const Schema& schema, const SchemaArg& result) {
  if (!result.type.is_write()) return -1;
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const SchemaType& type = schema.args[i].type;
    if (type.is_write() && type.alias->before == result.type.alias->before &&
        type.IsList() == result.type.IsList()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

bool ReturnsOnlyWrittenArguments(const Schema& schema) {
  if (schema.varret) return false;
  return std::all_of(schema.returns.begin(), schema.returns.end(),
                     [&](const SchemaArg& r) { return WrittenArgOfReturn(schema, r) >= 0; });
}

ResultSpec SameAsArgument(int arg, const Value& value) {
  if (value.IsNone()) return ResultSpec::None();
  if (!value.IsList()) return ResultSpec::Same(arg);
  std::vector<ResultSpec> items;
  for (size_t i = 0; i < value.list().size(); ++i) {
    bool hole = value.list()[i].IsNone();
    items.push_back(hole ? ResultSpec::None() : ResultSpec::Same(arg, static_cast<int>(i)));
  }
  return ResultSpec::List(std::move(items));
}

Status ReturnWrittenArguments(MetaCall& call) {
  const Schema& schema = call.op.schema;
  for (const SchemaArg& r : schema.returns) {
    int arg = WrittenArgOfReturn(schema, r);
    call.results.push_back(SameAsArgument(arg, call.args[static_cast<size_t>(arg)]));
  }
  return {};
}

Result<const Op*> FindTwin(const OpTable& table, const Op& op) {
  const Op* twin = table.Find(op.functional);
  if (twin == nullptr || !twin->meta || !twin->kernel) {
    return Unsupported(
        fmt::format("{}: its functional form {} has no kernel", op.schema.Key(), op.functional));
  }
  if (twin->schema.args.size() != op.schema.args.size()) {
    return InternalError(
        fmt::format("{} and {} take different arguments", op.schema.Key(), op.functional));
  }
  return twin;
}

// Runs the twin's meta and checks that its result fits `self`.
Result<View> TwinResult(const Op& op, const Op& twin, std::span<const Value> args) {
  MetaCall call{twin, args, {}, {}, {}};
  PAL_TRY(twin.meta(call));
  if (call.results.empty() || call.results[0].kind != ResultSpec::Kind::kFresh) {
    return InternalError(fmt::format("{}: {} gives no new tensor", op.schema.Key(), op.functional));
  }
  const View& view = call.results[0].view;
  const Tensor& self = args[0].tensor();
  if (view.sizes != self.sizes) {
    return Refused("output_shape_mismatch",
                   fmt::format("{}: the result has sizes {}, but it is written to a tensor of "
                               "sizes {}, which cannot be resized",
                               op.schema.Key(), ToString(view.sizes), ToString(self.sizes)));
  }
  bool to_bool = self.dtype == DType::kB8 && view.dtype != DType::kB8;
  if (CategoryOf(view.dtype) > CategoryOf(self.dtype) || to_bool) {
    return Refused("cannot_cast",
                   fmt::format("{}: the result type {} cannot be converted to {}", op.schema.Key(),
                               DTypeName(view.dtype), DTypeName(self.dtype)));
  }
  return view;
}

MetaFn InplaceMeta(const OpTable* table) {
  return [table](MetaCall& call) -> Status {
    PAL_TRY(const Op* twin, FindTwin(*table, call.op));
    PAL_TRY(TwinResult(call.op, *twin, call.args));
    if (!call.op.schema.returns.empty()) call.results.push_back(ResultSpec::Same(0));
    return {};
  };
}

// Runs `twin` into new memory, then copies the result to `self`.
Status RunThroughTemporary(KernelCall& call, const Op& twin) {
  PAL_TRY(View view, TwinResult(call.op, twin, call.args));
  const Tensor& self = call.args[0].tensor();
  if (view.dtype != self.dtype) {
    return Unsupported(fmt::format("{}: computing in {} and storing {} in place",
                                   call.op.schema.Key(), DTypeName(view.dtype),
                                   DTypeName(self.dtype)));
  }
  PAL_TRY(Tensor temporary, EmptyTensor(view));
  KernelCall inner{twin, call.args, {&temporary, 1}, {}, call.generator};
  PAL_TRY(twin.kernel(inner));
  CopyElements(temporary, self);
  return {};
}

KernelFn InplaceKernel(const OpTable* table) {
  return [table](KernelCall& call) -> Status {
    PAL_TRY(const Op* twin, FindTwin(*table, call.op));
    const Traits& traits = twin->traits;
    bool may_write_onto_operand = traits.pointwise || traits.copy || traits.tied == 0;
    if (!may_write_onto_operand) return RunThroughTemporary(call, *twin);
    KernelCall inner{*twin, call.args, {&call.args[0].tensor(), 1}, {}, call.generator};
    return twin->kernel(inner);
  };
}

MetaFn Checked(MetaFn meta) {
  return [meta = std::move(meta)](MetaCall& call) -> Status {
    PAL_TRY(CheckArguments(call.op.schema, call.args));
    return meta(call);
  };
}

Status CheckRegistration(const Op& op) {
  const Schema& schema = op.schema;
  auto refuse = [&](std::string_view why) {
    return UsageError(fmt::format("operator {} is not registered: {}", schema.ToString(), why));
  };
  if (schema.ns.empty()) return refuse("its name has no namespace (write ns::name)");
  auto args = static_cast<int>(schema.args.size());
  if (op.traits.tied >= args || op.traits.copy_source >= std::max(args, 1)) {
    return refuse("its traits name an argument that it does not have");
  }
  for (const SchemaArg& arg : schema.args) {
    if (arg.type.is_write() && !arg.type.IsTensorLike()) {
      return refuse(fmt::format("argument '{}' is written but is no tensor", arg.name));
    }
  }
  if (!op.functional.empty() && (args == 0 || !schema.args[0].type.is_write())) {
    return refuse("it has a functional form but does not write its first argument");
  }
  bool derived = ReturnsOnlyWrittenArguments(schema) || !op.functional.empty();
  if (op.kernel && !op.meta && !derived) {
    return refuse("it returns new tensors, so it must say their sizes: give it a meta function");
  }
  return {};
}

// Levenshtein distance, given up beyond `limit`.
size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) return limit + 1;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

ResultSpec ResultSpec::Fresh(View v) {
  ResultSpec s;
  s.kind = Kind::kFresh;
  s.view = std::move(v);
  s.view.offset = 0;
  return s;
}

ResultSpec ResultSpec::Fresh(DType dtype, std::span<const int64_t> sizes) {
  return Fresh(ContiguousView(dtype, sizes));
}

ResultSpec ResultSpec::ViewOf(int arg, View v, int element) {
  ResultSpec s;
  s.kind = Kind::kView;
  s.view = std::move(v);
  s.arg = arg;
  s.element = element;
  return s;
}

ResultSpec ResultSpec::Same(int arg, int element) {
  ResultSpec s;
  s.kind = Kind::kSame;
  s.arg = arg;
  s.element = element;
  return s;
}

ResultSpec ResultSpec::Number(Value v) {
  ResultSpec s;
  s.kind = Kind::kNumber;
  s.number = std::move(v);
  return s;
}

ResultSpec ResultSpec::List(std::vector<ResultSpec> items) {
  ResultSpec s;
  s.kind = Kind::kList;
  s.items = std::move(items);
  return s;
}

Status OpTable::Register(Op op) {
  PAL_TRY(CheckRegistration(op));
  std::string key = op.schema.Key();
  if (Find(key) != nullptr) {
    return UsageError(fmt::format("operator {} is registered already", key));
  }
  if (!op.functional.empty()) {
    if (!op.meta) op.meta = InplaceMeta(this);
    if (!op.kernel) op.kernel = InplaceKernel(this);
  } else if (!op.meta && ReturnsOnlyWrittenArguments(op.schema)) {
    op.meta = ReturnWrittenArguments;
  }
  if (op.meta) op.meta = Checked(std::move(op.meta));
  ops_.emplace(std::move(key), std::make_unique<Op>(std::move(op)));
  return {};
}

const Op* OpTable::Find(std::string_view key) const {
  std::string name(key);
  for (const OpTable* table = this; table != nullptr; table = table->parent_) {
    auto it = table->ops_.find(name);
    if (it != table->ops_.end()) return it->second.get();
  }
  return nullptr;
}

const Op* OpTable::FindTarget(std::string_view target) const { return Find(KeyOfTarget(target)); }

std::vector<const Op*> OpTable::All() const {
  std::vector<std::pair<std::string_view, const Op*>> found;
  for (const OpTable* table = this; table != nullptr; table = table->parent_) {
    for (const auto& [key, op] : table->ops_) found.emplace_back(key, op.get());
  }
  std::sort(found.begin(), found.end());
  std::vector<const Op*> ops;
  for (const auto& [key, op] : found) ops.push_back(op);
  return ops;
}

std::string OpTable::Nearest(std::string_view key) const {
  if (key.size() > 200) return "";
  size_t best = std::max<size_t>(2, key.size() / 5) + 1;
  std::string nearest;
  for (const Op* op : All()) {
    std::string candidate = op->schema.Key();
    size_t distance = EditDistance(key, candidate, best - 1);
    if (distance >= best) continue;
    best = distance;
    nearest = std::move(candidate);
  }
  return nearest;
}

std::string KeyOfTarget(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (target.starts_with(kOps)) {
    std::string_view rest = target.substr(kOps.size());
    size_t first = rest.find('.');
    if (first == std::string_view::npos) return std::string(rest);
    std::string key = fmt::format("{}::{}", rest.substr(0, first), rest.substr(first + 1));
    constexpr std::string_view kDefault = ".default";
    if (key.ends_with(kDefault)) key.resize(key.size() - kDefault.size());
    return key;
  }
  size_t dot = target.rfind('.');
  if (dot == std::string_view::npos) return std::string(target);
  std::string_view ns = target.substr(0, dot);
  if (ns == "operator") ns = "_operator";
  return fmt::format("{}::{}", ns, target.substr(dot + 1));
}

}  // namespace palimpsest::op
