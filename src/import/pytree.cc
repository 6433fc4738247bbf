// Specs come from JSON, whose nesting is limited (json.h): these functions may recurse.

#include "import/pytree.h"

#include <fmt/format.h>

#include "import/archive.h"
#include "import/json.h"

namespace palimpsest::importing {

size_t PyTree::num_leaves() const {
  if (is_leaf) return 1;
  size_t n = 0;
  for (const PyTree& child : children) n += child.num_leaves();
  return n;
}

std::string PyTree::ToString() const {
  if (is_leaf) return "*";
  bool is_tuple = type == "builtins.tuple";
  std::string result = !keys.empty() ? "{" : is_tuple ? "(" : "[";
  for (size_t i = 0; i < children.size(); ++i) {
    if (i > 0) result += ", ";
    if (!keys.empty()) result += fmt::format("'{}': ", keys[i]);
    result += children[i].ToString();
  }
  if (is_tuple && children.size() == 1) result += ",";
  result += !keys.empty() ? "}" : is_tuple ? ")" : "]";
  return result;
}

namespace {

// The keys of a dictionary are its context: a JSON list, or (defaultdict) an object that holds it.
Result<std::vector<std::string>> ReadKeys(std::string_view context, const std::string& name) {
  PAL_TRY(JsonTape tape, ParseJson(context, name));
  Json list = tape.root();
  if (list.IsObject()) list = list["dict_context"];
  std::vector<std::string> keys;
  PAL_TRY(list.ForEach([&](Json key) -> Status {
    if (auto text = key.AsString()) {
      keys.emplace_back(*text);
    } else if (auto number = key.AsInt()) {
      keys.push_back(fmt::to_string(*number));
    } else {
      keys.emplace_back("?");
    }
    return {};
  }));
  return keys;
}

bool IsDict(std::string_view type) {
  return type == "builtins.dict" || type == "collections.OrderedDict" ||
         type == "collections.defaultdict" ||
         type == "torch.fx.immutable_collections.immutable_dict";
}
bool IsSequence(std::string_view type) {
  return type == "builtins.tuple" || type == "builtins.list" ||
         type == "torch.fx.immutable_collections.immutable_list";
}

Result<PyTree> ReadNode(Json node, const std::string& name) {
  if (!node.IsObject()) return BadInput(fmt::format("{}: a node that is no object", name));
  PyTree tree;
  if (node["type"].IsAbsent()) return tree;
  std::optional<std::string_view> type = node["type"].AsString();
  Json children = node["children_spec"];
  if (!type || !children.IsArray()) {
    return BadInput(fmt::format("{}: a node without type or children", name));
  }
  tree.is_leaf = false;
  tree.type = *type;
  PAL_TRY(children.ForEach([&](Json child) -> Status {
    PAL_TRY(PyTree c, ReadNode(child, name));
    tree.children.push_back(std::move(c));
    return {};
  }));
  if (IsDict(tree.type)) {
    std::optional<std::string_view> context = node["context"].AsString();
    if (!context) return BadInput(fmt::format("{}: a dictionary without keys", name));
    PAL_TRY(tree.keys, ReadKeys(*context, name));
    if (tree.keys.size() != tree.children.size()) {
      return BadInput(fmt::format("{}: a dictionary of {} keys and {} values", name,
                                  tree.keys.size(), tree.children.size()));
    }
  }
  return tree;
}

Result<Value> LeafValue(const Pickle& pickle, Pickle::Ref r) {
  switch (pickle.kind(r)) {
    case Pickle::Kind::kNone:
      return Value();
    case Pickle::Kind::kBool:
      return Value(pickle.AsBool(r));
    case Pickle::Kind::kInt:
      return Value(pickle.AsInt(r));
    case Pickle::Kind::kFloat:
      return Value(pickle.AsFloat(r));
    case Pickle::Kind::kString:
      return Value(pickle.AsString(r));
    case Pickle::Kind::kTensor:
      return Value(pickle.AsTensor(r));
    default:
      return BadInput("a value that is no tensor, number, string or None");
  }
}

Status Flatten(const Pickle& pickle, const PyTree& tree, Pickle::Ref r, std::vector<Value>& out) {
  if (tree.is_leaf) {
    PAL_TRY(Value value, LeafValue(pickle, r));
    out.push_back(std::move(value));
    return {};
  }
  Pickle::Kind kind = pickle.kind(r);
  if (IsSequence(tree.type)) {
    if (kind != Pickle::Kind::kTuple && kind != Pickle::Kind::kList) {
      return BadInput(fmt::format("something other than a {}", tree.type));
    }
    const std::vector<Pickle::Ref>& items = pickle.Items(r);
    if (items.size() != tree.children.size()) {
      return BadInput(fmt::format("{} values instead of {}", items.size(), tree.children.size()));
    }
    for (size_t i = 0; i < items.size(); ++i) {
      PAL_TRY(Flatten(pickle, tree.children[i], items[i], out));
    }
    return {};
  }
  if (!IsDict(tree.type)) return BadInput(fmt::format("a container of type {}", Shown(tree.type)));
  if (kind != Pickle::Kind::kDict) return BadInput("something other than a dictionary");
  auto members = pickle.Members(r);
  for (size_t i = 0; i < tree.keys.size(); ++i) {
    auto item = members.find(tree.keys[i]);
    if (item == members.end()) {
      return BadInput(fmt::format("no value for '{}'", Shown(tree.keys[i])));
    }
    PAL_TRY(Flatten(pickle, tree.children[i], item->second, out));
  }
  return {};
}

}  // namespace

Result<PyTree> ParsePyTree(std::string_view text, const std::string& name) {
  PAL_TRY(JsonTape tape, ParseJson(text, name));
  Json root = tape.root();
  Json node;
  size_t at = 0;
  PAL_TRY(root.ForEach([&](Json item) -> Status {
    if (at++ == 1) node = item;
    return {};
  }));
  if (at != 2) return BadInput(fmt::format("{}: is not [1, tree]", name));
  return ReadNode(node, name);
}

Result<std::vector<Value>> FlattenPickle(const Pickle& pickle, const PyTree& tree) {
  std::vector<Value> values;
  PAL_TRY(Flatten(pickle, tree, pickle.root(), values));
  return values;
}

}  // namespace palimpsest::importing
