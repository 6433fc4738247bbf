#include "analysis/view_info.h"

#include <gtest/gtest.h>

#include <vector>

namespace palimpsest::analysis {
namespace {

using Kind = ViewInfo::Kind;

// What the operation gives, by the rules of aten::slice, select, permute and view.
View Apply(const View& base, const ViewInfo& info, const View& wanted) {
  View v = base;
  size_t d = static_cast<size_t>(info.dim);
  switch (info.kind) {
    case Kind::kSame:
      break;
    case Kind::kSlice:
      v.sizes[d] = info.end - info.start;
      v.offset += info.start * base.strides[d];
      break;
    case Kind::kSelect:
      v.sizes.erase(v.sizes.data() + d);
      v.strides.erase(v.strides.data() + d);
      v.offset += info.start * base.strides[d];
      break;
    case Kind::kPermute:
      for (size_t k = 0; k < info.dims.size(); ++k) {
        v.sizes[k] = base.sizes[static_cast<size_t>(info.dims[k])];
        v.strides[k] = base.strides[static_cast<size_t>(info.dims[k])];
      }
      break;
    case Kind::kView:
      v.sizes = info.dims;
      v.strides = ContiguousStrides(info.dims);
      break;
    case Kind::kAsStrided:
    case Kind::kDType:
      return wanted;
  }
  return v;
}

// All views of rank <= 2 on a storage of `n` elements, sizes and strides 0 to 3.
std::vector<View> AllViews(int64_t n) {
  std::vector<View> views;
  for (int64_t offset = 0; offset < n; ++offset) {
    views.push_back({DType::kF32, {}, {}, offset});
    for (int64_t a = 0; a < 16; ++a) {
      views.push_back({DType::kF32, {a % 4}, {a / 4}, offset});
      for (int64_t b = 0; b < 16; ++b) {
        views.push_back({DType::kF32, {a % 4, b % 4}, {a / 4, b / 4}, offset});
      }
    }
  }
  std::erase_if(views, [n](const View& v) { return *RequiredBytes(v) > n * 4; });
  return views;
}

TEST(ViewInfo, RoundTripOverAllSmallViews) {
  std::vector<View> views = AllViews(6);
  int special = 0;
  for (const View& base : views) {
    for (const View& view : views) {
      ViewInfo info = DescribeView(base, view);
      ASSERT_EQ(Apply(base, info, view), view) << ToString(base) << " -> " << ToString(view);
      special += info.kind != Kind::kAsStrided ? 1 : 0;
      if (info.kind == Kind::kSlice || info.kind == Kind::kSelect) {
        int64_t size = base.sizes[static_cast<size_t>(info.dim)];
        ASSERT_GE(info.start, 0);
        ASSERT_LE(info.kind == Kind::kSlice ? info.end : info.start + 1, size);
      }
    }
  }
  EXPECT_GT(special, 1000);
}

TEST(ViewInfo, Kinds) {
  View base = ContiguousView(DType::kF32, Dims{4, 3});
  struct Row {
    View view;
    Kind kind, key_kind;
  };
  const Row rows[] = {
      {base, Kind::kSame, Kind::kSame},
      {{DType::kF32, {2, 3}, {3, 1}, 3}, Kind::kSlice, Kind::kSlice},
      {{DType::kF32, {4, 1}, {3, 1}, 2}, Kind::kSlice, Kind::kSlice},
      {{DType::kF32, {3}, {1}, 6}, Kind::kSelect, Kind::kAsStrided},
      {{DType::kF32, {4}, {3}, 1}, Kind::kSelect, Kind::kAsStrided},
      {{DType::kF32, {3, 4}, {1, 3}, 0}, Kind::kPermute, Kind::kAsStrided},
      {{DType::kF32, {12}, {1}, 0}, Kind::kView, Kind::kAsStrided},
      {{DType::kF32, {2, 3}, {6, 1}, 0}, Kind::kAsStrided, Kind::kAsStrided},
      {{DType::kF32, {3, 3}, {3, 1}, 1}, Kind::kAsStrided, Kind::kAsStrided},
      {{DType::kI32, {4, 3}, {3, 1}, 0}, Kind::kDType, Kind::kDType},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(DescribeView(base, row.view).kind, row.kind) << ToString(row.view);
    EXPECT_EQ(DescribeViewForKeys(base, row.view).kind, row.key_kind) << ToString(row.view);
  }
}

}  // namespace
}  // namespace palimpsest::analysis
