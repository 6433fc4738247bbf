// Bitwise operators and shifts, also under their Python names (__and__, __lshift__).
#include "kernels/binary_functions.h"
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

namespace f = functions;

constexpr LoopTable kAnd = MakeLoops<f::BitAnd, 2, kBools | kInts>();
constexpr LoopTable kOr = MakeLoops<f::BitOr, 2, kBools | kInts>();
constexpr LoopTable kXor = MakeLoops<f::BitXor, 2, kBools | kInts>();
constexpr LoopTable kLeft = MakeLoops<f::ShiftLeft, 2, kInts>();
constexpr LoopTable kRight = MakeLoops<f::ShiftRight, 2, kInts>();

constexpr PointwiseRow Row(const char* schema, const LoopTable* loops, const char* in_place,
                           const char* out) {
  return {.schema = schema,
          .roles = "oo",
          .rule = Rule::kBinary,
          .loops = loops,
          .in_place = in_place,
          .out = out};
}

const PointwiseRow kRows[] = {
    Row("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", &kAnd, "", "Tensor_out"),
    Row("aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", &kAnd, "", "Scalar_out"),
    Row("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", &kAnd, nullptr,
        nullptr),
    Row("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", &kOr, "", "Tensor_out"),
    Row("aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", &kOr, "", "Scalar_out"),
    Row("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", &kOr, nullptr,
        nullptr),
    Row("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", &kXor, "", "Tensor_out"),
    Row("aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", &kXor, "", "Scalar_out"),
    Row("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", &kXor, nullptr,
        nullptr),
    Row("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", &kLeft, "",
        "Tensor_out"),
    Row("aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", &kLeft, "",
        "Tensor_Scalar_out"),
    Row("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", &kRight, "",
        "Tensor_out"),
    Row("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", &kRight, "",
        "Tensor_Scalar_out"),
    Row("aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", &kAnd, "__iand__", nullptr),
    Row("aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", &kAnd, "__iand__", nullptr),
    Row("aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", &kOr, "__ior__", nullptr),
    Row("aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", &kOr, "__ior__", nullptr),
    Row("aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", &kXor, "__ixor__", nullptr),
    Row("aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", &kXor, "__ixor__", nullptr),
    Row("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", &kLeft, "__ilshift__",
        nullptr),
    Row("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", &kLeft, "__ilshift__",
        nullptr),
    Row("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", &kRight, "__irshift__",
        nullptr),
    Row("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", &kRight, "__irshift__",
        nullptr),
};

}  // namespace

Status RegisterBinaryBits(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
