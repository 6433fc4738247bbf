#include "import/pickle.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <unordered_map>

#include "import/archive.h"
#include "import/storage_bytes.h"

namespace palimpsest::importing {

std::unordered_map<std::string, Pickle::Ref> Pickle::Members(Ref dict) const {
  std::unordered_map<std::string, Ref> members;
  const std::vector<Ref>& items = Items(dict);
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    Kind k = kind(items[i]);
    if (k == Kind::kString) members[AsString(items[i])] = items[i + 1];
    if (k == Kind::kInt) members[fmt::to_string(AsInt(items[i]))] = items[i + 1];
  }
  return members;
}

namespace {

// ---- the names that are known, and what they mean here

enum class Global : uint8_t {
  kOrderedDict,       // () -> an empty dictionary
  kRebuildV2,         // (storage, offset, size, stride, requires_grad, hooks[, metadata]) -> tensor
  kRebuildV3,         // the same with a dtype before the metadata
  kRebuildParameter,  // (tensor, requires_grad, hooks[, attributes]) -> the tensor
  kTypedStorage,      // elements of one dtype
  kUntypedStorage,    // bytes
  kDType,             // an element type
  kSize,              // (tuple) -> the tuple
  kDevice,            // (name[, index]) -> the name
};
struct KnownGlobal {
  const char* name;
  Global global;
  std::optional<DType> dtype;  // absent where palimpsest lacks the type
};
constexpr KnownGlobal kGlobals[] = {
    {"collections OrderedDict", Global::kOrderedDict, {}},
    {"torch._utils _rebuild_tensor_v2", Global::kRebuildV2, {}},
    {"torch._utils _rebuild_tensor_v3", Global::kRebuildV3, {}},
    {"torch._utils _rebuild_parameter", Global::kRebuildParameter, {}},
    {"torch._utils _rebuild_parameter_with_state", Global::kRebuildParameter, {}},
    {"torch Size", Global::kSize, {}},
    {"torch device", Global::kDevice, {}},
    {"torch.storage UntypedStorage", Global::kUntypedStorage, DType::kU8},
    {"torch BoolStorage", Global::kTypedStorage, DType::kB8},
    {"torch ByteStorage", Global::kTypedStorage, DType::kU8},
    {"torch CharStorage", Global::kTypedStorage, DType::kI8},
    {"torch ShortStorage", Global::kTypedStorage, DType::kI16},
    {"torch IntStorage", Global::kTypedStorage, DType::kI32},
    {"torch LongStorage", Global::kTypedStorage, DType::kI64},
    {"torch HalfStorage", Global::kTypedStorage, DType::kF16},
    {"torch BFloat16Storage", Global::kTypedStorage, DType::kBF16},
    {"torch FloatStorage", Global::kTypedStorage, DType::kF32},
    {"torch DoubleStorage", Global::kTypedStorage, DType::kF64},
    {"torch ComplexFloatStorage", Global::kTypedStorage, DType::kC64},
    {"torch ComplexDoubleStorage", Global::kTypedStorage, DType::kC128},
    {"torch bool", Global::kDType, DType::kB8},
    {"torch uint8", Global::kDType, DType::kU8},
    {"torch int8", Global::kDType, DType::kI8},
    {"torch int16", Global::kDType, DType::kI16},
    {"torch int32", Global::kDType, DType::kI32},
    {"torch int64", Global::kDType, DType::kI64},
    {"torch float16", Global::kDType, DType::kF16},
    {"torch bfloat16", Global::kDType, DType::kBF16},
    {"torch float32", Global::kDType, DType::kF32},
    {"torch float64", Global::kDType, DType::kF64},
    {"torch complex64", Global::kDType, DType::kC64},
    {"torch complex128", Global::kDType, DType::kC128},
    {"torch complex32", Global::kDType, {}},
    {"torch uint16", Global::kDType, {}},
    {"torch uint32", Global::kDType, {}},
    {"torch uint64", Global::kDType, {}},
    {"torch float8_e4m3fn", Global::kDType, {}},
    {"torch float8_e5m2", Global::kDType, {}},
    {"torch float8_e4m3fnuz", Global::kDType, {}},
    {"torch float8_e5m2fnuz", Global::kDType, {}},
    {"torch float8_e8m0fnu", Global::kDType, {}},
};

bool IsUtf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    auto c = static_cast<unsigned char>(s[i]);
    size_t n = c < 0x80                ? 1
               : c >= 0xc2 && c < 0xe0 ? 2
               : (c & 0xf0) == 0xe0    ? 3
               : c >= 0xf0 && c < 0xf5 ? 4
                                       : 0;
    if (n == 0 || n > s.size() - i) return false;
    for (size_t k = 1; k < n; ++k) {
      if ((static_cast<unsigned char>(s[i + k]) & 0xc0) != 0x80) return false;
    }
    i += n;
  }
  return true;
}

}  // namespace

// ---- the stack machine

class PickleMachine {
 public:
  PickleMachine(std::string_view data, const std::string& name, const StorageLoader& load)
      : data_(data), name_(name), load_(load) {}

  Result<Pickle> Run() {
    bool stopped = false;
    while (!stopped) {
      opcode_at_ = at_;
      PAL_TRY(std::string_view opcode, Take(1));
      Status status = Step(static_cast<unsigned char>(opcode[0]), stopped);
      if (!status.ok()) return std::move(status).error();
    }
    PAL_TRY(pickle_.root_, Pop());
    if (!stack_.empty() || !marks_.empty()) return Fault("values are left over at its end");
    return std::move(pickle_);
  }

 private:
  using Kind = Pickle::Kind;
  using Ref = Pickle::Ref;
  using Items = std::vector<Ref>;
  struct StorageId {
    std::string key;
    const KnownGlobal* type;
    int64_t numel;
  };

  Error Fault(const std::string& what) const {
    return BadInput(fmt::format("{}: pickle, byte {}: {}", name_, opcode_at_, what));
  }

  Status Step(unsigned char opcode, bool& stopped);
  Status StepNumber(unsigned char opcode);
  Status StepContainer(unsigned char opcode);
  Status StepMemo(unsigned char opcode);
  Status StepGlobal();
  Status StepPersistentId();
  Status StepReduce();
  Status StepBuild();
  Status CheckDType(const KnownGlobal& global) const;
  Result<Ref> RebuildTensor(const KnownGlobal& global, const Items& args);
  Result<Dims> ReadDims(Ref r) const;

  // ---- bytes

  Result<std::string_view> Take(uint64_t n) {
    if (n > data_.size() - at_) return Fault("it ends in the middle of an operation");
    std::string_view result = data_.substr(at_, n);
    at_ += n;
    return result;
  }
  // An unsigned little-endian number of n <= 8 bytes.
  Result<uint64_t> TakeNumber(uint64_t n) {
    PAL_TRY(std::string_view bytes, Take(n));
    uint64_t value = 0;
    for (size_t i = bytes.size(); i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }
  Result<std::string_view> TakeLine() {
    size_t end = data_.find('\n', at_);
    if (end == std::string_view::npos) return Fault("it ends in the middle of a name");
    std::string_view line = data_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }

  // ---- objects and the stack

  Ref Make(Kind kind) {
    pickle_.objects_.emplace_back().kind = kind;
    return static_cast<Ref>(pickle_.objects_.size() - 1);
  }
  void Push(Ref r) { stack_.push_back(r); }
  void PushInt(Kind kind, int64_t v) {
    Ref r = Make(kind);
    pickle_.objects_[r].i = v;
    Push(r);
  }
  Ref MakeItems(Kind kind, Items items) {
    Ref r = Make(kind);
    pickle_.objects_[r].index = static_cast<uint32_t>(pickle_.lists_.size());
    pickle_.lists_.push_back(std::move(items));
    return r;
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Result<Ref> Pop() {
    if (stack_.size() <= floor()) return Fault("an operand is missing");
    Ref r = stack_.back();
    stack_.pop_back();
    return r;
  }
  // Everything above the last mark, which goes too.
  Result<Items> PopToMark() {
    if (marks_.empty()) return Fault("a mark is missing");
    Items items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  Kind kind(Ref r) const { return pickle_.kind(r); }
  Items& ItemsOf(Ref r) { return pickle_.lists_[pickle_.objects_[r].index]; }
  // The container on top of the stack.
  Result<Ref> Top(Kind wanted) const {
    if (stack_.size() <= floor() || kind(stack_.back()) != wanted) {
      return Fault("it adds to something that is no list or dictionary");
    }
    return stack_.back();
  }

  std::string_view data_;
  const std::string& name_;
  const StorageLoader& load_;
  size_t at_ = 0, opcode_at_ = 0;
  Pickle pickle_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::unordered_map<uint64_t, Ref> memo_;
  std::vector<StorageId> storages_;
};

Status PickleMachine::Step(unsigned char opcode, bool& stopped) {
  switch (opcode) {
    case 0x80: {  // PROTO
      PAL_TRY(uint64_t protocol, TakeNumber(1));
      if (protocol != 2 && protocol != 3) {
        return Fault(fmt::format("protocol {} (2 and 3 are read)", protocol));
      }
      return {};
    }
    case 'N':
      Push(Make(Kind::kNone));
      return {};
    case 0x88:
      PushInt(Kind::kBool, 1);
      return {};
    case 0x89:
      PushInt(Kind::kBool, 0);
      return {};
    case 'X': {  // BINUNICODE
      PAL_TRY(uint64_t size, TakeNumber(4));
      PAL_TRY(std::string_view text, Take(size));
      if (!IsUtf8(text)) return Fault("a string that is not UTF-8");
      Ref r = Make(Kind::kString);
      pickle_.objects_[r].index = static_cast<uint32_t>(pickle_.strings_.size());
      pickle_.strings_.emplace_back(text);
      Push(r);
      return {};
    }
    case '(':
      marks_.push_back(stack_.size());
      return {};
    case 'J':
    case 'K':
    case 'M':
    case 0x8a:
    case 'G':
      return StepNumber(opcode);
    case '}':
    case ']':
    case ')':
    case 't':
    case 0x85:
    case 0x86:
    case 0x87:
    case 'a':
    case 'e':
    case 's':
    case 'u':
      return StepContainer(opcode);
    case 'q':
    case 'r':
    case 'h':
    case 'j':
      return StepMemo(opcode);
    case 'c':
      return StepGlobal();
    case 'Q':
      return StepPersistentId();
    case 'R':
      return StepReduce();
    case 'b':
      return StepBuild();
    case '.':
      stopped = true;
      return {};
    default:
      return Fault(fmt::format(
          "opcode 0x{:02x}, which plain data does not need: it is not executed", opcode));
  }
}

Status PickleMachine::StepNumber(unsigned char opcode) {
  uint64_t bytes = opcode == 'K' ? 1 : opcode == 'M' ? 2 : opcode == 'J' ? 4 : 8;
  if (opcode == 0x8a) {  // LONG1
    PAL_TRY(bytes, TakeNumber(1));
    if (bytes > 8) return Fault("an integer of more than 64 bits");
  }
  PAL_TRY(uint64_t raw, TakeNumber(bytes));
  if (opcode == 'G') {  // BINFLOAT, big-endian
    Ref r = Make(Kind::kFloat);
    raw = __builtin_bswap64(raw);
    std::memcpy(&pickle_.objects_[r].d, &raw, sizeof(raw));
    Push(r);
    return {};
  }
  bool is_signed = opcode == 'J' || opcode == 0x8a;
  if (is_signed && bytes > 0 && bytes < 8 && (raw >> (8 * bytes - 1)) != 0) {
    raw |= ~uint64_t{0} << (8 * bytes);
  }
  PushInt(Kind::kInt, static_cast<int64_t>(raw));
  return {};
}

Status PickleMachine::StepContainer(unsigned char opcode) {
  switch (opcode) {
    case '}':
      Push(MakeItems(Kind::kDict, {}));
      return {};
    case ']':
      Push(MakeItems(Kind::kList, {}));
      return {};
    case ')':
      Push(MakeItems(Kind::kTuple, {}));
      return {};
    case 't': {
      PAL_TRY(Items items, PopToMark());
      Push(MakeItems(Kind::kTuple, std::move(items)));
      return {};
    }
    case 0x85:
    case 0x86:
    case 0x87: {
      Items items(opcode - 0x84u);
      for (size_t i = items.size(); i-- > 0;) {
        PAL_TRY(items[i], Pop());
      }
      Push(MakeItems(Kind::kTuple, std::move(items)));
      return {};
    }
    default:
      break;
  }
  Items items;
  if (opcode == 'e' || opcode == 'u') {
    PAL_TRY(items, PopToMark());
  } else {
    items.resize(opcode == 'a' ? 1 : 2);
    for (size_t i = items.size(); i-- > 0;) {
      PAL_TRY(items[i], Pop());
    }
  }
  bool is_list = opcode == 'a' || opcode == 'e';
  if (!is_list && items.size() % 2 != 0) return Fault("a key without a value");
  PAL_TRY(Ref container, Top(is_list ? Kind::kList : Kind::kDict));
  Items& target = ItemsOf(container);
  target.insert(target.end(), items.begin(), items.end());
  return {};
}

Status PickleMachine::StepMemo(unsigned char opcode) {
  PAL_TRY(uint64_t index, TakeNumber(opcode == 'q' || opcode == 'h' ? 1 : 4));
  if (opcode == 'q' || opcode == 'r') {
    if (stack_.size() <= floor()) return Fault("an operand is missing");
    memo_[index] = stack_.back();
    return {};
  }
  auto it = memo_.find(index);
  if (it == memo_.end()) return Fault(fmt::format("there is no memo {}", index));
  Push(it->second);
  return {};
}

Status PickleMachine::StepGlobal() {
  PAL_TRY(std::string_view module, TakeLine());
  PAL_TRY(std::string_view name, TakeLine());
  std::string full = fmt::format("{} {}", module, name);
  for (size_t i = 0; i < std::size(kGlobals); ++i) {
    if (full != kGlobals[i].name) continue;
    Ref r = Make(kGlobals[i].global == Global::kDType ? Kind::kDType : Kind::kGlobal);
    pickle_.objects_[r].index = static_cast<uint32_t>(i);
    Push(r);
    return {};
  }
  return Fault(
      fmt::format("it asks for '{}.{}', which plain data does not need: it is not executed",
                  Shown(module), Shown(name)));
}

// ('storage', type, key, location, number of elements)
Status PickleMachine::StepPersistentId() {
  PAL_TRY(Ref id, Pop());
  const char* kWhat = "a persistent id that is no storage";
  if (kind(id) != Kind::kTuple) return Fault(kWhat);
  const Items& parts = pickle_.Items(id);
  if (parts.size() != 5 || kind(parts[0]) != Kind::kString || kind(parts[1]) != Kind::kGlobal ||
      kind(parts[2]) != Kind::kString || kind(parts[4]) != Kind::kInt ||
      pickle_.AsString(parts[0]) != "storage") {
    return Fault(kWhat);
  }
  const KnownGlobal& type = kGlobals[pickle_.objects_[parts[1]].index];
  if (type.global != Global::kTypedStorage && type.global != Global::kUntypedStorage) {
    return Fault(fmt::format("'{}' is no storage type", type.name));
  }
  int64_t numel = pickle_.AsInt(parts[4]);
  if (numel < 0) return Fault(fmt::format("a storage of {} elements", numel));
  Ref r = Make(Kind::kStorage);
  pickle_.objects_[r].index = static_cast<uint32_t>(storages_.size());
  storages_.push_back({pickle_.AsString(parts[2]), &type, numel});
  Push(r);
  return {};
}

Status PickleMachine::StepReduce() {
  PAL_TRY(Ref args, Pop());
  PAL_TRY(Ref callee, Pop());
  if (kind(callee) != Kind::kGlobal || kind(args) != Kind::kTuple) {
    return Fault("a call of something that is no known name: it is not executed");
  }
  const KnownGlobal& global = kGlobals[pickle_.objects_[callee].index];
  const Items items = pickle_.Items(args);
  Error wrong = Fault(fmt::format("'{}' with arguments that it does not take", global.name));
  switch (global.global) {
    case Global::kOrderedDict:
      if (!items.empty()) return wrong;
      Push(MakeItems(Kind::kDict, {}));
      return {};
    case Global::kRebuildV2:
    case Global::kRebuildV3: {
      PAL_TRY(Ref tensor, RebuildTensor(global, items));
      Push(tensor);
      return {};
    }
    case Global::kRebuildParameter:
      if (items.size() < 3 || items.size() > 4 || kind(items[0]) != Kind::kTensor) return wrong;
      Push(items[0]);
      return {};
    case Global::kSize:
      if (items.size() != 1 || kind(items[0]) != Kind::kTuple) return wrong;
      Push(items[0]);
      return {};
    case Global::kDevice:
      if (items.empty() || kind(items[0]) != Kind::kString) return wrong;
      Push(items[0]);
      return {};
    default:
      return wrong;
  }
}

// State of an OrderedDict (its `_metadata`): nothing that a program needs.
Status PickleMachine::StepBuild() {
  PAL_TRY(Ref state, Pop());
  if (kind(state) != Kind::kDict) return Fault("object state that is no dictionary");
  if (stack_.size() <= floor() || kind(stack_.back()) != Kind::kDict) {
    return Fault("state for something that is no dictionary: it is not executed");
  }
  return {};
}

Status PickleMachine::CheckDType(const KnownGlobal& global) const {
  if (global.dtype) return {};
  return Unsupported(fmt::format("{}: elements of type {}", name_, global.name));
}

Result<Dims> PickleMachine::ReadDims(Ref r) const {
  if (kind(r) != Kind::kTuple) return Fault("sizes that are no tuple");
  Dims dims;
  for (Ref item : pickle_.Items(r)) {
    if (kind(item) != Kind::kInt) return Fault("a size that is no integer");
    dims.push_back(pickle_.AsInt(item));
  }
  return dims;
}

Result<Pickle::Ref> PickleMachine::RebuildTensor(const KnownGlobal& global, const Items& args) {
  bool v3 = global.global == Global::kRebuildV3;
  size_t least = v3 ? 7 : 6;
  if (args.size() < least || args.size() > least + 1 || kind(args[0]) != Kind::kStorage ||
      kind(args[1]) != Kind::kInt || kind(args[5]) != Kind::kDict ||
      (v3 && kind(args[6]) != Kind::kDType)) {
    return Fault("a tensor whose parts are not a storage, an offset, sizes and strides");
  }
  const StorageId& id = storages_[pickle_.objects_[args[0]].index];
  const KnownGlobal& type = v3 ? kGlobals[pickle_.objects_[args[6]].index] : *id.type;
  PAL_TRY(CheckDType(type));
  if (!v3 && id.type->global == Global::kUntypedStorage) return Fault("a tensor without a type");
  PAL_TRY(Dims sizes, ReadDims(args[2]));
  PAL_TRY(Dims strides, ReadDims(args[3]));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(id.numel, ItemSize(*id.type->dtype), &bytes)) {
    return Fault(fmt::format("a storage of {} elements", id.numel));
  }
  PAL_TRY(StorageRef storage, load_(id.key, *type.dtype, bytes));
  std::string what = fmt::format("{}: pickle, byte {}: the tensor in record '{}'", name_,
                                 opcode_at_, Shown(id.key));
  PAL_TRY(View view,
          CheckedView(*type.dtype, sizes, strides, pickle_.AsInt(args[1]), storage->bytes(), what));
  Ref r = Make(Kind::kTensor);
  pickle_.objects_[r].index = static_cast<uint32_t>(pickle_.tensors_.size());
  pickle_.tensors_.emplace_back(std::move(view), std::move(storage));
  return r;
}

Result<Pickle> ReadPickle(std::string_view data, const std::string& name,
                          const StorageLoader& load_storage) {
  return PickleMachine(data, name, load_storage).Run();
}

}  // namespace palimpsest::importing
