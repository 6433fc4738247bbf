#include "import/pickle.h"

#include <gtest/gtest.h>

#include "import/pytree.h"

namespace palimpsest::importing {
namespace {

using namespace std::string_literals;

StorageLoader NoStorages() {
  return [](const std::string& key, DType, int64_t) -> Result<StorageRef> {
    return BadInput("no record " + key);
  };
}

std::string Render(const Pickle& pickle, Pickle::Ref r) {
  switch (pickle.kind(r)) {
    case Pickle::Kind::kNone:
      return "None";
    case Pickle::Kind::kBool:
      return pickle.AsBool(r) ? "True" : "False";
    case Pickle::Kind::kInt:
      return std::to_string(pickle.AsInt(r));
    case Pickle::Kind::kFloat:
      return "f" + std::to_string(pickle.AsFloat(r));
    case Pickle::Kind::kString:
      return "'" + pickle.AsString(r) + "'";
    case Pickle::Kind::kTensor:
      return ToString(pickle.AsTensor(r).view());
    case Pickle::Kind::kDType:
    case Pickle::Kind::kGlobal:
    case Pickle::Kind::kStorage:
      return "part";
    default:
      break;
  }
  std::string out;
  for (Pickle::Ref item : pickle.Items(r)) out += Render(pickle, item) + " ";
  switch (pickle.kind(r)) {
    case Pickle::Kind::kList:
      return "[" + out + "]";
    case Pickle::Kind::kTuple:
      return "(" + out + ")";
    default:
      return "{" + out + "}";
  }
}

std::string ReadAndRender(const std::string& text, const StorageLoader& load = NoStorages()) {
  Result<Pickle> pickle = ReadPickle(text, "p", load);
  if (!pickle.ok()) return pickle.error().message;
  return Render(*pickle, pickle->root());
}

TEST(Pickle, PlainData) {
  const std::pair<std::string, const char*> cases[] = {
      {"\x80\2N."s, "None"},
      {"\x80\2(K\1J\xff\xff\xff\xff"
       "M\1\1\x8a\1\xfe\x8a\0t."s,
       "(1 -1 257 -2 0 )"},
      {"\x80\2\x8a\x8\xff\xff\xff\xff\xff\xff\xff\x7f."s, "9223372036854775807"},
      {"\x80\2G\x3f\xf8\0\0\0\0\0\0."s, "f1.500000"},
      {"\x80\2X\2\0\0\0ab."s, "'ab'"},
      {"\x80\2](\x88\x89"
       "eNa."s,
       "[True False None ]"},
      {"\x80\2}X\1\0\0\0aK\1s(K\2K\3u."s, "{'a' 1 2 3 }"},
      {"\x80\2K\1q\0h\0\x86."s, "(1 1 )"},
      {"\x80\2ccollections\nOrderedDict\n)R}b."s, "{}"},
      {"\x80\2ctorch\nSize\nK\2\x85\x85R."s, "(2 )"},
      {"\x80\2ctorch\ndevice\nX\3\0\0\0cpu\x85R."s, "'cpu'"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(ReadAndRender(text), expected);
}

// ('storage', torch.<type>, key, 'cpu', numel)
std::string StorageId(const std::string& type, char numel) {
  return "(X\7\0\0\0storagec"s + type +
         "\nX\1\0\0\0"
         "7X\3\0\0\0cpuK"s +
         numel + "tQ";
}

TEST(Pickle, TensorsOfOneKeyShareAStorage) {
  int loads = 0;
  StorageRef storage = *AllocateStorage(32);
  StorageLoader load = [&](const std::string& key, DType dtype, int64_t bytes) {
    EXPECT_EQ(key, "7");
    EXPECT_EQ(dtype, DType::kF32);
    EXPECT_EQ(bytes, 24);
    ++loads;
    return Result<StorageRef>(storage);
  };
  std::string tensor = "ctorch._utils\n_rebuild_tensor_v2\n(" +
                       StorageId("torch\nFloatStorage", 6) +
                       "K\1K\2K\2\x86K\2K\1\x86\x89"
                       "ccollections\nOrderedDict\n)RtR";
  Result<Pickle> pickle = ReadPickle("\x80\2" + tensor + tensor + "\x86.", "p", load);
  ASSERT_TRUE(pickle.ok()) << pickle.error().message;
  EXPECT_EQ(Render(*pickle, pickle->root()), "(f32[2, 2][2, 1] f32[2, 2][2, 1] )");
  const auto& items = pickle->Items(pickle->root());
  EXPECT_EQ(pickle->AsTensor(items[0]).storage, pickle->AsTensor(items[1]).storage);
  EXPECT_EQ(pickle->AsTensor(items[0]).offset, 1);
  EXPECT_EQ(loads, 2);
}

TEST(Pickle, Refuses) {
  StorageRef storage = *AllocateStorage(24);
  StorageLoader load = [&](const std::string&, DType, int64_t) {
    return Result<StorageRef>(storage);
  };
  auto tensor = [](const std::string& type, const std::string& numbers) {
    return "\x80\2"
           "ctorch._utils\n_rebuild_tensor_v2\n("s +
           StorageId(type, 6) + numbers + "\x89}tR.";
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "ends in the middle"},
      {"\x80\2K\1", "ends in the middle"},
      {"\x80\4K\1.", "protocol 4"},
      {"\x80\2"
       "cos\nsystem\nX\2\0\0\0ls\x85R."s,
       "'os.system', which plain data does not need"},
      {"\x80\2"
       "c__builtin__\neval\n."s,
       "'__builtin__.eval'"},
      {"\x80\2(cos\nsystem\no."s, "it is not executed"},
      {"\x80\2)\x81."s, "opcode 0x81"},
      {"\x80\2t."s, "a mark is missing"},
      {"\x80\2\x85."s, "an operand is missing"},
      {"\x80\2K\1(\x85."s, "an operand is missing"},
      {"\x80\2h\7."s, "there is no memo 7"},
      {"\x80\2K\1r\xff\xff\xff\x7fN."s, "values are left over"},
      {"\x80\2K\1a."s, "no list or dictionary"},
      {"\x80\2NK\1a."s, "no list or dictionary"},
      {"\x80\2}(K\1u."s, "a key without a value"},
      {"\x80\2X\xff\xff\xff\xff"
       "a."s,
       "ends in the middle"},
      {"\x80\2X\1\0\0\0\xff."s, "not UTF-8"},
      {"\x80\2\x8a\x0d"
       "1234567890123."s,
       "more than 64 bits"},
      {"\x80\2NNb."s, "object state that is no dictionary"},
      {"\x80\2N}b."s, "it is not executed"},
      {"\x80\2K\1)R."s, "a call of something that is no known name"},
      {"\x80\2K\1Q."s, "a persistent id that is no storage"},
      {tensor("torch\nFloatStorage", "K\0K\7\x85K\1\x85"s), "needs 28 bytes, its record holds 24"},
      {tensor("torch\nFloatStorage", "K\0J\xff\xff\xff\xff\x85K\1\x85"s), "a negative number"},
      {tensor("torch\nFloatStorage", "K\0K\2\x85)"s), "1 sizes and 0 strides"},
      {tensor("torch\nQuarterStorage", "K\0K\2\x85K\1\x85"s), "'torch.QuarterStorage'"},
      {tensor("torch\nSize", "K\0K\2\x85K\1\x85"s), "is no storage type"},
  };
  for (const auto& [text, expected] : cases) {
    std::string message = ReadAndRender(text, load);
    EXPECT_NE(message.find(expected), std::string::npos)
        << "expected: " << expected << "\nmessage: " << message;
  }
}

TEST(Pickle, SharedNestsCostNothing) {
  // 60 pairs of the same object: 2^60 values if they were copied.
  std::string text = "\x80\2K\1q\0"s;
  for (int i = 0; i < 60; ++i) text += "h\0h\0\x86q\0"s;
  Result<Pickle> pickle = ReadPickle(text + "h\0."s, "p", NoStorages());
  EXPECT_FALSE(pickle.ok());  // values are left over, found at once
  std::string deep = "\x80\2";
  deep += std::string(100000, ']') + std::string(99999, 'a') + ".";
  pickle = ReadPickle(deep, "p", NoStorages());
  EXPECT_TRUE(pickle.ok());
}

// ---- trees

std::string Spec(const std::string& node) { return "[1, " + node + "]"; }
const char* const kLeaf = R"({"type": null, "context": null, "children_spec": []})";
std::string Node(const std::string& type, const std::string& context, const std::string& children) {
  return R"({"type": ")" + type + R"(", "context": ")" + context + R"(", "children_spec": [)" +
         children + "]}";
}

TEST(PyTree, FlattensByTheSpecsOwnOrderOfKeys) {
  std::string leaf = kLeaf;
  std::string dict = Node("builtins.dict", R"([\"b\", \"a\", 3])", leaf + "," + leaf + "," + leaf);
  std::string list = Node("builtins.list", "null", leaf);
  Result<PyTree> tree = ParsePyTree(Spec(Node("builtins.tuple", "null", dict + "," + list)), "t");
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_EQ(tree->ToString(), "({'b': *, 'a': *, '3': *}, [*])");
  EXPECT_EQ(tree->num_leaves(), 4u);
  // ({'a': 1, 'b': 2, 3: None}, [True])
  Result<Pickle> pickle = ReadPickle(
      "\x80\2}(X\1\0\0\0aK\1X\1\0\0\0bK\2K\3Nu]\x88"
      "a\x86."s,
      "p", NoStorages());
  ASSERT_TRUE(pickle.ok()) << pickle.error().message;
  Result<std::vector<Value>> values = FlattenPickle(*pickle, *tree);
  ASSERT_TRUE(values.ok()) << values.error().message;
  ASSERT_EQ(values->size(), 4u);
  EXPECT_EQ((*values)[0].As<int64_t>(), 2);
  EXPECT_EQ((*values)[1].As<int64_t>(), 1);
  EXPECT_TRUE((*values)[2].IsNone());
  EXPECT_TRUE((*values)[3].As<bool>());
}

TEST(PyTree, Refuses) {
  std::string leaf = kLeaf;
  const std::string cases[] = {"",
                               "null",
                               "[1]",
                               "[1, 2]",
                               "[1, {\"type\": 3}]",
                               Spec(Node("builtins.dict", R"([\"b\"])", "")),
                               Spec(Node("builtins.dict", "no json", leaf))};
  for (const std::string& text : cases) EXPECT_FALSE(ParsePyTree(text, "t").ok()) << text;
  Result<PyTree> pair = ParsePyTree(Spec(Node("builtins.tuple", "null", leaf + "," + leaf)), "t");
  Result<PyTree> custom = ParsePyTree(Spec(Node("my.Cache", "null", leaf)), "t");
  ASSERT_TRUE(pair.ok() && custom.ok());
  Result<Pickle> one = ReadPickle("\x80\2N\x85."s, "p", NoStorages());
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(FlattenPickle(*one, *pair).ok());
  EXPECT_FALSE(FlattenPickle(*one, *custom).ok());
}

}  // namespace
}  // namespace palimpsest::importing
