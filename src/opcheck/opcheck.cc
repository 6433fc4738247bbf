#include "opcheck/opcheck.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "opcheck/operator_call.h"

namespace palimpsest::opcheck {
namespace {

constexpr char kUndeclaredWrite[] = "undeclared write";
constexpr char kNeverWritten[] = "declared write that never happens";
constexpr char kOutside[] = "write outside the view";
constexpr char kAlias[] = "undeclared alias: memory of an earlier call changed";
constexpr char kShape[] = "wrong shape function: elements of the result are never written";
constexpr char kStrides[] = "dependence on strides";
constexpr char kOffset[] = "dependence on the offset";

constexpr uint8_t kPoison = 0xA5, kOtherPoison = 0x3C;

bool IsFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

double FloatAt(DType dtype, const std::byte* at) {
  if (dtype == DType::kF64) {
    double v;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  uint32_t bits = 0;
  if (dtype == DType::kBF16) {
    uint16_t half;
    std::memcpy(&half, at, sizeof half);
    bits = uint32_t{half} << 16;
  } else {
    std::memcpy(&bits, at, sizeof bits);
  }
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

// Equal up to the order in which an operator may add.
bool SameElements(DType dtype, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  if (a == b) return true;
  if (a.size() != b.size() || !IsFloat(dtype) || dtype == DType::kF16) return false;
  const size_t item = static_cast<size_t>(ItemSize(dtype));
  const double tolerance = dtype == DType::kBF16 ? 2e-2 : 1e-4;
  for (size_t i = 0; i < a.size(); i += item) {
    const double x = FloatAt(dtype, &a[i]), y = FloatAt(dtype, &b[i]);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (!(std::abs(x - y) <= tolerance * (1 + std::abs(x)))) return false;
  }
  return true;
}

// Arguments of one run, its results, and what their memory held before.
struct Execution {
  struct Watched {
    Snapshot before;
    std::string name;
    size_t argument;
    bool may_write;
  };
  std::vector<Value> args;
  std::vector<Watched> watched;
  std::vector<Tensor> results;
  std::vector<Snapshot> results_before;
};

// A fresh result or a written argument.
struct Given {
  std::string name;
  DType dtype;
  std::vector<std::byte> elements;
};

class Checking {
 public:
  Checking(const op::Op& op, const CheckOptions& options)
      : op_(op), options_(options), random_(options.seed) {
    report_.op = op.schema.Key();
  }

  Result<Report> Run(std::span<const OperatorCall> given) {
    for (const OperatorCall& call : given) {
      PAL_TRY(bool accepted, Try(call));
      report_.calls += accepted ? 1 : 0;
    }
    for (int i = 0; i < options_.attempts && report_.calls < options_.accepted_calls; ++i) {
      const OperatorCall call = DrawCall(op_, random_);
      PAL_TRY(bool accepted, Try(call));
      report_.calls += accepted ? 1 : 0;
    }
    if (report_.calls > 0) report_.refusal.clear();
    for (const auto& [name, seen] : written_) {
      if (!seen) AddFault(kNeverWritten, name);
    }
    return std::move(report_);
  }

 private:
  void AddFault(const char* kind, const std::string& argument) {
    if (!told_.emplace(kind, argument).second) return;
    report_.faults.push_back({kind, argument, call_});
  }

  // False if the operator refuses the call.
  Result<bool> Try(const OperatorCall& call) {
    call_ = Describe(op_, call);
    PAL_TRY(std::optional<Execution> plain, Execute(call, Layout::kPlain, kPoison));
    if (!plain) return false;
    Judge(*plain);
    const std::vector<Given> given = GivenBy(*plain);
    const std::vector<Snapshot> left = MemoryOf(*plain);
    PAL_TRY(std::optional<Execution> again, Execute(call, Layout::kPlain, kOtherPoison));
    if (again) JudgeRepetition(*plain, *again, given);
    for (const Snapshot& s : left) {
      if (s.ElementsChanged() || s.GuardsChanged()) AddFault(kAlias, "");
    }
    earlier_.clear();  // an operator that keeps pointers writes into memory that is still alive
    earlier_.push_back(std::move(*plain));
    if (again) earlier_.push_back(std::move(*again));
    for (Layout layout : {Layout::kOffset, Layout::kTransposed, Layout::kGapped}) {
      PAL_TRY(std::optional<Execution> other, Execute(call, layout, kPoison));
      if (!other) continue;  // it says so: a contract, not a dependence
      Judge(*other);
      JudgeLayout(given, GivenBy(*other), layout);
      earlier_.push_back(std::move(*other));
    }
    return true;
  }

  // What a run left in its memory.
  static std::vector<Snapshot> MemoryOf(const Execution& e) {
    std::vector<Snapshot> memory;
    for (const Execution::Watched& w : e.watched) memory.emplace_back(w.before.tensor());
    for (const Tensor& t : e.results) memory.emplace_back(t);
    return memory;
  }

  Result<std::optional<Execution>> Execute(const OperatorCall& call, Layout layout,
                                           uint8_t poison) {
    Execution e;
    PAL_TRY(e.args, LayOut(call, layout));
    op::MetaCall meta{op_, e.args, {}, {}, {}};
    if (Status status = op_.meta(meta); !status.ok()) return Refuse(status.error());
    for (const op::ResultSpec& spec : meta.results) {
      if (spec.kind != op::ResultSpec::Kind::kFresh) continue;
      PAL_TRY(Tensor t, GuardedTensor(spec.view.dtype, spec.view.sizes, layout, poison));
      e.results.push_back(std::move(t));
    }
    for (const Tensor& t : e.results) e.results_before.emplace_back(t);
    for (size_t a = 0; a < e.args.size(); ++a) Watch(e, a);
    op::KernelCall kernel{op_, e.args, e.results, {}, nullptr};
    if (Status status = op_.kernel(kernel); !status.ok()) return Refuse(status.error());
    return std::optional<Execution>(std::move(e));
  }
  std::optional<Execution> Refuse(const Error& error) {
    report_.refusal = error.message;
    return std::nullopt;
  }
  void Watch(Execution& e, size_t a) {
    const op::SchemaArg& arg = op_.schema.args[a];
    const bool may_write = arg.type.is_write();
    if (e.args[a].IsTensor()) {
      e.watched.push_back({Snapshot(e.args[a].tensor()), arg.name, a, may_write});
    } else if (e.args[a].IsList()) {
      for (const Value& v : e.args[a].list()) {
        if (v.IsTensor()) e.watched.push_back({Snapshot(v.tensor()), arg.name, a, may_write});
      }
    }
  }

  void Judge(const Execution& e) {
    for (const Execution::Watched& w : e.watched) {
      const bool changed = w.before.ElementsChanged();
      if (w.before.GuardsChanged()) AddFault(kOutside, w.name);
      if (changed && !w.may_write) AddFault(kUndeclaredWrite, w.name);
      if (w.may_write && w.before.tensor().numel() > 0) written_[w.name] |= changed;
    }
    for (size_t k = 0; k < e.results.size(); ++k) {
      if (e.results_before[k].GuardsChanged()) AddFault(kOutside, fmt::format("result {}", k));
    }
  }

  static std::vector<Given> GivenBy(const Execution& e) {
    std::vector<Given> given;
    for (const Execution::Watched& w : e.watched) {
      if (w.may_write) {
        given.push_back({w.name, w.before.tensor().dtype, ElementBytes(w.before.tensor())});
      }
    }
    for (size_t k = 0; k < e.results.size(); ++k) {
      given.push_back(
          {fmt::format("result {}", k), e.results[k].dtype, ElementBytes(e.results[k])});
    }
    return given;
  }

  // The same call on memory that held something else: what still differs by exactly that was never
  // written.
  void JudgeRepetition(const Execution& first, const Execution& second,
                       const std::vector<Given>& given) {
    bool unwritten = false;
    for (size_t k = 0; k < first.results.size(); ++k) {
      const std::vector<std::byte> a = ElementBytes(first.results[k]);
      const std::vector<std::byte> b = ElementBytes(second.results[k]);
      for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (a[i] != std::byte{kPoison} || b[i] != std::byte{kOtherPoison}) continue;
        unwritten = true;
        AddFault(kShape, fmt::format("result {}", k));
        break;
      }
    }
    const std::vector<Given> again = GivenBy(second);
    for (size_t g = 0; g < given.size() && !unwritten; ++g) {
      if (!SameElements(given[g].dtype, given[g].elements, again[g].elements)) {
        report_.is_random = true;
      }
    }
  }

  void JudgeLayout(const std::vector<Given>& plain, const std::vector<Given>& other,
                   Layout layout) {
    if (report_.is_random) return;
    const char* kind = layout == Layout::kOffset ? kOffset : kStrides;
    for (size_t g = 0; g < plain.size(); ++g) {
      const bool same = g < other.size() && plain[g].dtype == other[g].dtype &&
                        SameElements(plain[g].dtype, plain[g].elements, other[g].elements);
      if (!same) AddFault(kind, plain[g].name);
    }
  }

  const op::Op& op_;
  const CheckOptions& options_;
  std::mt19937_64 random_;
  Report report_;
  std::string call_;                     // that is being made
  std::map<std::string, bool> written_;  // per written argument: was it ever?
  std::set<std::pair<std::string, std::string>> told_;
  std::vector<Execution> earlier_;  // the last runs
};

}  // namespace

Result<Report> CheckOperator(const op::Op& op, std::span<const OperatorCall> given,
                             const CheckOptions& options) {
  return Checking(op, options).Run(given);
}

}  // namespace palimpsest::opcheck
