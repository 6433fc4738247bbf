// Bitwise operators and shifts, also under their Python names (__and__, __lshift__).
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

constexpr PointwiseRow Row(const char* schema, LoopId loops, const char* in_place,
                           const char* out) {
  return {.schema = schema,
          .roles = "oo",
          .rule = Rule::kBinary,
          .loops = loops,
          .in_place = in_place,
          .out = out};
}

const PointwiseRow kRows[] = {
    Row("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kBitAnd, "",
        "Tensor_out"),
    Row("aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kBitAnd, "",
        "Scalar_out"),
    Row("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", LoopId::kBitAnd,
        nullptr, nullptr),
    Row("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kBitOr, "",
        "Tensor_out"),
    Row("aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kBitOr, "",
        "Scalar_out"),
    Row("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", LoopId::kBitOr,
        nullptr, nullptr),
    Row("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kBitXor, "",
        "Tensor_out"),
    Row("aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kBitXor, "",
        "Scalar_out"),
    Row("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", LoopId::kBitXor,
        nullptr, nullptr),
    Row("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kShiftLeft,
        "", "Tensor_out"),
    Row("aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
        LoopId::kShiftLeft, "", "Tensor_Scalar_out"),
    Row("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
        LoopId::kShiftRight, "", "Tensor_out"),
    Row("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
        LoopId::kShiftRight, "", "Tensor_Scalar_out"),
    Row("aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kBitAnd, "__iand__",
        nullptr),
    Row("aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kBitAnd, "__iand__",
        nullptr),
    Row("aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kBitOr, "__ior__",
        nullptr),
    Row("aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kBitOr, "__ior__",
        nullptr),
    Row("aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kBitXor, "__ixor__",
        nullptr),
    Row("aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kBitXor, "__ixor__",
        nullptr),
    Row("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kShiftLeft,
        "__ilshift__", nullptr),
    Row("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kShiftLeft,
        "__ilshift__", nullptr),
    Row("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kShiftRight,
        "__irshift__", nullptr),
    Row("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kShiftRight,
        "__irshift__", nullptr),
};

}  // namespace

Status RegisterBinaryBits(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
