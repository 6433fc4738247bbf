#include "import/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace palimpsest::importing {
namespace {

std::string TempPath(const char* name) {
  return testing::TempDir() + std::to_string(getpid()) + "_" + name;
}

std::string Npy(const std::string& header, const std::string& payload) {
  std::string text = "\x93NUMPY";
  text += {'\1', '\0', static_cast<char>(header.size()), '\0'};
  return text + header + payload;
}

Result<Tensor> Parse(const std::string& text) {
  return ParseNpy({reinterpret_cast<const std::byte*>(text.data()), text.size()}, "a.npy");
}

TEST(Npy, EveryTypeThereAndBack) {
  for (int i = 0; i < kNumDTypes; ++i) {
    auto dtype = static_cast<DType>(i);
    for (Dims sizes : {Dims{}, Dims{3}, Dims{2, 3}, Dims{2, 0, 3}}) {
      Result<Tensor> tensor = EmptyTensor(dtype, sizes);
      ASSERT_TRUE(tensor.ok());
      auto bytes = static_cast<size_t>(tensor->numel() * tensor->item_size());
      for (size_t k = 0; k < bytes; ++k) tensor->storage->data()[k] = std::byte(k * 7 % 251);
      std::string path = TempPath("types.npy");
      ASSERT_TRUE(WriteNpy(*tensor, path).ok());
      Result<Tensor> back = ReadNpy(path);
      ASSERT_TRUE(back.ok()) << back.error().message;
      EXPECT_EQ(back->view(), tensor->view());
      EXPECT_EQ(std::memcmp(back->storage->data(), tensor->storage->data(), bytes), 0);
      unlink(path.c_str());
    }
  }
}

TEST(Npy, WritesRowMajorWhateverTheStrides) {
  Result<Tensor> tensor = EmptyTensor(DType::kI64, Dims{6});
  ASSERT_TRUE(tensor.ok());
  for (int64_t i = 0; i < 6; ++i) tensor->data_as<int64_t>()[i] = i;
  Tensor transposed = *tensor;
  transposed.sizes = {2, 2};
  transposed.strides = {1, 3};
  transposed.offset = 1;
  std::string path = TempPath("strides.npy");
  ASSERT_TRUE(WriteNpy(transposed, path).ok());
  Result<Tensor> back = ReadNpy(path);
  ASSERT_TRUE(back.ok());
  const int64_t expected[] = {1, 4, 2, 5};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(back->data_as<int64_t>()[i], expected[i]);
  unlink(path.c_str());
}

TEST(Npy, FortranOrderBecomesStrides) {
  Result<Tensor> t =
      Parse(Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", "abcdef"));
  ASSERT_TRUE(t.ok()) << t.error().message;
  EXPECT_EQ(ToString(t->view()), "u8[2, 3][1, 2]");
}

TEST(Npy, SwapsTheOtherByteOrder) {
  Result<Tensor> t = Parse(
      Npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}", std::string("\0\1\1\0", 4)));
  ASSERT_TRUE(t.ok()) << t.error().message;
  EXPECT_EQ(t->data_as<int16_t>()[0], 1);
  EXPECT_EQ(t->data_as<int16_t>()[1], 256);
}

TEST(Npy, Refuses) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "is no .npy file"},
      {"PK\3\4", "is no .npy file"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "12345678"),
       "the array: f32[3][1] at offset 0 needs 12 bytes, its record holds 8 bytes"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""),
       "more elements than can be counted"},
      {Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", ""), "a size is expected"},
      {Npy("{'descr': '|O', 'fortran_order': False, 'shape': (), }", ""), "elements of type '|O'"},
      {Npy("{'descr': '<f4', 'shape': (), }", "1234"), "does not have three keys"},
      {Npy("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}", "1234"), "True or False"},
      {Npy("{'descr': '<f4", "1234"), "a string is expected"},
      {"\x93NUMPY\1" + std::string("\0\xff\xff{}", 5), "its header is cut off"},
  };
  for (const auto& [text, expected] : cases) {
    Result<Tensor> t = Parse(text);
    ASSERT_FALSE(t.ok()) << expected;
    EXPECT_EQ(t.error().kind, ErrorKind::kBadInput);
    EXPECT_NE(t.error().message.find(expected), std::string::npos) << t.error().message;
    EXPECT_TRUE(t.error().message.starts_with("a.npy: ")) << t.error().message;
  }
}

}  // namespace
}  // namespace palimpsest::importing
