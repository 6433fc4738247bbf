#include "core/promotion.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

View Dimmed(DType dtype) { return {dtype, {2}, {1}, 0}; }
View ZeroDim(DType dtype) { return {dtype, {}, {}, 0}; }

TEST(PromoteTypes, Pairs) {
  struct Case {
    const char *a, *b, *result;
  };
  for (const Case& c : {Case{"b8", "u8", "u8"},
                        {"u8", "i8", "i16"},
                        {"u8", "i32", "i32"},
                        {"i8", "i64", "i64"},
                        {"i64", "f16", "f16"},
                        {"f16", "bf16", "f32"},
                        {"bf16", "f64", "f64"},
                        {"f64", "c64", "c128"},
                        {"i64", "c64", "c64"},
                        {"b8", "b8", "b8"}}) {
    DType a = *DTypeFromName(c.a), b = *DTypeFromName(c.b);
    EXPECT_EQ(DTypeName(PromoteTypes(a, b)), c.result) << c.a << " with " << c.b;
    EXPECT_EQ(DTypeName(PromoteTypes(b, a)), c.result) << c.b << " with " << c.a;
  }
}

TEST(TypePromotion, ALowerRankCountsByCategoryOnly) {
  struct Case {
    const char* dims;
    const char* zero_dim;  // "" for none
    int number;            // category, -1 for none
    const char* result;
  };
  for (const Case& c : {Case{"i32", "f64", -1, "f64"},
                        {"f32", "f64", -1, "f32"},
                        {"i8", "i64", -1, "i8"},
                        {"i32", "", 2, "f32"},
                        {"u8", "", 1, "u8"},
                        {"b8", "", 1, "i64"},
                        {"f64", "c64", -1, "c128"},
                        {"bf16", "c128", -1, "c64"},
                        {"i32", "i64", 2, "f32"},
                        {"", "i32", 2, "f32"},
                        {"", "", 2, "f32"}}) {
    TypePromotion promotion;
    if (*c.dims != '\0') promotion.AddTensor(Dimmed(*DTypeFromName(c.dims)));
    if (*c.zero_dim != '\0') promotion.AddTensor(ZeroDim(*DTypeFromName(c.zero_dim)));
    if (c.number >= 0) promotion.AddNumber(static_cast<Category>(c.number));
    Result<DType> result = promotion.Get();
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(DTypeName(*result), c.result) << c.dims << " " << c.zero_dim << " " << c.number;
  }
}

TEST(TypePromotion, ComplexOfHalvesIsRefusedByName) {
  TypePromotion promotion;
  promotion.AddTensor(Dimmed(DType::kF16));
  promotion.AddNumber(Category::kComplex);
  Result<DType> result = promotion.Get();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(result.error().message.find("complex32"), std::string::npos);
}

TEST(CanCast, RefusesWhatLosesACategory) {
  EXPECT_FALSE(CanCast(DType::kC64, DType::kF32));
  EXPECT_FALSE(CanCast(DType::kF32, DType::kI64));
  EXPECT_FALSE(CanCast(DType::kI64, DType::kB8));
  EXPECT_TRUE(CanCast(DType::kI64, DType::kI8));
  EXPECT_TRUE(CanCast(DType::kF64, DType::kF16));
  EXPECT_TRUE(CanCast(DType::kB8, DType::kB8));
}

}  // namespace
}  // namespace palimpsest
