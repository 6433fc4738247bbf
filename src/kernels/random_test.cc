// Expected numbers: PyTorch 2.13 on CPU after torch.manual_seed of the same seed.
#include "kernels/random.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/builtin.h"
#include "kernels/copy.h"

namespace palimpsest::kernels {
namespace {

// The elements of every tensor in the results, row by row.
std::vector<double> Draw(std::string_view key, std::vector<Value> args, op::Generator& generator) {
  static const op::OpTable* table = [] {
    auto* t = new op::OpTable;
    EXPECT_TRUE(RegisterBuiltins(*t).ok());
    return t;
  }();
  const op::Op* op = table->Find(key);
  EXPECT_NE(op, nullptr) << key;
  for (size_t i = args.size(); i < op->schema.args.size(); ++i) {
    args.push_back(op->schema.args[i].default_value.value_or(Value()));
  }
  Result<op::CallResult> result = op::CallOp(*op, args, &generator);
  EXPECT_TRUE(result.ok()) << result.error().message;
  std::vector<double> values;
  for (const Value& v : result->returns) {
    Tensor packed = *EmptyTensor(DType::kF64, v.tensor().sizes);
    EXPECT_TRUE(CopyTo(v.tensor(), packed).ok());
    values.insert(values.end(), packed.data_as<double>(),
                  packed.data_as<double>() + packed.numel());
  }
  return values;
}

Value Sizes(std::initializer_list<int64_t> sizes) {
  return Value::Ints(std::vector<int64_t>(sizes));
}

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << i;
}

// One stream of draws through several operators.
TEST(Random, OperatorsShareOneStream) {
  op::Generator g(5);
  ExpectNear(Draw("aten::rand", {Sizes({3})}, g),
             {0.8302518725395203, 0.12611091136932373, 0.9074696898460388});
  ExpectNear(Draw("aten::rand", {Sizes({2}), DType::kF64}, g),
             {0.5594163926692743, 0.9331621735624811});
  ExpectNear(Draw("aten::randint.low", {3, 10, Sizes({5})}, g), {6, 8, 7, 3, 9});
  Tensor t = *EmptyTensor(DType::kF32, Dims{6});
  ExpectNear(Draw("aten::bernoulli_.float", {t, 0.4}, g), {0, 0, 0, 0, 1, 1});
  ExpectNear(Draw("aten::randperm", {6}, g), {2, 3, 5, 1, 0, 4});
  ExpectNear(Draw("aten::randn", {Sizes({3})}, g),
             {0.3400924503803253, 0.33911216259002686, 2.0144600868225098});
}

// 16 and more numbers are made by blocks, the end of the row by a block of its own.
TEST(Random, NormalNumbersByBlocks) {
  op::Generator g(7);
  ExpectNear(
      Draw("aten::randn", {Sizes({20})}, g),
      {-0.8201345205307007, 0.39563116431236267, 0.8989084959030151,   -1.3884038925170898,
       0.19844505190849304, 0.7820726633071899,  1.0391076803207397,   -0.7245107293128967,
       -0.8489086031913757, -1.2169294357299805, -0.08102158457040787, 1.3614851236343384,
       -2.0614778995513916, 0.6741006970405579,  -1.3233457803726196,  -1.3597689867019653,
       -0.866701602935791,  -0.5640066862106323, -2.056462526321411,   -0.35672253370285034});
}

TEST(Random, DropoutScalesWhatItKeeps) {
  op::Generator g(7);
  Tensor ones = *EmptyTensor(DType::kF32, Dims{6});
  ASSERT_TRUE(FillWith(Scalar::Int(1), ones).ok());
  double kept = 1 / 0.75;
  ExpectNear(Draw("aten::native_dropout", {ones, 0.25, true}, g),
             {kept, kept, 0, kept, 0, 0, 1, 1, 0, 1, 0, 0});
}

TEST(Random, DrawsFollowMemory) {
  op::Generator g(7);
  Tensor t = *EmptyTensor(View{DType::kF32, {3, 2}, {1, 3}, 0});
  ExpectNear(Draw("aten::uniform_", {t, -1.0, 1.0}, g),
             {0.06984508037567139, 0.3137805461883545, -0.602393627166748, -0.5344768762588501,
              0.31842339038848877, -0.14987719058990479});
}

TEST(Random, DropoutThatIsTheIdentityIsItsArgument) {
  op::OpTable table;
  ASSERT_TRUE(RegisterBuiltins(table).ok());
  Tensor t = *EmptyTensor(DType::kF32, Dims{6});
  std::vector<Value> args = {t, 0.5, false};
  Result<op::CallResult> result = op::CallOp(*table.Find("aten::dropout"), args, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->returns[0].tensor().storage, t.storage);
}

}  // namespace
}  // namespace palimpsest::kernels
