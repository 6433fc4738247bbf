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
// One step: `input` is the input's product with its weights; hidden and state [batch, hidden]
// become the next ones. Only an LSTM has a state beside its hidden values.
using Step = void (*)(Composer& c, const Value& input, const Cell& cell, Value& hidden,
                      Value& state);

Value Select(Composer& c, const Value& x, int64_t i) {
  return c.Call("aten::select.int", {x, Value(0), Value(i)});
}
Value Add(Composer& c, const Value& a, const Value& b) {
  return c.Call("aten::add.Tensor", {a, b});
}
Value Mul(Composer& c, const Value& a, const Value& b) {
  return c.Call("aten::mul.Tensor", {a, b});
}
Value FromHidden(Composer& c, const Value& hidden, const Cell& cell) {
  return c.Call("aten::linear", {hidden, cell.hidden_weight, cell.hidden_bias});
}

void LstmStep(Composer& c, const Value& input, const Cell& cell, Value& hidden, Value& state) {
  Value gates = Add(c, FromHidden(c, hidden, cell), input);
  Value parts = c.Call("aten::chunk", {gates, Value(4), Value(1)});
  Value in = c.Call("aten::sigmoid", {c.Item(parts, 0)});
  Value forget = c.Call("aten::sigmoid", {c.Item(parts, 1)});
  Value candidate = c.Call("aten::tanh", {c.Item(parts, 2)});
  Value out = c.Call("aten::sigmoid", {c.Item(parts, 3)});
  state = Add(c, Mul(c, forget, state), Mul(c, in, candidate));
  hidden = Mul(c, out, c.Call("aten::tanh", {state}));
}

void GruStep(Composer& c, const Value& input, const Cell& cell, Value& hidden, Value&) {
  Value x = c.Call("aten::chunk", {input, Value(3), Value(1)});
  Value h = c.Call("aten::chunk", {FromHidden(c, hidden, cell), Value(3), Value(1)});
  Value reset = c.Call("aten::sigmoid", {Add(c, c.Item(h, 0), c.Item(x, 0))});
  Value update = c.Call("aten::sigmoid", {Add(c, c.Item(h, 1), c.Item(x, 1))});
  Value candidate = c.Call("aten::tanh", {Add(c, Mul(c, c.Item(h, 2), reset), c.Item(x, 2))});
  Value away = c.Call("aten::sub.Tensor", {hidden, candidate});
  hidden = Add(c, Mul(c, away, update), candidate);
}

template <bool kTanh>
void RnnStep(Composer& c, const Value& input, const Cell& cell, Value& hidden, Value&) {
  hidden =
      c.Call(kTanh ? "aten::tanh" : "aten::relu", {Add(c, FromHidden(c, hidden, cell), input)});
}

// inputs [steps, batch, size] -> the hidden values of all steps.
Value RunCell(Composer& c, Step step, const Value& inputs, const Cell& cell, bool backwards,
              Value& hidden, Value& state) {
  int64_t steps = inputs.tensor().sizes[0];
  Value products = c.Call("aten::linear", {inputs, cell.input_weight, cell.input_bias});
  Value::List outputs(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps && c.ok(); ++i) {
    int64_t at = backwards ? steps - 1 - i : i;
    step(c, Select(c, products, at), cell, hidden, state);
    outputs[static_cast<size_t>(at)] = hidden;
  }
  return c.Call("aten::stack", {Value(std::move(outputs)), Value(0)});
}

// `start`: per kind of state (hidden; of an LSTM its own too) [layers * directions, batch, hidden].
// `rest`: params, has_biases, num_layers, dropout, train, bidirectional, batch_first.
Value RunLayers(Composer& c, Step step, const Value& input, const Value::List& start, Args rest) {
  const Value::List& params = rest[0].list();
  bool has_biases = rest[1].ToBool(), train = rest[4].ToBool();
  bool bidirectional = rest[5].ToBool(), batch_first = rest[6].ToBool();
  int64_t layers = rest[2].ToInt(), directions = bidirectional ? 2 : 1;
  size_t per_cell = has_biases ? 4 : 2;
  bool fits = input.tensor().dim() == 3 && layers > 0 &&
              params.size() == per_cell * static_cast<size_t>(layers * directions) &&
              input.tensor().sizes[batch_first ? 1 : 0] > 0;
  for (const Value& s : start) {
    fits = fits && s.tensor().dim() == 3 && s.tensor().sizes[0] == layers * directions;
  }
  if (!fits)
    return c.Fail(Refused("size_mismatch",
                          "a recurrent layer: inputs and parameters do "
                          "not fit"));
  if (train && rest[3].ToDouble() > 0 && layers > 1) {
    return c.Fail(
        Unsupported("a recurrent layer with dropout in training; export in evaluation "
                    "mode"));
  }
  Value x = input;
  if (batch_first) x = c.Call("aten::transpose.int", {x, Value(0), Value(1)});
  std::vector<Value::List> ends(start.size());
  size_t next = 0;
  for (int64_t layer = 0; layer < layers && c.ok(); ++layer) {
    Value::List outputs;
    for (int64_t direction = 0; direction < directions && c.ok(); ++direction) {
      Cell cell{params[next], params[next + 1], Value(), Value()};
      if (has_biases) cell.input_bias = params[next + 2], cell.hidden_bias = params[next + 3];
      next += per_cell;
      Value at[2];
      for (size_t s = 0; s < start.size(); ++s) {
        at[s] = Select(c, start[s], layer * directions + direction);
      }
      outputs.push_back(RunCell(c, step, x, cell, direction == 1, at[0], at[1]));
      for (size_t s = 0; s < start.size(); ++s) ends[s].push_back(at[s]);
    }
    x = outputs.size() == 1 ? outputs[0] : c.Call("aten::cat", {Value(outputs), Value(-1)});
  }
  if (batch_first) x = c.Call("aten::transpose.int", {x, Value(0), Value(1)});
  Value::List results = {x};
  for (Value::List& end : ends) {
    results.push_back(c.Call("aten::stack", {Value(std::move(end)), Value(0)}));
  }
  return Value(std::move(results));
}

Value Lstm(Composer& c, Args args) {
  if (args[1].list().size() != 2) {
    return c.Fail(Refused("size_mismatch", "lstm: expects two hidden states"));
  }
  return RunLayers(c, LstmStep, args[0], args[1].list(), args.subspan(2));
}
template <Step kStep>
Value OneState(Composer& c, Args args) {
  return RunLayers(c, kStep, args[0], {args[1]}, args.subspan(2));
}

const ComposedRow kRows[] = {
    {"aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor, Tensor)",
     Lstm},
    {"aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
     "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
     OneState<GruStep>},
    {"aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor)",
     OneState<RnnStep<true>>},
    {"aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
     "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, "
     "Tensor)",
     OneState<RnnStep<false>>},
};

}  // namespace

Status RegisterRecurrent(op::OpTable& table) { return RegisterComposed(table, kRows); }

}  // namespace palimpsest::kernels
