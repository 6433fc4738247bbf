// Operators that walk tensors of equal sizes side by side.
#include "elements.h"
#include "families.h"

namespace caselib {
namespace {

void CheckOne(Tensor x) { RequireType(x); }
void CheckTwo(Tensor x, Tensor y) { RequireAlike({x, y}); }
void CheckThree(Tensor x, Tensor y, Tensor z) { RequireAlike({x, y, z}); }

void Bump(const Tensor& x, int64_t k) {
  Dispatch(x, [&]<typename T>(T) {
    ForEach(x, x.data<T>(), [&](T& v) { v = Plus(v, static_cast<T>(k)); });
  });
}
void AddOne(Tensor x) { Bump(x, 1); }

void Scale(Tensor x, double s) {
  Dispatch(x, [&]<typename T>(T) { ForEach(x, x.data<T>(), [&](T& v) { v = Times(v, s); }); });
}
void CheckScale(Tensor x, double) { RequireType(x); }

void ReverseInto(Tensor src, Tensor dst) {
  Dispatch(src, [&]<typename T>(T) {
    const T* a = src.data<const T>();
    T* b = dst.data<T>();
    int64_t n = src.size(0);
    for (int64_t i = 0; i < n; ++i) {
      const T* from = a + (n - 1 - i) * src.stride(0);
      T* to = b + i * dst.stride(0);
      Walk<2>(src.sizes().subspan(1), {src.strides().subspan(1), dst.strides().subspan(1)},
              [&](const auto& o) { to[o[1]] = from[o[0]]; });
    }
  });
}
void CheckReverse(Tensor src, Tensor dst) {
  RequireAlike({src, dst});
  Require(src.dim() >= 1, "at least one dim");
}

void PrefixInto(Tensor src, Tensor dst) {
  Dispatch(src, [&]<typename T>(T) {
    T sum = 0;
    ForEach(src, src.data<const T>(), dst, dst.data<T>(), [&](const T& from, T& to) {
      sum = Plus(sum, from);
      to = sum;
    });
  });
}

void SinCos(Tensor x, Tensor s, Tensor c) {
  Dispatch(x, [&]<typename T>(T) {
    ForEach(x, x.data<const T>(), s, s.data<T>(), c, c.data<T>(),
            [&](const T& from, T& sine, T& cosine) {
              auto v = static_cast<double>(from);
              sine = FromDouble<T>(std::sin(v));
              cosine = FromDouble<T>(std::cos(v));
            });
  });
}

void AddPair(Tensor x, Tensor y) {
  Dispatch(x, [&]<typename T>(T) {
    ForEach(x, x.data<T>(), y, y.data<T>(), [](T& a, T& b) {
      a = Plus(a, T{1});
      b = Plus(b, a);
    });
  });
}

void Swap(Tensor x, Tensor y) {
  Dispatch(x, [&]<typename T>(T) {
    ForEach(x, x.data<T>(), y, y.data<T>(), [](T& a, T& b) {
      T kept = a;
      a = b;
      b = kept;
    });
  });
}

void Axpy(Tensor x, Tensor y, double alpha, int64_t shift) {
  Dispatch(x, [&]<typename T>(T) {
    ForEach(x, x.data<T>(), y, y.data<const T>(),
            [&](T& a, const T& b) { a = Plus(a, Plus(Times(b, alpha), static_cast<T>(shift))); });
  });
}
void CheckAxpy(Tensor x, Tensor y, double, int64_t) { RequireAlike({x, y}); }

void WritePart(Tensor x, int64_t k) {
  Dispatch(x, [&]<typename T>(T) {
    int64_t n = 0;
    ForEach(x, x.data<T>(), [&](T& v) {
      if (n++ < k) v = 7;
    });
  });
}
void CheckWritePart(Tensor x, int64_t) { RequireType(x); }

void FillSeq(Tensor x) {
  Dispatch(x, [&]<typename T>(T) {
    int64_t n = 0;
    ForEach(x, x.data<T>(), [&](T& v) { v = static_cast<T>(n++); });
  });
}

void OddNames(Tensor self, Tensor out, Tensor all_bases) {
  Dispatch(self, [&]<typename T>(T) {
    ForEach(self, self.data<T>(), out, out.data<const T>(), all_bases, all_bases.data<T>(),
            [](T& a, const T& b, T& c) {
              a = Plus(a, b);
              c = Minus(c, b);
            });
  });
}

Tensor ScaleOut(Tensor x, double s, Tensor out) {
  Dispatch(x, [&]<typename T>(T) {
    ForEach(x, x.data<const T>(), out, out.data<T>(),
            [&](const T& from, T& to) { to = Times(from, s); });
  });
  return out;
}
void CheckScaleOut(Tensor x, double, Tensor out) { RequireAlike({x, out}); }

Tensor BumpSelf(Tensor self) {
  Bump(self, 1);
  return self;
}

}  // namespace

void DefineElementwise(palimpsest::plugin::Library& m) {
  m.def("add_one(Tensor(a!) x) -> ()", AddOne, CheckOne);
  m.def("scale_(Tensor(a!) x, float s=2.0) -> ()", Scale, CheckScale);
  m.def("reverse_into(Tensor src, Tensor(a!) dst) -> ()", ReverseInto, CheckReverse);
  m.def("prefix_into(Tensor src, Tensor(a!) dst) -> ()", PrefixInto, CheckTwo);
  m.def("sin_cos(Tensor x, Tensor(a!) s, Tensor(b!) c) -> ()", SinCos, CheckThree);
  m.def("add_pair(Tensor(a!) x, Tensor(b!) y) -> ()", AddPair, CheckTwo);
  m.def("swap_(Tensor(a!) x, Tensor(b!) y) -> ()", Swap, CheckTwo);
  m.def("axpy_(Tensor(a!) x, Tensor y, *, float alpha=1.0, int shift=0) -> ()", Axpy, CheckAxpy);
  m.def("write_part(Tensor(a!) x, int k) -> ()", WritePart, CheckWritePart);
  m.def("fill_seq(Tensor(a!) x) -> ()", FillSeq, CheckOne);
  m.def("odd_names(Tensor(a!) self, Tensor out, Tensor(b!) all_bases) -> ()", OddNames, CheckThree);
  m.def("scale_out(Tensor x, float s, *, Tensor(a!) out) -> Tensor(a!)", ScaleOut, CheckScaleOut,
        {.tag = "out"});
  m.def("bump_(Tensor(a!) self) -> Tensor(a!)", BumpSelf, CheckOne, {.tag = "inplace"});
}

}  // namespace caselib
