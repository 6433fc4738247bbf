#include "driver/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace palimpsest::driver {
namespace {

// A stretch of memory that one or more storages show.
struct Region {
  std::byte* begin;
  std::byte* end;
  std::vector<StorageRef> members;
};

std::vector<Region> RegionsOf(std::span<const Value> inputs) {
  std::vector<StorageRef> storages;
  for (const Value& input : inputs) {
    ForEachTensor(input, [&](const Tensor& t) {
      if (!t.storage->shape_only() && t.storage->bytes() > 0) storages.push_back(t.storage);
    });
  }
  std::sort(storages.begin(), storages.end(), [](const StorageRef& a, const StorageRef& b) {
    return std::pair(a->data(), a.get()) < std::pair(b->data(), b.get());
  });
  storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
  std::vector<Region> regions;
  for (StorageRef& storage : storages) {
    std::byte* end = storage->data() + storage->bytes();
    if (!regions.empty() && storage->data() < regions.back().end) {
      regions.back().end = std::max(regions.back().end, end);
      regions.back().members.push_back(std::move(storage));
    } else {
      regions.push_back({storage->data(), end, {}});
      regions.back().members.push_back(std::move(storage));
    }
  }
  return regions;
}

Result<Value> Rebase(const Value& value, const std::map<Storage*, StorageRef>& merged) {
  if (value.IsList()) {
    Value::List list;
    for (const Value& item : value.list()) {
      PAL_TRY(Value v, Rebase(item, merged));
      list.push_back(std::move(v));
    }
    return Value(std::move(list));
  }
  if (!value.IsTensor()) return value;
  const Tensor& t = value.tensor();
  auto it = merged.find(t.storage.get());
  if (it == merged.end()) return value;
  int64_t shift = t.storage->data() - it->second->data();
  if (shift % t.item_size() != 0) {
    return BadInput(
        fmt::format("two inputs share memory, and the elements of {} lie {} bytes after the start "
                    "of the shared "
                    "block, which is no multiple of the element size: pass views of one storage",
                    ToString(t.view()), shift));
  }
  Tensor moved = t;
  moved.storage = it->second;
  moved.offset += shift / t.item_size();
  return Value(std::move(moved));
}

void AppendDims(std::string& key, std::span<const int64_t> dims) {
  for (int64_t d : dims) {
    key += std::to_string(d);
    key += ',';
  }
  key += ';';
}

// Builds the key and the shape-only inputs together.
class SignatureBuilder {
 public:
  Value Add(const Value& value) {
    if (value.IsTensor()) return Value(AddTensor(value.tensor()));
    if (value.IsList()) {
      Value::List list;
      signature_.key += '[';
      for (const Value& item : value.list()) list.push_back(Add(item));
      signature_.key += ']';
      return Value(std::move(list));
    }
    AddConstant(value);
    return value;
  }
  void AddConstant(const Value& value) {
    std::string& key = signature_.key;
    if (value.IsNone()) {
      key += "N;";
    } else if (value.Is<bool>()) {
      key += value.As<bool>() ? "T;" : "F;";
    } else if (value.Is<int64_t>()) {
      key += fmt::format("i{};", value.As<int64_t>());
    } else if (value.Is<double>()) {
      key += fmt::format("f{:a};", value.As<double>());
    } else if (value.Is<std::string>()) {
      key += fmt::format("s{}:{};", value.As<std::string>().size(), value.As<std::string>());
    } else if (value.IsList()) {
      key += '[';
      for (const Value& v : value.list()) AddConstant(v);
      key += ']';
    } else if (value.Is<std::complex<double>>()) {
      const auto& c = value.As<std::complex<double>>();
      key += fmt::format("c{:a},{:a};", c.real(), c.imag());
    } else if (value.Is<DType>()) {
      key += fmt::format("d{};", static_cast<int>(value.As<DType>()));
    } else if (value.Is<MemoryFormat>()) {
      key += fmt::format("m{};", static_cast<int>(value.As<MemoryFormat>()));
    }  // layouts and devices: there is one of each
  }
  CallSignature Take(std::vector<Value> inputs) {
    signature_.inputs = std::move(inputs);
    return std::move(signature_);
  }

 private:
  Tensor AddTensor(const Tensor& t) {
    auto [it, is_new] = index_.emplace(t.storage.get(), shape_only_.size());
    if (is_new) {
      shape_only_.push_back(ShapeOnlyStorage(t.storage->bytes()));
      signature_.storages.push_back(t.storage);
    }
    std::string& key = signature_.key;
    key += fmt::format("{}@{}+{}", DTypeName(t.dtype), it->second, t.offset);
    if (is_new) key += fmt::format("/{}", t.storage->bytes());
    if (t.object != 0) {
      auto object = objects_.emplace(t.object, objects_.size()).first;
      key += fmt::format("o{}", object->second);
    }
    key += '(';
    AppendDims(key, t.sizes);
    AppendDims(key, t.strides);
    Tensor shape_only(t.view(), shape_only_[it->second]);
    shape_only.object = t.object;
    return shape_only;
  }

  CallSignature signature_;
  std::map<Storage*, size_t> index_;
  std::map<int64_t, size_t> objects_;
  std::vector<StorageRef> shape_only_;
};

}  // namespace

Result<std::vector<Value>> MergeStorages(std::span<const Value> inputs) {
  std::map<Storage*, StorageRef> merged;
  for (Region& region : RegionsOf(inputs)) {
    if (region.members.size() < 2) continue;
    auto owners = std::make_shared<std::vector<StorageRef>>(region.members);
    auto storage = std::make_shared<Storage>(region.begin, region.end - region.begin, owners);
    storage->set_resizable(false);
    for (const StorageRef& member : region.members) merged[member.get()] = storage;
  }
  std::vector<Value> result;
  for (const Value& input : inputs) {
    PAL_TRY(Value value, Rebase(input, merged));
    result.push_back(std::move(value));
  }
  return result;
}

CallSignature SignatureOf(std::span<const Value> inputs, std::span<const Value> data) {
  SignatureBuilder builder;
  std::vector<Value> shape_only;
  for (const Value& input : inputs) shape_only.push_back(builder.Add(input));
  for (const Value& number : data) builder.AddConstant(number);
  return builder.Take(std::move(shape_only));
}

std::string Describe(const CallSignature& signature, std::span<const std::string> names) {
  std::map<Storage*, std::string> first_name;
  std::string text;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const Value& input = signature.inputs[i];
    std::string name = i < names.size() ? names[i] : fmt::format("input {}", i);
    if (!text.empty()) text += "; ";
    if (!input.IsTensor()) {
      text += fmt::format("{}: constant", name);
      continue;
    }
    const Tensor& t = input.tensor();
    text += fmt::format("{}: {}", name, ToString(t.view()));
    auto [it, is_new] = first_name.emplace(t.storage.get(), name);
    if (!is_new) text += fmt::format(" in the storage of {}", it->second);
    if (t.offset != 0) text += fmt::format(" at offset {}", t.offset);
  }
  return text;
}

}  // namespace palimpsest::driver
