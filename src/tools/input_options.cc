#include "tools/input_options.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "import/npy.h"
#include "tools/elements.h"

namespace palimpsest::tools {
namespace {

Error CannotRead(std::string_view text, std::string_view expected) {
  return UsageError(fmt::format("cannot read '{}': expected {}", text, expected));
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "[2, 3]" at the start of `text`, which is moved behind it.
Result<Dims> TakeDims(std::string_view& text) {
  size_t close = text.find(']');
  if (!text.starts_with('[') || close == std::string_view::npos) {
    return CannotRead(text, "sizes in brackets, like [2,3]");
  }
  std::string_view inside = text.substr(1, close - 1);
  text.remove_prefix(close + 1);
  Dims dims;
  while (!Trim(inside).empty()) {
    size_t comma = std::min(inside.find(','), inside.size());
    std::optional<int64_t> value = ParseNumber<int64_t>(Trim(inside.substr(0, comma)));
    if (!value || *value < 0) return CannotRead(inside, "sizes that are numbers");
    dims.push_back(*value);
    inside.remove_prefix(std::min(comma + 1, inside.size()));
  }
  return dims;
}

// What stands behind the colon.
Result<Filling> ParseFilling(std::string_view how) {
  using Kind = Filling::Kind;
  if (how == "zeros") return Filling{};
  if (how == "ones") return Filling{Kind::kValue, 1, 0};
  if (how == "arange") return Filling{Kind::kArange, 0, 0};
  if (how == "rand") return Filling{Kind::kRandom, 0, 0};
  if (how.starts_with("rand(") && how.ends_with(")")) {
    std::optional<uint64_t> seed = ParseNumber<uint64_t>(how.substr(5, how.size() - 6));
    if (seed) return Filling{Kind::kRandom, 0, *seed};
  }
  if (auto value = ParseNumber<double>(how)) return Filling{Kind::kValue, *value, 0};
  return CannotRead(how, "zeros, ones, arange, rand(SEED) or a number");
}

Result<Value> ParseTensor(std::string_view text) {
  size_t bracket = text.find('[');
  std::optional<DType> dtype = DTypeFromName(text.substr(0, bracket));
  if (!dtype) return CannotRead(text, "an element type, like f32[2,3]:rand(7)");
  std::string_view rest = text.substr(bracket);
  View view;
  view.dtype = *dtype;
  PAL_TRY(view.sizes, TakeDims(rest));
  PAL_TRY(int64_t numel, CheckedNumel(view.sizes));
  view.strides = ContiguousStrides(view.sizes);
  if (rest.starts_with('[')) {
    PAL_TRY(view.strides, TakeDims(rest));
  }
  if (view.strides.size() != view.sizes.size()) {
    return CannotRead(text, "one stride for each size");
  }
  if (!rest.empty() && !rest.starts_with(':')) return CannotRead(rest, "':' and a filling");
  PAL_TRY(int64_t bytes, RequiredBytes(view));
  (void)numel, (void)bytes;
  PAL_TRY(Filling filling, ParseFilling(rest.empty() ? "zeros" : rest.substr(1)));
  PAL_TRY(Tensor tensor, EmptyTensor(view));
  FillElements(tensor, filling);
  return Value(std::move(tensor));
}

}  // namespace

Result<Value> ParseInputValue(std::string_view text) {
  if (text.starts_with('@')) {
    PAL_TRY(Tensor tensor, importing::ReadNpy(std::string(text.substr(1))));
    return Value(std::move(tensor));
  }
  if (text.find('[') != std::string_view::npos) return ParseTensor(text);
  if (text == "None") return Value();
  if (text == "True" || text == "False") return Value(text == "True");
  if (auto integer = ParseNumber<int64_t>(text)) return Value(*integer);
  if (auto real = ParseNumber<double>(text)) return Value(*real);
  return CannotRead(text, "@FILE.npy, f32[2,3]:rand(7), a number, True, False or None");
}

Result<std::vector<std::optional<Value>>> ReadInputOptions(const CommandLine& command,
                                                           const std::vector<std::string>& names) {
  std::vector<std::optional<Value>> values(names.size());
  if (!command.inputs_folder.empty()) {
    for (size_t i = 0; i < names.size(); ++i) {
      std::string file = command.inputs_folder + "/" + names[i] + ".npy";
      if (!std::filesystem::exists(file)) continue;
      PAL_TRY(Tensor tensor, importing::ReadNpy(file));
      values[i] = Value(std::move(tensor));
    }
  }
  for (const std::string& option : command.inputs) {
    size_t equals = option.find('=');
    std::string name = option.substr(0, equals);
    auto it = std::find(names.begin(), names.end(), name);
    if (equals == std::string::npos || it == names.end()) {
      return UsageError(fmt::format("--input {}: there is no input '{}'; the program takes: {}",
                                    option, name, fmt::join(names, ", ")));
    }
    PAL_TRY(values[static_cast<size_t>(it - names.begin())],
            ParseInputValue(std::string_view(option).substr(equals + 1)));
  }
  return values;
}

}  // namespace palimpsest::tools
