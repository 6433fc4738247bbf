// Write operators for palimpsest: a header-only C++ face of plugin.h, modelled on PyTorch's
// TORCH_LIBRARY. Link against nothing.
//
//   #include "palimpsest/operator_library.h"
//   using namespace palimpsest::plugin;
//
//   void Inc(Tensor x, int64_t n) {                       // written argument: data<float>()
//     auto a = x.accessor<float, 1>();
//     for (int64_t i = 0; i < x.size(0); ++i) a[i] += static_cast<float>(n);
//   }
//   void Twice(Tensor x, Tensor result) { ... }           // new results come last, as meta said
//   NewTensor TwiceMeta(Tensor x) {
//     Require(x.dim() == 1, "a vector is expected");      // contracts: before anything is written
//     return NewTensor::Like(x);
//   }
//
//   PALIMPSEST_LIBRARY(my, m) {
//     m.def("inc_(Tensor(a!) x, int n=1) -> ()", Inc);
//     m.def("twice(Tensor x) -> Tensor", Twice, TwiceMeta);
//   }
//
// Built with `c++ -std=c++20 -shared -fPIC`, loaded with `--ops libmy.so` or
// Operators::LoadLibrary.
//
// Types of parameters, by value or by const reference: Tensor, int64_t, double, bool,
// std::string_view, Number (Scalar), and std::optional / std::vector of these: `Tensor(a!)?[]` is
// std::vector<std::optional<Tensor>>. They are compared with the schema when the library is loaded.
// A function returns void, a number (for a schema that returns one), or anything that is ignored:
// an operator returns `Tensor(a!)`, its own argument, by its schema alone.
//
// Every exception is caught at the border: ContractError and IndexError become the program's
// error, others "the operator failed". Functions must be thread-safe and keep no pointers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "palimpsest/operator_tensor.h"

namespace palimpsest::plugin {

// An argument of type Scalar.
struct Number {
  bool is_integer = true;
  int64_t i = 0;
  double f = 0;
  double AsDouble() const { return is_integer ? static_cast<double>(i) : f; }
};

struct OperatorOptions {
  const char* tag = nullptr;  // "inplace", "out": PyTorch's tags of these names
  bool may_refuse = false;    // throws because of data: kept even if nobody wants its results
  bool effect = false;        // does more than write its arguments and results
};

namespace internal {

// One C++ parameter type: its name in schema language, and how it is read.
template <typename T>
struct Param;

template <>
struct Param<Tensor> {
  static std::string Name() { return "Tensor"; }
  static Tensor Read(const PalArg& arg) {
    Require(arg.kind == PAL_TENSOR, "a tensor is expected");
    return Tensor(arg.tensor);
  }
};
template <>
struct Param<int64_t> {
  static std::string Name() { return "int"; }
  static int64_t Read(const PalArg& arg) {
    Require(arg.kind == PAL_INT || arg.kind == PAL_BOOL, "an integer is expected");
    return arg.i;
  }
};
template <>
struct Param<bool> {
  static std::string Name() { return "bool"; }
  static bool Read(const PalArg& arg) { return Param<int64_t>::Read(arg) != 0; }
};
template <>
struct Param<double> {
  static std::string Name() { return "float"; }
  static double Read(const PalArg& arg) {
    return arg.kind == PAL_FLOAT ? arg.f : static_cast<double>(Param<int64_t>::Read(arg));
  }
};
template <>
struct Param<Number> {
  static std::string Name() { return "Scalar"; }
  static Number Read(const PalArg& arg) {
    if (arg.kind == PAL_FLOAT) return {false, 0, arg.f};
    return {true, Param<int64_t>::Read(arg), 0};
  }
};
template <>
struct Param<std::string_view> {
  static std::string Name() { return "str"; }
  static std::string_view Read(const PalArg& arg) {
    Require(arg.kind == PAL_STRING, "a string is expected");
    return arg.s;
  }
};
template <typename T>
struct Param<std::optional<T>> {
  static std::string Name() { return Param<T>::Name() + "?"; }
  static std::optional<T> Read(const PalArg& arg) {
    if (arg.kind == PAL_NONE) return std::nullopt;
    return Param<T>::Read(arg);
  }
};
template <typename T>
struct Param<std::vector<T>> {
  static std::string Name() { return Param<T>::Name() + "[]"; }
  static std::vector<T> Read(const PalArg& arg) {
    Require(arg.kind == PAL_LIST, "a list is expected");
    std::vector<T> items;
    for (int64_t i = 0; i < arg.i; ++i) items.push_back(Param<T>::Read(arg.items[i]));
    return items;
  }
};

inline int GiveResult(PalContext* ctx, int index, const NewTensor& result) {
  if (!result.strides.empty() && result.strides.size() != result.sizes.size()) {
    throw std::logic_error("meta gives a result another number of strides than of sizes");
  }
  DTypeCode code = CodeOf(result.dtype);
  bool contiguous = result.strides.empty();
  return ctx->result(ctx, index, code.code, code.bits, static_cast<int32_t>(result.sizes.size()),
                     result.sizes.data(), contiguous ? nullptr : result.strides.data());
}
inline int Give(PalContext* ctx, const NewTensor& result) { return GiveResult(ctx, 0, result); }
inline int Give(PalContext* ctx, const std::vector<NewTensor>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (int code = GiveResult(ctx, static_cast<int>(i), results[i])) return code;
  }
  return 0;
}
template <typename T>
  requires std::is_arithmetic_v<T>
int Give(PalContext* ctx, T number) {
  PalArg value = {};
  value.kind = std::is_same_v<T, bool> ? PAL_BOOL : std::is_integral_v<T> ? PAL_INT : PAL_FLOAT;
  value.i = static_cast<int64_t>(number);
  value.f = static_cast<double>(number);
  return ctx->number(ctx, 0, &value);
}
inline int Give(PalContext*, const Tensor&) { return 0; }  // the schema says which argument it is

// A function's parameters, and the call of it with arguments from C.
template <typename R, typename... Args>
struct Signature {
  static std::string Types() {
    std::string types;
    ((types += types.empty() ? "" : ",", types += Param<std::remove_cvref_t<Args>>::Name()), ...);
    return types;
  }
  template <size_t... I>
  static int Apply(R (*function)(Args...), PalContext* ctx, const PalArg* args,
                   std::index_sequence<I...>) {
    std::tuple<std::remove_cvref_t<Args>...> values{
        Param<std::remove_cvref_t<Args>>::Read(args[I])...};
    if constexpr (std::is_void_v<R>) {
      function(std::get<I>(values)...);
      return 0;
    } else {
      return Give(ctx, function(std::get<I>(values)...));
    }
  }
  static int Call(R (*function)(Args...), PalContext* ctx, const PalArg* args, size_t n) noexcept {
    try {
      Require(n == sizeof...(Args), "another number of arguments is expected");
      return Apply(function, ctx, args, std::index_sequence_for<Args...>());
    } catch (const ContractError& error) {
      return ctx->fail(ctx, PAL_FAIL_CONTRACT, error.what());
    } catch (const IndexError& error) {
      return ctx->fail(ctx, PAL_FAIL_INDEX, error.what());
    } catch (const std::exception& error) {
      return ctx->fail(ctx, PAL_FAIL_OTHER, error.what());
    } catch (...) {
      return ctx->fail(ctx, PAL_FAIL_OTHER, "an exception that is no std::exception");
    }
  }
};

template <typename Run, typename Meta>
struct Functions {
  Run run;
  Meta meta;
};

// An operator's functions live as long as its library: until the process ends.
template <typename T>
T* Keep(std::shared_ptr<T> object) {
  static auto* all = new std::vector<std::shared_ptr<void>>;
  all->push_back(object);
  return object.get();
}

}  // namespace internal

// The operators of one library, as they are being registered.
class Library {
 public:
  Library(PalHost* host, std::string ns) : host_(host), ns_(std::move(ns)) {}

  // `schema` without a namespace belongs to the library's.
  template <typename R, typename... Args>
  void def(const std::string& schema, R (*run)(Args...), OperatorOptions options = {}) {
    auto* functions = internal::Keep(
        std::make_shared<internal::Functions<R (*)(Args...), std::nullptr_t>>(run, nullptr));
    PalOperator op = Base(options);
    op.run = Run<R, std::nullptr_t, Args...>;
    op.data = functions;
    Define(op, schema, internal::Signature<R, Args...>::Types(), "");
  }
  template <typename R, typename... Args, typename MR, typename... MArgs>
  void def(const std::string& schema, R (*run)(Args...), MR (*meta)(MArgs...),
           OperatorOptions options = {}) {
    auto* functions = internal::Keep(
        std::make_shared<internal::Functions<R (*)(Args...), MR (*)(MArgs...)>>(run, meta));
    PalOperator op = Base(options);
    op.run = Run<R, MR (*)(MArgs...), Args...>;
    op.meta = Meta<R (*)(Args...), MR, MArgs...>;
    op.data = functions;
    Define(op, schema, internal::Signature<R, Args...>::Types(),
           internal::Signature<MR, MArgs...>::Types());
  }

 private:
  template <typename R, typename M, typename... Args>
  static int Run(PalContext* ctx, const PalArg* args, size_t n) {
    auto* functions = static_cast<internal::Functions<R (*)(Args...), M>*>(ctx->data);
    return internal::Signature<R, Args...>::Call(functions->run, ctx, args, n);
  }
  template <typename F, typename MR, typename... MArgs>
  static int Meta(PalContext* ctx, const PalArg* args, size_t n) {
    auto* functions = static_cast<internal::Functions<F, MR (*)(MArgs...)>*>(ctx->data);
    return internal::Signature<MR, MArgs...>::Call(functions->meta, ctx, args, n);
  }
  static PalOperator Base(const OperatorOptions& options) {
    PalOperator op = {};
    op.size = sizeof(PalOperator);
    op.flags = (options.may_refuse ? unsigned{PAL_OP_MAY_REFUSE} : 0u) |
               (options.effect ? unsigned{PAL_OP_EFFECT} : 0u);
    op.tag = options.tag;
    return op;
  }
  void Define(PalOperator op, const std::string& schema, const std::string& run_types,
              const std::string& meta_types) {
    size_t name_end = schema.find('(');
    bool qualified = schema.substr(0, name_end).find("::") != std::string::npos;
    std::string full = qualified ? schema : ns_ + "::" + schema;
    op.schema = full.c_str();
    op.run_types = run_types.c_str();
    op.meta_types = op.meta != nullptr ? meta_types.c_str() : nullptr;
    host_->define(host_, &op);  // the host keeps the error and refuses the whole library
  }

  PalHost* host_;
  std::string ns_;
};

inline uint32_t Register(PalHost* host, const char* ns, void (*fill)(Library&)) noexcept {
  if (host->abi != PALIMPSEST_PLUGIN_ABI) return PALIMPSEST_PLUGIN_ABI;
  try {
    Library library(host, ns);
    fill(library);
  } catch (const std::exception& error) {
    host->fail(host, error.what());
  } catch (...) {
    host->fail(host, "an exception that is no std::exception");
  }
  return PALIMPSEST_PLUGIN_ABI;
}

}  // namespace palimpsest::plugin

// Defines the symbol that palimpsest looks for; once per shared library.
#define PALIMPSEST_LIBRARY(ns, m)                                                     \
  static void palimpsest_fill_##ns(::palimpsest::plugin::Library& m);                 \
  extern "C" __attribute__((visibility("default"))) uint32_t palimpsest_operators_v1( \
      PalHost* host) {                                                                \
    return ::palimpsest::plugin::Register(host, #ns, palimpsest_fill_##ns);           \
  }                                                                                   \
  static void palimpsest_fill_##ns(::palimpsest::plugin::Library& m)
