// Id<Tag>: an index into a vector, of a type of its own, so that a node is never taken for a base.
#pragma once

#include <cstdint>
#include <functional>

namespace palimpsest {

template <typename Tag>
struct Id {
  int32_t index = -1;

  constexpr Id() = default;
  constexpr explicit Id(int64_t i) : index(static_cast<int32_t>(i)) {}
  constexpr bool valid() const { return index >= 0; }
  friend constexpr bool operator==(Id a, Id b) { return a.index == b.index; }
  friend constexpr auto operator<=>(Id a, Id b) { return a.index <=> b.index; }
};

}  // namespace palimpsest

template <typename Tag>
struct std::hash<palimpsest::Id<Tag>> {
  size_t operator()(palimpsest::Id<Tag> id) const { return std::hash<int32_t>{}(id.index); }
};
