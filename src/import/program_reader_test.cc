// Small programs as JSON, read and printed. Operators: those of the table below.

#include "import/program_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "import/test_operators.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace palimpsest::importing {
namespace {

const char* const kMeta =
    R"({"dtype": 7, "sizes": [{"as_int": 4}], "strides": [{"as_int": 1}], "layout": 7,
        "device": {"type": "cpu"}, "storage_offset": {"as_int": 0}, "requires_grad": false})";

std::string Tensor(const std::string& name) {
  return R"({"as_tensor": {"name": ")" + name + "\"}}";
}

// A call: inputs as "name" + argument, outputs as given.
std::string Call(const std::string& target, const std::string& inputs, const std::string& outputs,
                 const std::string& more = "") {
  return fmt::format(R"({{"target": "{}", "inputs": [{}], "outputs": [{}], "metadata": {{}}{}}})",
                     target, inputs, outputs, more);
}
std::string In(const std::string& name, const std::string& argument) {
  return fmt::format(R"({{"name": "{}", "arg": {}}})", name, argument);
}
std::string Add(const std::string& self, const std::string& other, const std::string& result) {
  return Call("torch.ops.aten.add.Tensor", In("self", Tensor(self)) + "," + In("other", other),
              Tensor(result));
}

struct Parts {
  std::string nodes;
  std::string output = "y";
  std::string values = "";  // more tensor_values, each with a leading comma
  std::string input_specs = R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
  std::string output_specs = "";  // default: the output is a user output
  std::string more = "";          // more keys of the program
};

std::string ProgramText(const Parts& p) {
  std::string outs = p.output_specs.empty()
                         ? R"({"user_output": {"arg": )" + Tensor(p.output) + "}}"
                         : p.output_specs;
  return fmt::format(
      R"({{"graph_module": {{"graph": {{"inputs": [{0}], "outputs": [{1}], "nodes": [{2}],
          "tensor_values": {{"x": {3}{4}}}, "sym_int_values": {{}}}},
          "signature": {{"input_specs": [{5}], "output_specs": [{6}]}}, "module_call_graph": []}},
          "schema_version": {{"major": 8, "minor": 20}}, "verifiers": ["TRAINING"]{7}}})",
      Tensor("x"), Tensor(p.output), p.nodes, kMeta, p.values, p.input_specs, outs, p.more);
}

// The printed body of the program, or its error.
std::string ReadAndPrint(const Parts& parts) {
  static const op::OpTable& ops = *new op::OpTable;
  static const bool registered = RegisterTestOperators(const_cast<op::OpTable&>(ops));
  EXPECT_TRUE(registered);
  Result<ImportedProgram> program = ReadProgram(ProgramText(parts), "p.json", ops);
  if (!program.ok()) return program.error().message;
  Status valid = ir::Verify(program->graph);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : valid.error().message);
  return ir::Print(program->graph);
}

void ExpectLines(const Parts& parts, const std::vector<std::string>& lines) {
  std::string text = ReadAndPrint(parts);
  size_t at = 0;
  for (const std::string& line : lines) {
    size_t found = text.find(line, at);
    EXPECT_NE(found, std::string::npos) << "line: " << line << "\nin:\n" << text;
    if (found != std::string::npos) at = found + line.size();
  }
}

TEST(ProgramReader, BindsByNameAndFillsDefaults) {
  ExpectLines({.nodes = Add("x", R"({"as_int": 2})", "y")},
              {"y = torch.ops.aten.add.Tensor(x, 2)", "return (y,)"});
  ExpectLines({.nodes = Call("torch.ops.aten.add.Tensor",
                             In("alpha", R"({"as_float": "-Infinity"})") + "," +
                                 In("other", Tensor("x")) + "," + In("self", Tensor("x")),
                             Tensor("y"))},
              {"torch.ops.aten.add.Tensor(x, x, alpha = -inf)"});
}

TEST(ProgramReader, ResultsOfSeveral) {
  std::string split = Call("torch.ops.aten.split.Tensor",
                           In("self", Tensor("x")) + "," + In("split_size", R"({"as_int": 2})"),
                           R"({"as_tensors": [{"name": "a"}, {"name": "split_unused_1"}]})",
                           R"(, "name": "split")");
  ExpectLines({.nodes = split, .output = "a"},
              {"split = torch.ops.aten.split.Tensor(x, 2)", "a = split[0]", "return (a,)"});
  EXPECT_EQ(ReadAndPrint({.nodes = split, .output = "a"}).find("unused"), std::string::npos);
  // A result that was called unused is made when somebody uses it.
  ExpectLines({.nodes = split + "," + Add("split_unused_1", R"({"as_int": 1})", "y")},
              {"a = split[0]", "split_unused_1 = split[1]",
               "torch.ops.aten.add.Tensor(split_unused_1, 1)"});
  std::string two =
      Call("torch.ops.aten.max.dim", In("self", Tensor("x")) + "," + In("dim", R"({"as_int": 0})"),
           Tensor("v") + "," + Tensor("i"));
  ExpectLines({.nodes = two, .output = "i"},
              {"max = torch.ops.aten.max.dim(x, 0)", "v = max[0]", "i = max[1]"});
}

TEST(ProgramReader, UnknownOperatorsKeepTheirKeywords) {
  ExpectLines(
      {.nodes = Call("torch.ops.nowhere.f.default",
                     In("", Tensor("x")) + "," + In("k", R"({"as_ints": [1, 2]})"), Tensor("y"))},
      {"y = torch.ops.nowhere.f.default(x, k = [1, 2])"});
}

TEST(ProgramReader, PlacesComeFromStackTraces) {
  std::string trace = R"(, "metadata": {"stack_trace":
      "  File \"a.py\", line 3, in f\n    g(x)\n  File \"b.py\", line 7, in g\n    return x + 1\n"})";
  ExpectLines({.nodes = Call("torch.ops.aten.add.Tensor",
                             In("self", Tensor("x")) + "," + In("other", R"({"as_int": 1})"),
                             Tensor("y"), trace.substr(0))},
              {"# File: b.py:7 in g, code: return x + 1"});
}

std::string Region(const std::string& name, const std::string& nodes, const std::string& output) {
  return fmt::format(
      R"({{"as_graph": {{"name": "{}", "graph": {{"inputs": [{}], "outputs": [{}], "nodes": [{}],
          "tensor_values": {{}}, "is_single_tensor_return": false}}}}}})",
      name, Tensor("x"), Tensor(output), nodes);
}

TEST(ProgramReader, RegionsOfGradModeAreInlined) {
  std::string region = Region("submod", Add("x", R"({"as_int": 1})", "y"), "y");
  std::string wrap =
      Call("torch.ops.higher_order.wrap_with_set_grad_enabled",
           In("", R"({"as_bool": false})") + "," + In("", region) + "," + In("", Tensor("z")),
           R"({"as_tensors": [{"name": "getitem"}]})");
  // The region's x is the outer z; its y and the outer y are different values.
  ExpectLines({.nodes = Add("x", R"({"as_int": 5})", "z") + "," + wrap + "," +
                        Add("getitem", R"({"as_int": 2})", "y")},
              {"z = torch.ops.aten.add.Tensor(x, 5)", "y = torch.ops.aten.add.Tensor(z, 1)",
               "y_1 = torch.ops.aten.add.Tensor(y, 2)", "return (y_1,)"});
}

TEST(ProgramReader, AutocastOnlyWhereItIsOff) {
  std::string region = Region("submod", Add("x", R"({"as_int": 1})", "y"), "y");
  auto wrap = [&](const char* enabled) {
    return Call("torch.ops.higher_order.wrap_with_autocast",
                In("", R"({"as_string": "cpu"})") + "," + In("", R"({"as_scalar_type": 13})") +
                    "," + In("", fmt::format(R"({{"as_bool": {}}})", enabled)) + "," +
                    In("", R"({"as_none": true})") + "," + In("", region) + "," +
                    In("", Tensor("x")),
                R"({"as_tensors": [{"name": "g"}]})");
  };
  ExpectLines({.nodes = wrap("false"), .output = "g"}, {"y = torch.ops.aten.add.Tensor(x, 1)"});
  ExpectLines({.nodes = wrap("true"), .output = "g"}, {"torch.autocast", "run_decompositions()"});
}

TEST(ProgramReader, TokensAreDropped) {
  std::string call = Call("torch.ops.higher_order.with_effects",
                          In("", Tensor("token")) + "," +
                              In("", R"({"as_operator": "torch.ops.aten.add.Tensor"})") + "," +
                              In("", Tensor("x")) + "," + In("", R"({"as_int": 3})"),
                          Tensor("token_1") + "," + Tensor("y"));
  Parts parts{.nodes = call};
  std::string text = ProgramText(parts);
  std::string in = R"("inputs": [{"as_tensor": {"name": "x"}}], "outputs")";
  size_t at = text.find(in);
  ASSERT_NE(at, std::string::npos);
  text.replace(
      at, in.size(),
      R"("inputs": [{"as_tensor": {"name": "token"}}, {"as_tensor": {"name": "x"}}], "outputs")");
  std::string spec = R"("input_specs": [)";
  text.insert(text.find(spec) + spec.size(), R"({"token": {"arg": {"name": "token"}}}, )");
  op::OpTable ops;
  ASSERT_TRUE(RegisterTestOperators(ops));
  Result<ImportedProgram> program = ReadProgram(text, "p.json", ops);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->graph.num_inputs(), 1u);
  EXPECT_NE(ir::Print(program->graph).find("y = torch.ops.aten.add.Tensor(x, 3)"),
            std::string::npos);
}

TEST(ProgramReader, WriteBacksAreNoResults) {
  Parts parts{.nodes = Add("x", R"({"as_int": 1})", "y")};
  parts.output_specs = R"({"user_input_mutation": {"arg": {"name": "y"}, "user_input_name": "x"}})";
  ExpectLines(parts, {"# write-back: x = y", "return ()"});
  parts.output_specs = R"({"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": "b"}})";
  ExpectLines(parts, {"there is no buffer 'b' to write"});
}

TEST(ProgramReader, AnAssignedBufferIsTheResult) {
  auto copy = [](const char* name) {
    return Call("torch.ops.aten.copy_.default",
                In("self", Tensor("x")) + "," + In("src", Tensor("y")), Tensor(name));
  };
  Parts parts{.nodes = Add("x", R"({"as_int": 1})", "y") + "," + copy("copy__default"),
              .values = std::string(", \"y\": ") + kMeta};
  parts.input_specs = R"({"buffer": {"arg": {"name": "x"}, "buffer_name": "b"}})";
  ExpectLines(parts, {"return (copy__default,)"});
  // The user's own copy_ is a copy; a user input is not assigned; another layout is not kept.
  Parts own = parts, user = parts, other = parts;
  own.nodes = Add("x", R"({"as_int": 1})", "y") + "," + copy("copy_");
  ExpectLines(own, {"return (y,)"});
  user.input_specs = Parts().input_specs;
  ExpectLines(user, {"return (y,)"});
  other.values = "";
  ExpectLines(other, {"return (y,)"});
}

TEST(ProgramReader, SymbolsAndRanges) {
  Parts parts{.nodes = Add("x", R"({"as_int": 1})", "y")};
  parts.more = R"(, "range_constraints": {"s0": {"min_val": 2, "max_val": null}},
                  "guards_code": ["L['x'].size()[0] >= 2"])";
  std::string text = ProgramText(parts);
  std::string size = R"({"as_int": 4})";
  text.replace(
      text.find(size), size.size(),
      R"json({"as_expr": {"expr_str": "Mul(Integer(2), Symbol('s0', integer=True))"}})json");
  op::OpTable ops;
  ASSERT_TRUE(RegisterTestOperators(ops));
  Result<ImportedProgram> program = ReadProgram(text, "p.json", ops);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->graph.nodes[0].type.tensor.sizes[0].ToString(), "2*s0");
  EXPECT_EQ(program->graph.ranges.at("s0").min, 2);
  EXPECT_FALSE(program->graph.ranges.at("s0").max.has_value());
  EXPECT_EQ(program->graph.guards.size(), 1u);
}

TEST(ProgramReader, KeysInAnyOrderAndUnknownKeys) {
  std::string text = ProgramText({.nodes = Add("x", R"({"as_int": 1})", "y"),
                                  .values = std::string(", \"y\": ") + kMeta,
                                  .more = R"(, "new_key": [{}])"});
  // tensor_values before nodes, outputs and inputs.
  size_t at = text.find("\"tensor_values\""), end = text.find(", \"sym_int_values\"");
  std::string values = text.substr(at, end - at);
  text.erase(at, end + 2 - at);
  text.insert(text.find("\"inputs\": [{\"as_tensor\""), values + ", ");
  op::OpTable ops;
  ASSERT_TRUE(RegisterTestOperators(ops));
  Result<ImportedProgram> program = ReadProgram(text, "p.json", ops);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_NE(ir::Print(program->graph).find("y: \"f32[4][1]cpu\" ="), std::string::npos);
}

TEST(ProgramReader, Refuses) {
  std::string one = R"({"as_int": 1})";
  const std::pair<Parts, const char*> cases[] = {
      {{.nodes = Add("ghost", one, "y")}, "nothing before it defines 'ghost'"},
      {{.nodes = Add("y", one, "y")}, "nothing before it defines 'y'"},
      {{.nodes = Add("x", one, "y") + "," + Add("x", one, "y")}, "'y' is defined twice"},
      {{.nodes = Add("x", one, "x")}, "'x' is defined twice"},
      {{.nodes = Add("x", R"({"as_string": "s"})", "y")},
       "argument 'other' is a string, Tensor is expected"},
      {{.nodes = Add("x", R"({"as_none": true})", "y")}, "argument 'other' is None"},
      {{.nodes = Add("x", R"({"as_int": 1.5})", "y")}, "as_int with a value of another kind"},
      {{.nodes = Add("x", R"({"as_int": 1, "as_float": 1})", "y")}, "no union of one member"},
      {{.nodes = Add("x", R"({"as_future": 1})", "y")}, "unknown kind of argument 'as_future'"},
      {{.nodes = Call("torch.ops.aten.add.Tensor", In("self", Tensor("x")), Tensor("y"))},
       "argument 'other' is missing"},
      {{.nodes = Call("torch.ops.aten.add.Tensor", In("self", Tensor("x")) + "," + In("other", one),
                      "")},
       "the file lists 0 results, aten::add.Tensor has 1"},
      {{.nodes = "{}"}, "a node without a target"},
      {{.nodes = "null"}, "a node without a target"},
      {{.nodes = Add("x", one, "z")}, "outputs: nothing before it defines 'y'"},
      {{.nodes = "", .input_specs = ""}, "the signature has 0 inputs, the graph 1"},
      {{.nodes = Call("torch._functorch.predispatch._vmap_increment_nesting", "", "")},
       "torch.vmap"},
      {{.nodes = Call("torch.ops.higher_order.cond", In("", Tensor("x")), Tensor("y"))},
       "a predicate, two branches"},
      {{.nodes = Add("x", one, "y"),
        .more = R"(, "range_constraints": {"s0": {"min_val": 9, "max_val": 2}})"},
       "'s0' is to be at least 9 and at most 2"},
  };
  for (const auto& [parts, expected] : cases) {
    std::string message = ReadAndPrint(parts);
    EXPECT_NE(message.find(expected), std::string::npos)
        << "expected: " << expected << "\nmessage: " << message;
    EXPECT_TRUE(message.starts_with("p.json: ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace palimpsest::importing
