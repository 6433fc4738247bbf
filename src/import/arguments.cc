// Arguments of nodes: a union of one member, whose name says what it is.

#include <fmt/format.h>

#include "import/archive.h"
#include "import/graph_reader.h"

namespace palimpsest::importing {
namespace {

using ir::Argument;

Error Malformed(std::string_view tag) {
  return BadInput(fmt::format("{} with a value of another kind", Shown(tag)));
}

Result<Argument> Number(std::string_view tag, Json value) {
  if (auto i = value.AsInt()) return Argument(*i);
  return Malformed(tag);
}
Result<Argument> Float(std::string_view tag, Json value) {
  if (auto d = value.AsDouble()) return Argument(*d);
  return Malformed(tag);
}
Result<Argument> Flag(std::string_view tag, Json value) {
  if (auto b = value.AsBool()) return Argument(*b);
  return Malformed(tag);
}
Result<Argument> Text(std::string_view tag, Json value) {
  if (auto s = value.AsString()) return Argument(std::string(*s));
  return Malformed(tag);
}

template <typename F>
Result<Argument> ListOf(std::string_view tag, Json list, F&& item) {
  if (!list.IsArray()) return Malformed(tag);
  Argument::List items;
  items.reserve(list.size());
  PAL_TRY(list.ForEach([&](Json element) -> Status {
    PAL_TRY(Argument value, item(element));
    items.push_back(std::move(value));
    return {};
  }));
  return Argument(std::move(items));
}

Result<Argument> Complex(Json value) {
  std::optional<double> real = value["real"].AsDouble(), imag = value["imag"].AsDouble();
  if (!real || !imag) return Malformed("as_complex");
  return Argument(std::complex<double>(*real, *imag));
}

Result<Argument> DeviceOf(Json value) {
  std::optional<std::string_view> type = value["type"].AsString();
  if (!type) return Malformed("as_device");
  Device device;
  device.type = *type;
  device.index = static_cast<int>(value["index"].AsInt().value_or(-1));
  return Argument(std::move(device));
}

}  // namespace

Result<Argument> GraphReader::Reference(Json payload) {
  if (auto name = payload["name"].AsString()) return Lookup(*name);
  if (auto name = payload["as_name"].AsString()) return Lookup(*name);
  if (auto number = payload["as_int"].AsInt()) return Argument(*number);
  if (auto number = payload["as_float"].AsDouble()) return Argument(*number);
  if (auto flag = payload["as_bool"].AsBool()) return Argument(*flag);
  return BadInput("a reference without a name");
}

Result<Argument> GraphReader::ReadArgument(Json argument) {
  auto member = argument.OnlyMember();
  if (!member) return BadInput("it is no union of one member");
  auto [tag, value] = *member;
  auto reference = [this](Json item) { return Reference(item); };
  auto number = [tag = tag](Json item) { return Number(tag, item); };
  auto real = [tag = tag](Json item) { return Float(tag, item); };

  if (tag == "as_tensor" || tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") {
    return Reference(value);
  }
  if (tag == "as_none") return Argument();
  if (tag == "as_int") return Number(tag, value);
  if (tag == "as_float") return Float(tag, value);
  if (tag == "as_bool") return Flag(tag, value);
  if (tag == "as_string") return Text(tag, value);
  if (tag == "as_complex") return Complex(value);
  if (tag == "as_ints") return ListOf(tag, value, number);
  if (tag == "as_floats") return ListOf(tag, value, real);
  if (tag == "as_bools") {
    return ListOf(tag, value, [&](Json item) { return Flag("as_bools", item); });
  }
  if (tag == "as_strings") {
    return ListOf(tag, value, [&](Json item) { return Text("as_strings", item); });
  }
  if (tag == "as_int_lists" || tag == "as_float_lists") {
    bool ints = tag == "as_int_lists";
    return ListOf(tag, value, [&](Json list) {
      return ints ? ListOf("as_int_lists", list, number) : ListOf("as_float_lists", list, real);
    });
  }
  if (tag == "as_tensors" || tag == "as_sym_ints" || tag == "as_sym_floats" ||
      tag == "as_sym_bools") {
    return ListOf(tag, value, reference);
  }
  if (tag == "as_nested_tensors") {
    return ListOf(tag, value,
                  [&](Json list) { return ListOf("as_nested_tensors", list, reference); });
  }
  if (tag == "as_optional_tensor") return ReadArgument(value);
  if (tag == "as_optional_tensors") {
    return ListOf(tag, value, [&](Json item) { return ReadArgument(item); });
  }
  if (tag == "as_scalar_type") {
    PAL_TRY(DType dtype, DTypeOfCode(value));
    return Argument(dtype);
  }
  if (tag == "as_memory_format") {
    PAL_TRY(MemoryFormat format, MemoryFormatOfCode(value));
    return Argument(format);
  }
  if (tag == "as_layout") return Argument(LayoutOfCode(value));
  if (tag == "as_device") return DeviceOf(value);
  if (tag == "as_graph") return ReadSubgraph(value);
  if (tag == "as_operator") {
    std::optional<std::string_view> target = value.AsString();
    if (!target) return Malformed(tag);
    return Argument(ir::OpRef{std::string(*target), FindOperator(context_.ops, *target)});
  }
  if (tag == "as_string_to_argument") {
    if (!value.IsObject()) return Malformed(tag);
    Argument::Dict dict;
    PAL_TRY(value.ForEachMember([&](std::string_view key, Json item) -> Status {
      PAL_TRY(Argument v, ReadArgument(item));
      dict.emplace_back(std::string(key), std::move(v));
      return {};
    }));
    return Argument(std::move(dict));
  }
  if (tag == "as_custom_obj") {
    return Unsupported(fmt::format("an object of class '{}' (TorchBind)",
                                   Shown(value["class_fqn"].AsString().value_or("?"))));
  }
  return BadInput(fmt::format("unknown kind of argument '{}'", Shown(tag)));
}

}  // namespace palimpsest::importing
