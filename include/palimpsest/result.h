// Result<T>: a value or an Error. No exceptions are thrown in src/.
//
//   Result<int> Parse(std::string_view text);
//   Status Use() {
//     PAL_TRY(int n, Parse("3"));   // returns the error, or declares n
//     PAL_TRY(Check(n));            // the same for a Status
//     return {};
//   }
//
// Three cases (docs/architecture.md): the user's program or file is wrong -> Result; an
// optimization does not apply -> a remark; we are wrong -> PAL_CHECK (check.h), or kInternal where
// a serving process can outlive it.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace palimpsest {

enum class ErrorKind {
  kContract,         // exit 1: the program compiles, but not as the caller demands (Options)
  kUsage,            // exit 2: the command line or the call of the API is wrong
  kBadInput,         // exit 3: a file, graph text, or a tensor that does not fit the program
  kUnsupported,      // exit 4: a feature or kernel that palimpsest lacks
  kUnknownOperator,  // exit 4: an operator that nobody registered
  kInternal,         // exit 5: our bug
  kRuntime,  // exit 6: failure while running (out of memory, index out of range, operator failed)
};

// The exit code of the command line tools for an error of this kind.
int ExitCode(ErrorKind kind);
const char* ErrorKindName(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  // A short machine-readable word where eager PyTorch would refuse too ("broadcast_mismatch",
  // "index_out_of_range", ...); empty otherwise. Non-empty means: the user is at fault.
  std::string reason;
  // What was wrong, where, what was expected, and how to mend it.
  std::string message;
  // Where in the user's program: "file:line:col", a Python source line, or "".
  std::string place;

  // "error: MESSAGE" with the place, as the tools print it.
  std::string ToString() const;
};

struct Unit {};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> : public Result<Unit> {
 public:
  Result() : Result<Unit>(Unit{}) {}
  Result(Error error) : Result<Unit>(std::move(error)) {}  // NOLINT
};
using Status = Result<void>;

// Errors by kind; `reason` only where eager PyTorch refuses for the same reason.
Error BadInput(std::string message, std::string reason = "");
Error Unsupported(std::string message);
Error RuntimeFailure(std::string message, std::string reason = "");
Error UsageError(std::string message);
Error ContractBroken(std::string message);
Error InternalError(std::string message);
// The operator's own rule was broken by the program: kBadInput with a reason.
Error Refused(std::string reason, std::string message);

}  // namespace palimpsest

#define PAL_CONCAT_(a, b) a##b
#define PAL_CONCAT(a, b) PAL_CONCAT_(a, b)
#define PAL_TRY1(expr)                                          \
  do {                                                          \
    auto pal_result = (expr);                                   \
    if (!pal_result.ok()) return std::move(pal_result).error(); \
  } while (false)
#define PAL_TRY2(decl, expr) PAL_TRY2_(decl, expr, PAL_CONCAT(pal_result_, __LINE__))
#define PAL_TRY2_(decl, expr, tmp)              \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return std::move(tmp).error(); \
  decl = std::move(tmp).value()
#define PAL_TRY_PICK(a, b, name, ...) name
// PAL_TRY(status) or PAL_TRY(declaration, result).
#define PAL_TRY(...) PAL_TRY_PICK(__VA_ARGS__, PAL_TRY2, PAL_TRY1)(__VA_ARGS__)
