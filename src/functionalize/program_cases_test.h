// tests/cases/programs-open.jsonl for unit tests: a case's inputs, and the comparison of a run with
// what the case expects (tests/cases/README.md).
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/overlap.h"
#include "palimpsest/value.h"

namespace palimpsest::functionalize {

using Json = rapidjson::Value;

inline std::vector<std::unique_ptr<rapidjson::Document>> ReadCases() {
  std::ifstream file(std::string(PAL_SOURCE_DIR) + "/tests/cases/programs-open.jsonl");
  std::vector<std::unique_ptr<rapidjson::Document>> cases;
  for (std::string line; std::getline(file, line);) {
    auto document = std::make_unique<rapidjson::Document>();
    document->Parse<rapidjson::kParseFullPrecisionFlag | rapidjson::kParseNanAndInfFlag>(
        line.c_str());
    if (!document->HasParseError()) cases.push_back(std::move(document));
  }
  return cases;
}

inline DType CaseDType(const Json& j) { return *DTypeFromName(j.GetString()); }

inline double CaseNumber(const Json& j) {
  if (j.IsBool()) return j.GetBool() ? 1 : 0;
  if (!j.IsString()) return j.GetDouble();
  std::string s = j.GetString();
  if (s == "nan") return std::nan("");
  return s == "inf" ? HUGE_VAL : -HUGE_VAL;
}

inline void PutElement(std::byte* at, DType dtype, double d, int64_t i) {
  auto put = [at](auto v) { std::memcpy(at, &v, sizeof(v)); };
  switch (dtype) {
    case DType::kB8:
      put(static_cast<uint8_t>(i != 0));
      break;
    case DType::kU8:
      put(static_cast<uint8_t>(i));
      break;
    case DType::kI8:
      put(static_cast<int8_t>(i));
      break;
    case DType::kI16:
      put(static_cast<int16_t>(i));
      break;
    case DType::kI32:
      put(static_cast<int32_t>(i));
      break;
    case DType::kI64:
      put(i);
      break;
    case DType::kF32:
      put(static_cast<float>(d));
      break;
    case DType::kF64:
      put(d);
      break;
    default:
      FAIL() << "no such element type in the cases";
  }
}

template <typename T>
T LoadAs(const std::byte* at) {
  T v;
  std::memcpy(&v, at, sizeof(v));
  return v;
}
// The element as a double, and exactly as an integer.
inline std::pair<double, int64_t> GetElement(const std::byte* at, DType dtype) {
  auto both = [](auto v) { return std::pair(static_cast<double>(v), static_cast<int64_t>(v)); };
  switch (dtype) {
    case DType::kB8:
    case DType::kU8:
      return both(LoadAs<uint8_t>(at));
    case DType::kI8:
      return both(LoadAs<int8_t>(at));
    case DType::kI16:
      return both(LoadAs<int16_t>(at));
    case DType::kI32:
      return both(LoadAs<int32_t>(at));
    case DType::kI64:
      return both(LoadAs<int64_t>(at));
    case DType::kF32:
      return {static_cast<double>(LoadAs<float>(at)), 0};
    default:
      return {LoadAs<double>(at), 0};
  }
}

inline bool SameNumber(const std::byte* at, DType dtype, const Json& expected) {
  auto [d, i] = GetElement(at, dtype);
  if (IsIntegral(dtype)) {
    if (expected.IsBool()) return i == (expected.GetBool() ? 1 : 0);
    return expected.IsInt64() ? i == expected.GetInt64() : d == CaseNumber(expected);
  }
  double e = CaseNumber(expected);
  if (std::isnan(e)) return std::isnan(d);
  return d == e || std::abs(d - e) <= 1e-5 * std::max(1.0, std::abs(e));
}

struct CaseMemory {
  std::vector<StorageRef> storages;
  std::vector<DType> dtypes;
  std::vector<Value> args;
};

inline uint32_t FillBits(uint32_t i, uint32_t seed) {
  uint32_t x = i * 2654435761u + seed * 40503u + 12345u;
  x ^= x >> 16;
  x *= 2246822519u;
  return x ^ (x >> 13);
}

inline void FillStorage(const Json& json, Storage& storage, DType dtype) {
  int64_t n = json["n"].GetInt64();
  for (int64_t i = 0; i < n; ++i) {
    std::byte* at = storage.data() + i * ItemSize(dtype);
    if (json.HasMember("vals")) {
      const Json& v = json["vals"][static_cast<rapidjson::SizeType>(i)];
      PutElement(at, dtype, CaseNumber(v), v.IsInt64() ? v.GetInt64() : CaseNumber(v) != 0);
      continue;
    }
    uint32_t x = FillBits(static_cast<uint32_t>(i), json["fill"].GetUint());
    int64_t k = static_cast<int64_t>(x % 17) - 8;
    int64_t whole = dtype == DType::kB8   ? static_cast<int64_t>(x & 1)
                    : dtype == DType::kU8 ? k + 8
                                          : k;
    PutElement(at, dtype, static_cast<double>(k) / 4, whole);
  }
}

inline Dims CaseDims(const Json& j) {
  Dims dims;
  for (const Json& v : j.GetArray()) dims.push_back(v.GetInt64());
  return dims;
}

inline CaseMemory MakeCaseMemory(const Json& c) {
  CaseMemory memory;
  for (const Json& s : c["storages"].GetArray()) {
    DType dtype = CaseDType(s["dt"]);
    StorageRef storage = *AllocateStorage(s["n"].GetInt64() * ItemSize(dtype));
    FillStorage(s, *storage, dtype);
    memory.storages.push_back(storage);
    memory.dtypes.push_back(dtype);
  }
  for (const Json& a : c["args"].GetArray()) {
    if (a.HasMember("arg")) {
      memory.args.push_back(memory.args[a["arg"].GetUint()]);
      continue;
    }
    size_t s = a["s"].GetUint();
    View view{memory.dtypes[s], CaseDims(a["sz"]), CaseDims(a["st"]), a["of"].GetInt64()};
    Tensor t(view, memory.storages[s]);
    t.object = static_cast<int64_t>(memory.args.size()) + 1;
    memory.args.emplace_back(t);
  }
  return memory;
}

// The call signature: the same on shape-only storages.
inline std::vector<Value> ShapeOnly(const CaseMemory& memory) {
  std::map<Storage*, StorageRef> shapes;
  for (const StorageRef& s : memory.storages) shapes[s.get()] = ShapeOnlyStorage(s->bytes());
  std::vector<Value> args = memory.args;
  for (Value& v : args) v.As<Tensor>().storage = shapes[v.tensor().storage.get()];
  return args;
}

inline std::string CompareElements(const Tensor& t, const Json& vals) {
  int64_t n = t.numel();
  if (static_cast<int64_t>(vals.Size()) != n) return "number of elements";
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, at = 0;
    for (size_t d = t.dim(); d-- > 0;) {
      at += rest % t.sizes[d] * t.strides[d];
      rest /= t.sizes[d];
    }
    const std::byte* p = t.data() + at * t.item_size();
    if (!SameNumber(p, t.dtype, vals[static_cast<rapidjson::SizeType>(i)])) {
      return fmt::format("element {}: {}", i, GetElement(p, t.dtype).first);
    }
  }
  return "";
}

// "" if the outputs of one call and the memory after it are as expected, else the difference.
inline std::string CompareOutputs(const Json& expect, const CaseMemory& memory,
                                  const std::vector<Value>& results) {
  std::vector<Tensor> outputs;
  for (const Value& v : results) ForEachTensor(v, [&](const Tensor& t) { outputs.push_back(t); });
  const Json& expected = expect["outputs"];
  if (outputs.size() != expected.Size()) return fmt::format("{} outputs", outputs.size());
  std::map<const Storage*, std::string> label;
  std::map<std::string, std::pair<int64_t, int64_t>> first;  // f0 -> (offset, expected offset)
  for (size_t s = 0; s < memory.storages.size(); ++s) {
    label[memory.storages[s].get()] = fmt::format("s{}", s);
  }
  size_t fresh = 0;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& t = outputs[k];
    const Json& e = expected[static_cast<rapidjson::SizeType>(k)];
    std::string where = fmt::format("output {}: ", k);
    if (t.dtype != CaseDType(e["dt"])) return where + "dtype";
    if (t.sizes != CaseDims(e["sz"])) return where + "sizes " + ToString(t.view());
    if (t.strides != CaseDims(e["st"])) return where + "strides " + ToString(t.view());
    if (!label.contains(t.storage.get())) label[t.storage.get()] = fmt::format("f{}", fresh++);
    std::string mem = label[t.storage.get()];
    if (t.numel() > 0 && mem != e["mem"].GetString()) return where + "memory " + mem;
    int64_t of = e["of"].GetInt64();
    if (t.numel() > 0 && mem[0] == 's' && t.offset != of) return where + "offset";
    auto [it, is_first] = first.try_emplace(mem, t.offset, of);
    if (!is_first && t.numel() > 0 && t.offset - it->second.first != of - it->second.second &&
        mem[0] == 'f') {
      return where + "distance";
    }
    if (std::string diff = CompareElements(t, e["vals"]); !diff.empty()) return where + diff;
  }
  return "";
}

inline std::vector<std::vector<std::byte>> Snapshot(const CaseMemory& memory) {
  std::vector<std::vector<std::byte>> bytes;
  for (const StorageRef& s : memory.storages) bytes.emplace_back(s->data(), s->data() + s->bytes());
  return bytes;
}

inline std::string CompareAfter(const Json& expect, const CaseMemory& memory,
                                const std::vector<std::vector<std::byte>>& before) {
  for (size_t s = 0; s < memory.storages.size(); ++s) {
    const Json& after = expect["after"][static_cast<rapidjson::SizeType>(s)];
    const Storage& storage = *memory.storages[s];
    if (after.IsNull()) {
      if (std::memcmp(storage.data(), before[s].data(), before[s].size()) != 0) {
        return fmt::format("storage {} was changed", s);
      }
      continue;
    }
    int64_t n = storage.bytes() / ItemSize(memory.dtypes[s]);
    Tensor all(ContiguousView(memory.dtypes[s], Dims{n}), memory.storages[s]);
    if (std::string diff = CompareElements(all, after); !diff.empty()) {
      return fmt::format("storage {} after: {}", s, diff);
    }
  }
  return "";
}

}  // namespace palimpsest::functionalize
