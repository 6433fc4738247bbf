// PyTorch's function-schema language: "ns::name.overload(Tensor(a!) x, *, int n=1) -> Tensor(a!)".
//
// The whole language of docs/ir.md (alias sets, lists, optionals, defaults, keyword-only, sized
// lists, dicts, unions). Parsing and printing are inverse up to spaces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::op {

enum class BaseType : uint8_t {
  kTensor,
  kScalar,
  kInt,
  kSymInt,
  kFloat,
  kBool,
  kSymBool,
  kComplex,
  kString,
  kDevice,
  kScalarType,
  kLayout,
  kMemoryFormat,
  kGenerator,
  kOther,
};

// The annotation of one tensor type: `(a! -> b|*)`.
struct AliasInfo {
  std::vector<std::string> before, after;  // set names, "*" among them
  bool is_write = false;
  size_t postfixes = 0;  // how many of the type's postfixes stand before it: 1 in "Tensor[](a)"
};

struct SchemaType {
  BaseType base = BaseType::kOther;
  std::string other;               // the text of a type of kind kOther ("Dict(str, Tensor)")
  std::optional<AliasInfo> alias;  // of the innermost Tensor; of the list where only that has one
  // "Tensor(a)[](b)": the annotation of the list itself, where the elements have one too.
  std::optional<AliasInfo> list_alias;
  // Postfixes from left to right: "Tensor?[]" = {kOptional, kList}.
  enum class Postfix : uint8_t { kOptional, kList };
  std::vector<Postfix> postfixes;
  std::optional<int64_t> list_size;  // int[2]

  bool IsList() const;      // some postfix is a list
  bool IsOptional() const;  // the outermost postfix is `?`
  bool IsTensorLike() const { return base == BaseType::kTensor; }
  bool is_write() const {
    return (alias && alias->is_write) || (list_alias && list_alias->is_write);
  }
  std::string ToString() const;  // "Tensor(a!)?[]"
};

struct SchemaArg {
  std::string name;
  SchemaType type;
  std::optional<Value> default_value;  // None is Value()
  bool keyword_only = false;
};

struct Schema {
  std::string ns, name, overload;  // overload "" prints as nothing, and as ".default" in targets
  std::vector<SchemaArg> args;
  std::vector<SchemaArg> returns;  // names may be empty
  bool vararg = false, varret = false;

  // "aten::add.Tensor": the key of the op table; "aten::relu" for an empty overload.
  std::string Key() const;
  // "torch.ops.aten.add.Tensor", "torch.ops.aten.relu.default".
  std::string Target() const;
  int FindArg(std::string_view arg_name) const;  // -1 if there is none
  bool WritesAnything() const;
  std::string ToString() const;
};

// Errors (kBadInput) carry the column and what was expected there.
Result<Schema> ParseSchema(std::string_view text);

// A call's arguments by position and by name -> one Value-like slot per schema argument. T is Value
// or ir::Argument; missing ones get the default. Numbers fit Scalar, Tensor and float slots; an int
// fits int[N] with N given (it is repeated). Used by the text reader, the .pt2 reader and the API.
struct Binding {
  // For each schema argument: index into the positional list, or -1 - index into the keyword list,
  // or nullopt for the default.
  std::vector<std::optional<int>> source;
};
Result<Binding> BindArguments(const Schema& schema, size_t positional,
                              const std::vector<std::string>& keywords);

}  // namespace palimpsest::op
