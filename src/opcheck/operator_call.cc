#include "opcheck/operator_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace palimpsest::opcheck {
namespace {

class Drawing {
 public:
  explicit Drawing(std::mt19937_64& random) : random_(random) {
    for (int64_t& size : palette_) size = 1 + static_cast<int64_t>(Below(5));
    habit_ = Below(4);
    constexpr DType kMain[] = {DType::kF32, DType::kF32,  DType::kF32, DType::kF64,
                               DType::kI64, DType::kBF16, DType::kI32};
    main_ = kMain[Below(std::size(kMain))];
    shared_rank_ = Below(4);
  }

  Operand Draw(const op::SchemaArg& arg) {
    Operand operand;
    const op::SchemaType& type = arg.type;
    if (type.IsTensorLike()) {
      const bool absent = type.IsOptional() && !type.IsList() && Below(3) == 0;
      if (absent) return operand;
      operand.is_list = type.IsList();
      const bool holes = operand.is_list && type.postfixes.size() > 1;
      const size_t count = operand.is_list ? 1 + Below(3) : 1;
      for (size_t i = 0; i < count; ++i) {
        operand.items.push_back(DrawTensor());
        operand.items.back().is_none = holes && Below(4) == 0;
      }
      return operand;
    }
    if (arg.default_value && Below(2) == 0) {
      operand.plain = *arg.default_value;
    } else if (type.IsOptional() && Below(3) == 0) {
      operand.plain = Value();
    } else {
      operand.plain = DrawPlain(type);
    }
    return operand;
  }

 private:
  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }

  // Habit 0: all tensors alike. 1: suffixes of one shape. 2: rows of one width. 3: anything.
  Dims DrawSizes(DType dtype) {
    Dims sizes;
    if (habit_ == 0) {
      for (size_t d = 0; d < shared_rank_; ++d) sizes.push_back(palette_[d]);
    } else if (habit_ == 1) {
      const size_t first = Below(shared_rank_ + 1);
      for (size_t d = first; d < shared_rank_; ++d) sizes.push_back(palette_[d]);
    } else if (habit_ == 2) {
      const size_t shape = dtype == DType::kI64 && main_ != DType::kI64 ? 2 : Below(3);
      if (shape != 1) sizes.push_back(palette_[shape == 2 ? 0 : Below(2)]);
      if (shape != 2) sizes.push_back(palette_[2]);
    } else {
      const size_t rank = Below(4);
      for (size_t d = 0; d < rank; ++d) sizes.push_back(palette_[Below(std::size(palette_))]);
    }
    return sizes;
  }

  Operand::Item DrawTensor() {
    Operand::Item item;
    const size_t other = Below(6);
    item.dtype = other == 0 ? DType::kI64 : other == 1 && Below(3) == 0 ? DType::kB8 : main_;
    item.sizes = DrawSizes(item.dtype);
    int64_t count = 1;
    for (int64_t s : item.sizes) count *= s;
    const size_t size = static_cast<size_t>(ItemSize(item.dtype));
    item.elements.resize(static_cast<size_t>(count) * size);
    for (int64_t i = 0; i < count; ++i) {
      DrawElement(item.dtype, item.elements.data() + static_cast<size_t>(i) * size);
    }
    return item;
  }

  // Integers are small, because they are often indices; floats are of both signs.
  void DrawElement(DType dtype, std::byte* at) {
    auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    const double real = static_cast<double>(Below(33)) / 8 - 2;
    switch (dtype) {
      case DType::kI64:
        return put(static_cast<int64_t>(Below(3)));
      case DType::kI32:
        return put(static_cast<int32_t>(Below(3)));
      case DType::kB8:
        return put(static_cast<uint8_t>(Below(2)));
      case DType::kF64:
        return put(real);
      case DType::kBF16: {  // multiples of 1/8 below 2^3 are exact
        const float f = static_cast<float>(real);
        uint32_t bits;
        std::memcpy(&bits, &f, sizeof bits);
        return put(static_cast<uint16_t>(bits >> 16));
      }
      default:
        return put(static_cast<float>(real));
    }
  }

  Value DrawPlain(const op::SchemaType& type) {
    auto one = [&]() -> Value {
      switch (type.base) {
        case op::BaseType::kBool:
        case op::BaseType::kSymBool:
          return Value(Below(2) == 0);
        case op::BaseType::kFloat:
          return Value(static_cast<double>(1 + Below(8)) / 4);
        case op::BaseType::kScalar:
          return Below(2) == 0 ? Value(static_cast<int64_t>(Below(4))) : Value(0.5);
        case op::BaseType::kString:
          return Value("");
        case op::BaseType::kScalarType:
          return Value(main_);
        default:
          return Value(static_cast<int64_t>(Below(5)) - 1);
      }
    };
    if (!type.IsList()) return one();
    Value::List list;
    const size_t count = type.list_size ? static_cast<size_t>(*type.list_size) : Below(4);
    for (size_t i = 0; i < count; ++i) list.push_back(one());
    return Value(std::move(list));
  }

  std::mt19937_64& random_;
  int64_t palette_[3];
  size_t habit_ = 0, shared_rank_ = 0;
  DType main_ = DType::kF32;
};

Result<Value> LayOutItem(const Operand::Item& item, Layout layout) {
  if (item.is_none) return Value();
  PAL_TRY(Tensor t, GuardedTensor(item.dtype, item.sizes, layout, 0x5A));
  SetElementBytes(t, item.elements);
  return Value(std::move(t));
}

std::string DescribeValue(const Value& value) {
  if (value.IsNone()) return "None";
  if (value.Is<bool>()) return value.As<bool>() ? "True" : "False";
  if (value.Is<int64_t>()) return fmt::format("{}", value.As<int64_t>());
  if (value.Is<double>()) return fmt::format("{}", value.As<double>());
  if (value.Is<std::string>()) return fmt::format("'{}'", value.As<std::string>());
  if (value.Is<DType>()) return std::string(DTypeName(value.As<DType>()));
  if (!value.IsList()) return "...";
  std::string text = "[";
  for (const Value& v : value.list()) {
    if (text.size() > 1) text += ", ";
    text += v.IsList() ? "..." : DescribeValue(v);
  }
  return text + "]";
}

}  // namespace

OperatorCall CallWith(const op::Op& op, std::span<const Value> args) {
  OperatorCall call;
  auto add = [](Operand& operand, const Value& v, bool written) {
    Operand::Item item;
    item.is_none = !v.IsTensor();
    if (v.IsTensor()) {
      item.dtype = v.tensor().dtype;
      item.sizes = v.tensor().sizes;
      item.elements = ElementBytes(v.tensor());
      // 0x3C3C...: a small positive number in every float type.
      if (written && CategoryOf(item.dtype) == Category::kFloat) {
        std::fill(item.elements.begin(), item.elements.end(), std::byte{0x3C});
      }
    }
    operand.items.push_back(std::move(item));
  };
  for (size_t a = 0; a < args.size(); ++a) {
    const Value& arg = args[a];
    const bool written = op.schema.args[a].type.is_write();
    Operand operand;
    bool has_tensor = false;
    ForEachTensor(arg, [&](const Tensor&) { has_tensor = true; });
    operand.is_list = has_tensor && arg.IsList();
    if (!has_tensor) {
      operand.plain = arg;
    } else if (operand.is_list) {
      for (const Value& v : arg.list()) add(operand, v, written);
    } else {
      add(operand, arg, written);
    }
    call.push_back(std::move(operand));
  }
  return call;
}

OperatorCall DrawCall(const op::Op& op, std::mt19937_64& random) {
  Drawing drawing(random);
  OperatorCall call;
  for (const op::SchemaArg& arg : op.schema.args) call.push_back(drawing.Draw(arg));
  return call;
}

Result<std::vector<Value>> LayOut(const OperatorCall& call, Layout layout) {
  std::vector<Value> args;
  int64_t object = 1;
  for (const Operand& operand : call) {
    if (operand.items.empty()) {
      args.push_back(operand.plain);
      continue;
    }
    Value::List items;
    for (const Operand::Item& item : operand.items) {
      PAL_TRY(Value v, LayOutItem(item, layout));
      if (v.IsTensor()) v.As<Tensor>().object = object++;
      items.push_back(std::move(v));
    }
    args.push_back(operand.is_list ? Value(std::move(items)) : std::move(items[0]));
  }
  return args;
}

std::string Describe(const op::Op& op, const OperatorCall& call) {
  std::string text;
  for (size_t a = 0; a < call.size(); ++a) {
    text += fmt::format("{}{}=", text.empty() ? "" : ", ", op.schema.args[a].name);
    if (call[a].items.empty()) {
      text += DescribeValue(call[a].plain);
      continue;
    }
    if (call[a].is_list) text += "[";
    for (size_t i = 0; i < call[a].items.size(); ++i) {
      const Operand::Item& item = call[a].items[i];
      text += i > 0 ? ", " : "";
      text += item.is_none ? "None"
                           : fmt::format("{}[{}]", DTypeName(item.dtype),
                                         fmt::join(item.sizes.begin(), item.sizes.end(), ", "));
    }
    if (call[a].is_list) text += "]";
  }
  return text;
}

}  // namespace palimpsest::opcheck
