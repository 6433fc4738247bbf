#include "op/plugin_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "op/plugin_call.h"

namespace palimpsest::op {
namespace {

constexpr char kSymbolPrefix[] = "palimpsest_operators_v";

// The host's side of a PalHost: operators wait here until the whole library is known to be good.
struct Registration {
  std::vector<Op> ops;
  std::optional<Error> error;  // the first one
};

std::string_view BaseName(const SchemaType& type) {
  switch (type.base) {
    case BaseType::kTensor:
      return "Tensor";
    case BaseType::kScalar:
      return "Scalar";
    case BaseType::kInt:
    case BaseType::kSymInt:
      return "int";
    case BaseType::kFloat:
      return "float";
    case BaseType::kBool:
    case BaseType::kSymBool:
      return "bool";
    default:
      return "str";
  }
}

// The type as the C++ face spells it: no names, no alias marks, no list sizes.
std::string PlainType(const SchemaType& type) {
  std::string text(BaseName(type));
  for (SchemaType::Postfix p : type.postfixes) {
    text += p == SchemaType::Postfix::kOptional ? "?" : "[]";
  }
  return text;
}

Status CheckTypes(const Schema& schema, size_t fresh, const char* given, std::string_view which) {
  if (given == nullptr) return {};
  std::string expected;
  for (const SchemaArg& arg : schema.args) {
    if (!expected.empty()) expected += ",";
    expected += PlainType(arg.type);
  }
  for (size_t i = 0; i < fresh; ++i) expected += expected.empty() ? "Tensor" : ",Tensor";
  if (expected == given) return {};
  return BadInput(fmt::format("{}: {} takes ({}), but the schema asks for ({})", schema.ToString(),
                              which, given, expected));
}

// Which written argument a return is; kFresh or kNumber; an error for returns that the ABI lacks.
Result<int> ClassifyReturn(const Schema& schema, const SchemaArg& result) {
  const SchemaType& type = result.type;
  auto lacks = [&](std::string_view what) {
    return Unsupported(fmt::format("{}: {}", schema.ToString(), what));
  };
  if (!type.IsTensorLike()) {
    bool number = type.postfixes.empty() && PlainType(type) != "str";
    if (number) return PluginOperator::kNumber;
    return lacks("operators from libraries return tensors and numbers only");
  }
  if (type.alias && !type.alias->is_write) {
    return lacks("operators from libraries cannot return views of their arguments");
  }
  if (!type.alias) {
    if (type.postfixes.empty()) return PluginOperator::kFresh;
    return lacks("operators from libraries cannot return lists or optional tensors");
  }
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const SchemaType& arg = schema.args[i].type;
    if (arg.is_write() && arg.alias->before == type.alias->before &&
        arg.IsList() == type.IsList()) {
      return static_cast<int>(i);
    }
  }
  return BadInput(
      fmt::format("{}: a return has an alias set that no argument has", schema.ToString()));
}

Status Define(Registration& registration, const PalOperator& given) {
  if (given.size < sizeof(PalOperator) || given.schema == nullptr || given.run == nullptr) {
    return BadInput("an operator without schema or function");
  }
  Op op;
  PAL_TRY(op.schema, ParseSchema(given.schema));
  if (op.schema.vararg || op.schema.varret) {
    return Unsupported(fmt::format("{}: '...' in a schema", op.schema.ToString()));
  }
  PluginOperator plugin{given.run, given.meta, given.data, {}};
  size_t fresh = 0;
  for (const SchemaArg& result : op.schema.returns) {
    PAL_TRY(int kind, ClassifyReturn(op.schema, result));
    plugin.returns.push_back(kind);
    if (kind == PluginOperator::kFresh) ++fresh;
  }
  if (fresh > 0 && given.meta == nullptr) {
    return BadInput(
        fmt::format("{}: it returns new tensors, so it must say their sizes: give it "
                    "a meta function",
                    op.schema.ToString()));
  }
  PAL_TRY(CheckTypes(op.schema, fresh, given.run_types, "its function"));
  PAL_TRY(CheckTypes(op.schema, 0, given.meta_types, "its meta function"));
  op.traits.custom = true;
  op.traits.may_refuse = (given.flags & PAL_OP_MAY_REFUSE) != 0;
  op.traits.effect = (given.flags & PAL_OP_EFFECT) != 0;
  if (given.tag != nullptr) op.traits.tag = given.tag;
  op.meta = PluginMeta(plugin);
  op.kernel = PluginKernel(std::move(plugin));
  registration.ops.push_back(std::move(op));
  return {};
}

int DefineCallback(PalHost* host, const PalOperator* given) {
  auto& registration = *static_cast<Registration*>(host->impl);
  Status status = given == nullptr ? Status(BadInput("no operator")) : Define(registration, *given);
  if (status.ok()) return 0;
  if (!registration.error) registration.error = status.error();
  return 1;
}

int FailCallback(PalHost* host, const char* text) {
  auto& registration = *static_cast<Registration*>(host->impl);
  if (!registration.error) registration.error = BadInput(text != nullptr ? text : "it failed");
  return 1;
}

Error WrongVersion(const std::string& name, uint32_t version) {
  return BadInput(
      fmt::format("{}: the library was built for version {} of the operator interface, "
                  "this palimpsest has version {}; build it again with this version's "
                  "headers",
                  name, version, PALIMPSEST_PLUGIN_ABI));
}

// The entry point, or why there is none.
Result<PalimpsestRegisterFn> FindEntry(void* library, const std::string& path) {
  std::string symbol = fmt::format("{}{}", kSymbolPrefix, PALIMPSEST_PLUGIN_ABI);
  if (void* entry = dlsym(library, symbol.c_str())) {
    return reinterpret_cast<PalimpsestRegisterFn>(entry);
  }
  for (uint32_t version = 1; version < 10; ++version) {
    std::string other = fmt::format("{}{}", kSymbolPrefix, version);
    if (dlsym(library, other.c_str()) != nullptr) return WrongVersion(path, version);
  }
  return BadInput(
      fmt::format("{}: it exports no symbol {}, so it is no operator library "
                  "(write it with palimpsest/operator_library.h)",
                  path, symbol));
}

}  // namespace

Status RegisterPlugin(PalimpsestRegisterFn register_fn, const std::string& name, OpTable& table) {
  Registration registration;
  PalHost host = {};
  host.abi = PALIMPSEST_PLUGIN_ABI;
  host.impl = &registration;
  host.define = DefineCallback;
  host.fail = FailCallback;
  uint32_t version = register_fn(&host);
  if (version != PALIMPSEST_PLUGIN_ABI) return WrongVersion(name, version);
  if (registration.error) {
    registration.error->message = fmt::format("{}: {}", name, registration.error->message);
    return *registration.error;
  }
  for (const Op& op : registration.ops) {
    if (table.Find(op.schema.Key()) != nullptr) {
      return UsageError(fmt::format("{}: operator {} exists already", name, op.schema.Key()));
    }
  }
  for (Op& op : registration.ops) PAL_TRY(table.Register(std::move(op)));
  return {};
}

Status LoadPlugin(const std::string& path, OpTable& table) {
  // dlopen looks for a name without a slash in the system's folders only.
  bool here = path.find('/') == std::string::npos && access(path.c_str(), R_OK) == 0;
  std::string file = here ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();
    return BadInput(fmt::format("cannot load the operator library {}: {}", path,
                                reason != nullptr ? reason : "unknown reason"));
  }
  PAL_TRY(PalimpsestRegisterFn entry, FindEntry(library, path));
  return RegisterPlugin(entry, path, table);
}

}  // namespace palimpsest::op
