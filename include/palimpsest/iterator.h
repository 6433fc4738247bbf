// The element-wise iterator: PyTorch's layout, dtype and overlap rules, as a library of its own.
//
//   IteratorConfig config = IteratorConfig::Binary();
//   config.AddOutput().AddInput(a).AddInput(b);
//   PAL_TRY(Iteration it, Iteration::Build(config));
//   it.output(0);                       // sizes and strides that PyTorch would give the result
//   it.ForEach(pointers, loop);         // pointers: first element of each operand, outputs first
//
// Build decides from metadata alone (dtype, sizes, strides, offsets, who shares a storage) and
// touches no memory, so that a prediction and a run cannot differ. docs/iterator.md describes the
// rules; the steps and their order, which decides what error a user sees, are those of PyTorch's
// TensorIterator after its pull request 42922.
//
// Thread safety: a built Iteration is immutable; several threads may walk disjoint ranges of it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "palimpsest/result.h"
#include "palimpsest/scalar.h"
#include "palimpsest/tensor.h"

namespace palimpsest {

// Which overlaps of an output (with itself, or in part with an input) are refused.
enum class OverlapPolicy : uint8_t {
  // What PyTorch's test sees: expanded outputs, dense operands. What it cannot prove is accepted;
  // sizes, strides and dtype are as specified, the values those of the loop's order.
  kPyTorch,
  // Exactly what overlaps (core/overlap.h): no result hangs on the order of the loop.
  kExact,
};
// Strides of a new output where several permutations explain the inputs' (NC11, N1H1: contiguous
// and channels-last at once).
enum class LayoutPolicy : uint8_t {
  kPyTorch,             // contiguous comes first, and trivial strides become canonical
  kPropagateAmbiguous,  // those of the first input, if it is dense and of the result's shape
};

// What an operation says of its operands. Fields may be set freely before Build.
struct IteratorConfig {
  bool check_overlap = true;  // refuse outputs that overlap themselves or, partly, an input
  OverlapPolicy overlap = OverlapPolicy::kPyTorch;
  LayoutPolicy layout = LayoutPolicy::kPyTorch;
  bool resize_outputs = true;  // outputs of another shape are resized, and do not shape the result
  bool same_dtype = true;      // all defined operands must have one type
  bool promote = false;        // inputs are converted to the common type
  bool cast_outputs = false;   // compute in the common type, convert to the outputs' types
  bool safe_cast = false;      // refuse common type -> output type where CanCast is false
  bool int_to_float = false;   // an integral common type becomes f32
  bool reduction = false;      // outputs have stride 0 in reduced dims (ReducedView)
  bool linear = false;         // keep row-major order of dims, last dim fastest
  std::optional<DType> new_output_dtype;  // of outputs to be allocated; default: the common type

  static IteratorConfig Binary();       // add, sub, mul, maximum, bitwise_and
  static IteratorConfig BinaryFloat();  // div, atan2
  static IteratorConfig Unary();        // neg, abs, bitwise_not: one type for all
  static IteratorConfig UnaryFloat();   // exp
  static IteratorConfig LogicalNot();
  // `output`: is one given, and of which type?
  static IteratorConfig Comparison(std::optional<DType> output = std::nullopt);
  static IteratorConfig Ternary();  // addcmul
  static IteratorConfig Lerp();
  // The value arguments are promoted by the operation (all inputs take part in `where` but the
  // condition): it adds converted inputs itself.
  static IteratorConfig Where();
  static IteratorConfig Copy();
  static IteratorConfig Nullary();    // fill
  static IteratorConfig Reduce();     // one output
  static IteratorConfig ReduceTwo();  // max.dim: values and indices
  // No rule at all: walk operands that exist, as they are.
  static IteratorConfig Walk();

  struct Operand {
    const View* view = nullptr;        // null: an output to be allocated
    const Storage* storage = nullptr;  // null: shares memory with nobody
    int64_t object = 0;
    bool is_output = false;
    int same_as_input = -1;  // an output that is this very input (in-place operations)
  };

  // All outputs before any input. Views and tensors are borrowed: they must outlive Build.
  IteratorConfig& AddOutput();
  IteratorConfig& AddOutput(const Tensor& output, int same_as_input = -1);
  IteratorConfig& AddOutput(const View& output);
  IteratorConfig& AddInput(const Tensor& input);
  IteratorConfig& AddInput(const View& input);
  // A Python number: a 0-dim operand of the lowest rank.
  IteratorConfig& AddInput(const Scalar& number);
  // A number that takes part in type promotion only (the bounds of clamp).
  IteratorConfig& AddTypeOnly(const Scalar& number);
  IteratorConfig& AddOutput(Tensor&&, int = -1) = delete;
  IteratorConfig& AddInput(Tensor&&) = delete;
  IteratorConfig& AddInput(View&&) = delete;

  size_t num_outputs = 0;
  SmallVector<Operand, 4> operands;
  SmallVector<int8_t, 4> number_categories;  // per operand: Category of a number, -1 of a tensor
  SmallVector<int8_t, 4> type_only;
};

// The type that the operation computes in (rule 5 of the iterator): the first input's, or the
// promoted type of all inputs.
Result<DType> CommonType(const IteratorConfig& config);
// PyTorch's broadcasting of two shapes. Error "broadcast_mismatch".
Result<Dims> BroadcastShapes(std::span<const int64_t> a, std::span<const int64_t> b);
// The policy of section "memory overlap": what PyTorch refuses before it writes `output`. Errors
// "internal_overlap", "partial_overlap". Not exact: overlap.h is.
Status CheckInternalOverlap(const View& output, OverlapPolicy policy = OverlapPolicy::kPyTorch);
Status CheckPartialOverlap(const Tensor& output, const Tensor& input,
                           OverlapPolicy policy = OverlapPolicy::kPyTorch);
// `result` as the iterator of a reduction sees it: of the input's rank, size 1 and stride 0 in
// reduced dims. `keepdim`: the result has these dims already. reduced[d] per input dim.
View ReducedView(const View& result, std::span<const bool> reduced, bool keepdim);

// Why an iteration is as it is: what Build decided, step by step (`palimpsest strides` prints it).
struct IterationTrace {
  // All operands alike: one dim of all elements. kNone: the dims are ordered.
  enum class FastSetUp : uint8_t { kNone, kContiguous, kChannelsLast, kEqualStrides };
  struct Operand {
    View view;  // as the loops see it; of an output to be laid out: as it becomes
    bool is_output = false, is_number = false, is_converted = false, is_open = false;
  };
  // Must dim `p`, which stands before `q` (is walked faster), come after it?
  struct Comparison {
    enum class Rule : uint8_t {
      kAmbiguous,  // no operand decides: neither swapped nor stopped
      kStrides,    // operand `operand` has different byte strides there
      kSizes,      // equal strides, and p is the larger dim
      kReduced,    // one of them is reduced
    };
    Rule rule = Rule::kAmbiguous;
    size_t p = 0, q = 0, operand = 0;
    int64_t stride_p = 0, stride_q = 0;  // bytes
    bool swaps = false;
  };
  FastSetUp fast_set_up = FastSetUp::kNone;
  bool same_shape = false, reduction = false, linear = false;
  DType common_dtype = DType::kF32;
  Dims shape;
  std::vector<Operand> operands;
  std::vector<Comparison> comparisons;
  SmallVector<size_t, 6> order;  // dims, fastest first
  Dims loop;                     // sizes after merging, fastest first
};

// While it lives, every Iteration that this thread builds appends its trace to `traces`.
class TraceIterations {
 public:
  explicit TraceIterations(std::vector<IterationTrace>* traces);
  ~TraceIterations();
  TraceIterations(const TraceIterations&) = delete;
  TraceIterations& operator=(const TraceIterations&) = delete;

 private:
  std::vector<IterationTrace>* outer_;
};

// A list whose first N elements need no memory of their own.
template <typename T, size_t N>
class InlineList {
 public:
  size_t size() const { return size_; }
  T& operator[](size_t i) { return i < N ? first_[i] : rest_[i - N]; }
  const T& operator[](size_t i) const { return i < N ? first_[i] : rest_[i - N]; }
  void resize(size_t n) {
    if (n > N) rest_.resize(n - N);
    size_ = n;
  }
  void push_back(T value) {
    resize(size_ + 1);
    (*this)[size_ - 1] = std::move(value);
  }

 private:
  size_t size_ = 0;
  std::array<T, N> first_ = {};
  std::vector<T> rest_;
};

class Iteration {
 public:
  // Planning up to 4 operands of up to 6 dims takes no memory from the heap.
  // Errors, in the order in which PyTorch finds them: internal_overlap, partial_overlap,
  // broadcast_mismatch, output_shape_mismatch, dtype_mismatch, cannot_cast.
  static Result<Iteration> Build(const IteratorConfig& config);

  // ---- What it decided about types and results.
  DType common_dtype() const { return common_dtype_; }
  const Dims& common_shape() const { return common_shape_; }  // broadcast shape, user's order
  // The user's output i: a new one (offset 0), a resized one (offset kept) or as given.
  const View& output(size_t i) const { return outputs_[i].view; }
  bool is_new(size_t i) const { return outputs_[i].is_new; }
  bool is_resized(size_t i) const { return outputs_[i].is_resized; }
  // A tensor with elements is resized: the user is to be told ("resized_nonempty_out").
  bool warns_resized(size_t i) const { return outputs_[i].warns; }
  // The operand that the loops see: for a converted input its preserve-format copy, for an output
  // of another type its contiguous temporary.
  const View& operand(size_t i) const { return views_[i]; }
  bool is_converted(size_t i) const { return converted_[i]; }

  // ---- The walk: dims after ordering and merging, fastest first.
  size_t num_operands() const { return num_operands_; }
  size_t dim() const { return shape_.size(); }
  const Dims& shape() const { return shape_; }
  int64_t numel() const { return numel_; }
  int64_t byte_stride(size_t dim, size_t operand) const {
    return strides_[dim * num_operands_ + operand];
  }
  // At most one dim in which every operand is dense, or a single element.
  bool IsContiguous() const;
  // Reductions: dims in which output `i` has stride 0 and size > 1 count as reduced.
  bool IsReducedDim(size_t dim) const;
  size_t NumReducedDims() const;  // output byte stride 0, size 1 included
  int64_t NumOutputElements() const;

  // loop(pointers, strides, size0, size1): pointers at the first element of a block; byte strides
  // of all operands along dim 0, then of all operands along dim 1.
  class Loop {
   public:
    template <typename F>
      requires(!std::is_same_v<std::remove_cvref_t<F>, Loop>)
    Loop(F&& f)  // NOLINT: a reference to a callable, for the length of the call
        : object_(const_cast<void*>(static_cast<const void*>(&f))),
          call_([](void* object, std::byte* const* pointers, const int64_t* strides, int64_t size0,
                   int64_t size1) {
            (*static_cast<std::remove_reference_t<F>*>(object))(pointers, strides, size0, size1);
          }) {}
    void operator()(std::byte* const* pointers, const int64_t* strides, int64_t size0,
                    int64_t size1) const {
      call_(object_, pointers, strides, size0, size1);
    }

   private:
    void* object_;
    void (*call_)(void*, std::byte* const*, const int64_t*, int64_t, int64_t);
  };
  // Elements [begin, end) in the order of the walk, serially. bases: address of each operand's
  // first element, one per operand.
  void ForRange(std::span<std::byte* const> bases, int64_t begin, int64_t end, Loop loop) const;
  // All elements; nothing is called if there are none.
  void ForEach(std::span<std::byte* const> bases, Loop loop) const {
    ForRange(bases, 0, numel_, loop);
  }

 private:
  friend class IterationBuilder;
  struct Output {
    View view;
    bool is_new = false, is_resized = false, warns = false;
  };

  DType common_dtype_ = DType::kF32;
  size_t num_operands_ = 0, num_outputs_ = 0;
  int64_t numel_ = 1;
  Dims common_shape_;
  Dims shape_;
  SmallVector<int64_t, 24> strides_;  // [dim][operand], bytes; at least two dims' worth
  InlineList<Output, 2> outputs_;
  InlineList<View, 4> views_;
  SmallVector<bool, 4> converted_;
};

}  // namespace palimpsest
