/* The operator plug-in ABI: C, versioned, append-only.
 *
 * A library exports one symbol, `palimpsest_operators_v1`, of type PalimpsestRegisterFn. It is
 * called once, with a host table; it calls host->define once per operator. operator_library.h is a
 * C++ face on top, modelled on PyTorch's registration; write operators with that.
 *
 * Promised to an operator: element alignment of every tensor (no more); tensors of size 0 have a
 * non-null pointer; called from any thread, never twice at once for one session; two arguments
 * share exactly the memory that they share in eager PyTorch. It must keep no pointers. Operands
 * come with the strides of the program as written. Nothing is ever freed by an operator. A library
 * stays loaded until the process ends. */
#ifndef PALIMPSEST_PLUGIN_H_
#define PALIMPSEST_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PALIMPSEST_PLUGIN_ABI 1

/* DLPack's type codes: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool. */
typedef struct PalTensor {
  void* data; /* address of the first element; null when meta is asked */
  int32_t ndim;
  uint8_t dtype_code, dtype_bits;
  uint8_t read_only; /* 1: the schema does not write this argument */
  uint8_t reserved;
  const int64_t* sizes;   /* elements */
  const int64_t* strides; /* elements */
} PalTensor;

typedef enum PalKind {
  PAL_NONE = 0,
  PAL_TENSOR = 1,
  PAL_INT = 2,
  PAL_FLOAT = 3,
  PAL_BOOL = 4,
  PAL_STRING = 5,
  PAL_LIST = 6
} PalKind;

/* One argument. Optional and absent: PAL_NONE. A list with holes has PAL_NONE items. A Scalar is
 * PAL_INT, PAL_FLOAT or PAL_BOOL, as it was given. Element types come as strings ("f32"), devices
 * too
 * ("cpu"). */
typedef struct PalArg {
  int32_t kind; /* PalKind */
  int32_t reserved;
  int64_t i;                  /* PAL_INT, PAL_BOOL; PAL_LIST: the number of items */
  double f;                   /* PAL_FLOAT */
  const char* s;              /* PAL_STRING, UTF-8, terminated */
  const PalTensor* tensor;    /* PAL_TENSOR */
  const struct PalArg* items; /* PAL_LIST */
} PalArg;

typedef enum PalFailure {
  PAL_FAIL_CONTRACT = 1, /* the arguments are not what the operator takes: the caller's fault */
  PAL_FAIL_INDEX = 2,    /* a value read from memory is out of range */
  PAL_FAIL_OTHER = 3
} PalFailure;

/* What an operator may ask of us while it runs. Append-only. */
typedef struct PalContext {
  uint32_t abi;
  uint32_t reserved;
  void* impl; /* ours */
  void* data; /* PalOperator.data */
  /* Reports an error; returns a non-zero value for the operator to return. */
  int (*fail)(struct PalContext*, int kind, const char* text);
  /* In meta: declares fresh result number `index` (counting the schema's unaliased tensor returns).
   * strides may be null: contiguous. */
  int (*result)(struct PalContext*, int index, uint8_t dtype_code, uint8_t dtype_bits, int32_t ndim,
                const int64_t* sizes, const int64_t* strides);
  /* In run: the value of returned number `index` (counting the schema's int, float and bool
   * returns). Zero if it was taken. */
  int (*number)(struct PalContext*, int index, const PalArg* value);
} PalContext;

/* args: one per schema argument, defaults filled in; in `run` followed by the fresh results,
 * allocated as meta said. Returns 0, or what ctx->fail returned. */
typedef int (*PalRunFn)(PalContext* ctx, const PalArg* args, size_t n);
/* The same arguments with null data pointers. Needed by operators that return new tensors; called
 * for every operator that has one: the place for contracts on sizes and types. */
typedef int (*PalMetaFn)(PalContext* ctx, const PalArg* args, size_t n);

typedef struct PalOperator {
  uint32_t size;      /* sizeof(PalOperator), for later fields */
  uint32_t flags;     /* PAL_OP_* */
  const char* schema; /* "my::inc_(Tensor(a!) x, int n=1) -> ()" */
  const char* tag;    /* "inplace", "out" or null */
  PalRunFn run;
  PalMetaFn meta; /* may be null */
  void* data;     /* handed to run and meta as ctx->data */
  /* The types of run's and meta's parameters, separated by commas: schema types without names and
   * alias marks ("Tensor,Tensor?[],int"); run's fresh results are "Tensor" each. Null: not checked.
   */
  const char* run_types;
  const char* meta_types;
} PalOperator;

enum {
  PAL_OP_MAY_REFUSE = 1, /* may fail because of data: kept even if nobody wants its results */
  PAL_OP_EFFECT = 2      /* has an effect beyond its arguments and results (prints, ...) */
};

typedef struct PalHost {
  uint32_t abi; /* PALIMPSEST_PLUGIN_ABI of the host */
  uint32_t reserved;
  void* impl;
  int (*define)(struct PalHost*,
                const PalOperator*);              /* non-zero: refused, the host keeps the text */
  int (*fail)(struct PalHost*, const char* text); /* nothing of the library is registered */
} PalHost;

/* Returns the ABI version it was built for; the host refuses another one with both numbers. A
 * library that finds another number in host->abi calls nothing. */
typedef uint32_t (*PalimpsestRegisterFn)(PalHost* host);

#ifdef __cplusplus
}
#endif
#endif /* PALIMPSEST_PLUGIN_H_ */
