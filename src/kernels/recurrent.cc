// One layer and direction after the other, one step after the other, as a composition: products
// with the input are made for all steps at once.
#include "kernels/recurrent.h"

#include "kernels/composed.h"

namespace palimpsest::kernels {
namespace {

using Args = std::span<const Value>;

// The weights of one layer in one direction.
struct Cell {
  Value input_weight, hidden_weight, input_bias, hidden_bias;
};
struct Sequence {
  Value outputs, hidden, state;
};

Value Select(Composer& c, const Value& x, int64_t i) {
  return c.Call("aten::select.int", {x, Value(0), Value(i)});
}

// inputs [steps, batch, size]; hidden and state [batch, hidden].
Sequence RunLstm(Composer& c, const Value& inputs, Value hidden, Value state, const Cell& cell,
                 bool backwards) {
  int64_t steps = inputs.tensor().sizes[0];
  Value gates_of_inputs = c.Call("aten::linear", {inputs, cell.input_weight, cell.input_bias});
  Value::List outputs(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps && c.ok(); ++i) {
    int64_t step = backwards ? steps - 1 - i : i;
    Value gates = c.Call("aten::add.Tensor",
                         {c.Call("aten::linear", {hidden, cell.hidden_weight, cell.hidden_bias}),
                          Select(c, gates_of_inputs, step)});
    Value parts = c.Call("aten::chunk", {gates, Value(4), Value(1)});
    Value in = c.Call("aten::sigmoid", {c.Item(parts, 0)});
    Value forget = c.Call("aten::sigmoid", {c.Item(parts, 1)});
    Value candidate = c.Call("aten::tanh", {c.Item(parts, 2)});
    Value out = c.Call("aten::sigmoid", {c.Item(parts, 3)});
    state = c.Call("aten::add.Tensor", {c.Call("aten::mul.Tensor", {forget, state}),
                                        c.Call("aten::mul.Tensor", {in, candidate})});
    hidden = c.Call("aten::mul.Tensor", {out, c.Call("aten::tanh", {state})});
    outputs[static_cast<size_t>(step)] = hidden;
  }
  return {c.Call("aten::stack", {Value(std::move(outputs)), Value(0)}), hidden, state};
}

Value Lstm(Composer& c, Args args) {
  const Value::List &hx = args[1].list(), &params = args[2].list();
  bool has_biases = args[3].ToBool(), train = args[6].ToBool();
  bool bidirectional = args[7].ToBool(), batch_first = args[8].ToBool();
  int64_t layers = args[4].ToInt(), directions = bidirectional ? 2 : 1;
  size_t per_cell = has_biases ? 4 : 2;
  bool fits = hx.size() == 2 && args[0].tensor().dim() == 3 && layers > 0 &&
              params.size() == per_cell * static_cast<size_t>(layers * directions) &&
              hx[0].tensor().dim() == 3 && args[0].tensor().sizes[batch_first ? 1 : 0] > 0;
  if (!fits) return c.Fail(Refused("size_mismatch", "lstm: inputs and parameters do not fit"));
  if (train && args[5].ToDouble() > 0 && layers > 1) {
    return c.Fail(Unsupported("lstm with dropout in training; export in evaluation mode"));
  }
  Value x = args[0];
  if (batch_first) x = c.Call("aten::transpose.int", {x, Value(0), Value(1)});
  Value::List hidden, state;
  size_t next = 0;
  for (int64_t layer = 0; layer < layers && c.ok(); ++layer) {
    Value::List outputs;
    for (int64_t direction = 0; direction < directions && c.ok(); ++direction) {
      Cell cell{params[next], params[next + 1], Value(), Value()};
      if (has_biases) cell.input_bias = params[next + 2], cell.hidden_bias = params[next + 3];
      next += per_cell;
      int64_t i = layer * directions + direction;
      Sequence s = RunLstm(c, x, Select(c, hx[0], i), Select(c, hx[1], i), cell, direction == 1);
      outputs.push_back(s.outputs);
      hidden.push_back(s.hidden);
      state.push_back(s.state);
    }
    x = outputs.size() == 1 ? outputs[0] : c.Call("aten::cat", {Value(outputs), Value(-1)});
  }
  if (batch_first) x = c.Call("aten::transpose.int", {x, Value(0), Value(1)});
  return Value(Value::List{x, c.Call("aten::stack", {Value(hidden), Value(0)}),
                           c.Call("aten::stack", {Value(state), Value(0)})});
}

const ComposedRow kRows[] = {
    {"aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor, Tensor)",
     Lstm},
};

}  // namespace

Status RegisterRecurrent(op::OpTable& table) { return RegisterComposed(table, kRows); }

}  // namespace palimpsest::kernels
