#include "op/pytorch_names.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace palimpsest::op {
namespace {

struct Entry {
  std::string_view name;       // "aten.add"
  std::string_view overloads;  // " Scalar Tensor out ": spaces around each
};
constexpr Entry kEntries[] = {
#include "op/pytorch_names.inc"
};

// Functions of Python that stand for arithmetic of sizes. They need no overload.
constexpr std::string_view kPythonPrefixes[] = {"_operator.", "math.", "torch.sym_"};

const Entry* Find(std::string_view name) {
  const Entry* at = std::lower_bound(std::begin(kEntries), std::end(kEntries), name,
                                     [](const Entry& e, std::string_view n) { return e.name < n; });
  return at != std::end(kEntries) && at->name == name ? at : nullptr;
}

}  // namespace

bool IsPyTorchOperator(std::string_view target) {
  for (std::string_view prefix : kPythonPrefixes) {
    if (target.starts_with(prefix)) return true;
  }
  constexpr std::string_view kOps = "torch.ops.";
  if (!target.starts_with(kOps)) return false;
  target.remove_prefix(kOps.size());
  if (Find(target) != nullptr) return true;  // a higher-order operator
  const size_t dot = target.rfind('.');
  if (dot == std::string_view::npos) return false;
  const Entry* entry = Find(target.substr(0, dot));
  if (entry == nullptr) return false;
  const std::string overload = " " + std::string(target.substr(dot + 1)) + " ";
  return entry->overloads.find(overload) != std::string_view::npos;
}

}  // namespace palimpsest::op
