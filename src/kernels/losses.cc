#include "kernels/losses.h"

#include "kernels/composed.h"

namespace palimpsest::kernels {
namespace {

using Args = std::span<const Value>;

// The numbers that PyTorch's reductions go by.
constexpr int64_t kMean = 1, kSum = 2;

Value Reduced(Composer& c, const Value& loss, const Value& reduction) {
  if (reduction.ToInt() == kMean) return c.Call("aten::mean", {loss});
  if (reduction.ToInt() == kSum) return c.Call("aten::sum", {loss});
  return loss;
}

Value Sub(Composer& c, const Value& a, const Value& b) {
  return c.Call("aten::sub.Tensor", {a, b});
}
Value Mul(Composer& c, const Value& a, const Value& b) {
  return c.Call("aten::mul.Tensor", {a, b});
}
Value Add(Composer& c, const Value& a, const Value& b) {
  return c.Call("aten::add.Tensor", {a, b});
}
Value Distance(Composer& c, Args args) { return c.Call("aten::abs", {Sub(c, args[0], args[1])}); }

Value L1Loss(Composer& c, Args args) { return Reduced(c, Distance(c, args), args[2]); }

Value MseLoss(Composer& c, Args args) {
  Value distance = Sub(c, args[0], args[1]);
  return Reduced(c, Mul(c, distance, distance), args[2]);
}

// Quadratic near zero, linear beyond `width`; `scale` tells smooth_l1 (1 / width) from huber (1).
Value BentLoss(Composer& c, Args args, double scale) {
  double width = args[3].ToDouble();
  if (width == 0) return L1Loss(c, args.first(3));
  Value z = Distance(c, args);
  Value near = Mul(c, Mul(c, z, z), Value(0.5 * scale));
  Value far = Mul(c, Sub(c, z, Value(0.5 * width)), Value(scale * width));
  Value is_near = c.Call("aten::lt.Scalar", {z, args[3]});
  return Reduced(c, c.Call("aten::where.self", {is_near, near, far}), args[2]);
}
Value SmoothL1Loss(Composer& c, Args args) {
  double beta = args[3].ToDouble();
  if (beta < 0) return c.Fail(Refused("bad_argument", "smooth_l1_loss: beta is negative"));
  return BentLoss(c, args, beta == 0 ? 1 : 1 / beta);
}
Value HuberLoss(Composer& c, Args args) {
  if (args[3].ToDouble() <= 0) {
    return c.Fail(Refused("bad_argument", "huber_loss: delta is not positive"));
  }
  return BentLoss(c, args, 1);
}

// target * (log(target) - input), 0 where the target is 0; or on logarithms of targets.
Value KlDiv(Composer& c, Args args) {
  const Value &input = args[0], &target = args[1];
  Value loss;
  if (args[3].ToBool()) {
    loss = Mul(c, c.Call("aten::exp", {target}), Sub(c, target, input));
  } else {
    Value product = Mul(c, target, Sub(c, c.Call("aten::log", {target}), input));
    Value is_zero = c.Call("aten::eq.Scalar", {target, Value(0)});
    loss = c.Call("aten::masked_fill.Scalar", {product, is_zero, Value(0.0)});
  }
  return Reduced(c, loss, args[2]);
}

Value HingeEmbeddingLoss(Composer& c, Args args) {
  const Value &self = args[0], &target = args[1];
  Value margin = c.Call("aten::clamp_min",
                        {Sub(c, Mul(c, self, Value(-1)), Value(-args[2].ToDouble())), Value(0)});
  auto where = [&](int64_t sign, const Value& value) {
    Value other = c.Call("aten::ne.Scalar", {target, Value(-sign)});
    Value zero = c.Call("aten::zeros_like", {value});
    return c.Call("aten::where.self", {other, zero, value});
  };
  // The pairs that are unlike (-1) keep the margin, the like ones (1) the distance.
  Value unlike = where(1, margin), like = where(-1, self);
  return Reduced(c, Add(c, unlike, like), args[3]);
}

// -log(sigmoid(x)) without overflow: max(-x, 0) + log(1 + exp(-|x|)).
Value NegativeLogSigmoid(Composer& c, const Value& x) {
  Value minus = c.Call("aten::neg", {x});
  Value tail = c.Call("aten::log1p",
                      {c.Call("aten::exp", {c.Call("aten::neg", {c.Call("aten::abs", {x})})})});
  return Add(c, c.Call("aten::clamp_min", {minus, Value(0)}), tail);
}
Value BinaryCrossEntropyWithLogits(Composer& c, Args args) {
  const Value &x = args[0], &target = args[1];
  Value log_term = NegativeLogSigmoid(c, x);
  Value away = Mul(c, c.Call("aten::rsub.Scalar", {target, Value(1)}), x);
  if (args[3].IsTensor()) {
    Value rest = Mul(c, Sub(c, args[3], Value(1)), target);
    log_term = Mul(c, Add(c, rest, Value(1)), log_term);
  }
  Value loss = Add(c, away, log_term);
  if (args[2].IsTensor()) loss = Mul(c, loss, args[2]);
  return Reduced(c, loss, args[4]);
}

Value BinaryCrossEntropy(Composer& c, Args args) {
  const Value &x = args[0], &target = args[1];
  auto log = [&](const Value& v) {
    return c.Call("aten::clamp_min", {c.Call("aten::log", {v}), Value(-100)});
  };
  Value hit = Mul(c, target, log(x));
  Value miss = Mul(c, c.Call("aten::rsub.Scalar", {target, Value(1)}),
                   log(c.Call("aten::rsub.Scalar", {x, Value(1)})));
  Value loss = c.Call("aten::neg", {Add(c, hit, miss)});
  if (args[2].IsTensor()) loss = Mul(c, loss, args[2]);
  return Reduced(c, loss, args[3]);
}

// Minus the element of the target's class, weighted; classes lie along dim 1 (of one dim: 0).
Value NllLoss(Composer& c, Args args) {
  const Value &self = args[0], &target = args[1], &weight = args[2];
  if (!target.IsTensor() || target.tensor().dtype != DType::kI64) {
    return c.Fail(Refused("dtype_mismatch", "nll_loss: expected a target of type int64"));
  }
  size_t rank = self.tensor().dim();
  if (rank == 0 || target.tensor().dim() + 1 != rank) {
    return c.Fail(Refused("size_mismatch", "nll_loss: input and target do not fit"));
  }
  int64_t dim = rank > 1 ? 1 : 0;
  Value ignored = c.Call("aten::eq.Scalar", {target, args[4]});
  Value safe = c.Call("aten::masked_fill.Scalar", {target, ignored, Value(0)});
  Value index = c.Call("aten::unsqueeze", {safe, Value(dim)});
  Value picked =
      c.Call("aten::squeeze.dim", {c.Call("aten::gather", {self, Value(dim), index}), Value(dim)});
  Value factor =
      weight.IsTensor()
          ? c.Call("aten::index_select",
                   {weight, Value(0), c.Call("aten::reshape", {safe, Value::Ints(Dims{-1})})})
          : c.Call("aten::ones_like", {picked});
  if (weight.IsTensor() && c.ok()) {
    factor = c.Call("aten::reshape", {factor, Value::Ints(target.tensor().sizes)});
  }
  factor = c.Call("aten::masked_fill.Scalar", {factor, ignored, Value(0.0)});
  Value loss = c.Call("aten::neg", {Mul(c, picked, factor)});
  // An ignored element counts for nothing, whatever it is (0 * inf).
  loss = c.Call("aten::masked_fill.Scalar", {loss, ignored, Value(0.0)});
  if (args[3].ToInt() != kMean) return Reduced(c, loss, args[3]);
  return c.Call("aten::div.Tensor", {c.Call("aten::sum", {loss}), c.Call("aten::sum", {factor})});
}

Value CrossEntropyLoss(Composer& c, Args args) {
  const Value &self = args[0], &target = args[1];
  if (args[5].ToDouble() != 0 || self.tensor().sizes == target.tensor().sizes) {
    return c.Fail(Unsupported(
        "cross_entropy_loss with label_smoothing or probabilities as targets; use log_softmax and "
        "a weighted sum"));
  }
  int64_t dim = self.tensor().dim() > 1 ? 1 : 0;
  Value logs = c.Call("aten::log_softmax.int", {self, Value(dim)});
  const Value inner[] = {logs, target, args[2], args[3], args[4]};
  return c.ok() ? NllLoss(c, inner) : Value();
}

const ComposedRow kRows[] = {
    {"aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", L1Loss},
    {"aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", MseLoss},
    {"aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor",
     SmoothL1Loss},
    {"aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor",
     HuberLoss},
    {"aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> "
     "Tensor",
     KlDiv},
    {"aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> "
     "Tensor",
     HingeEmbeddingLoss},
    {"aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
     "Tensor? pos_weight=None, int reduction=1) -> Tensor",
     BinaryCrossEntropyWithLogits},
    {"aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int "
     "reduction=1) -> Tensor",
     BinaryCrossEntropy},
    {"aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
     "ignore_index=-100) -> Tensor",
     NllLoss},
    {"aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
     "ignore_index=-100) -> Tensor",
     NllLoss},
    {"aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
     "SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
     CrossEntropyLoss},
};

}  // namespace

Status RegisterLosses(op::OpTable& table) { return RegisterComposed(table, kRows); }

}  // namespace palimpsest::kernels
