/* SPDX-License-Identifier: MIT */
/* The loops of kernel_windows.h.  A constant table; any thread.  To have another form here, add its PTO_WINDOW_LOOP_…
 * and PTO_IN_WINDOWS_…. */
#include <kernels/kernel_windows.h>

#include <kernels/kernel_loops_build.h>

#if defined(__x86_64__)
PTO_TARGET_PUSH(PTO_AVX512_TARGET)

/* How many elements a window has. */
#define WINDOW_ELEMS (PTO_WINDOW_BYTES / sizeof(T))

/* The operation on a window is a loop of known length over arrays, of which compilers make vectors in registers. */
#define PTO_WINDOW_LOOP(name, suffix, type, unsigned_type, condition, expression)                                      \
  static inline __attribute__((always_inline)) void name##_window_##suffix(                                            \
      char *out, const char *a_bytes, const char *b_bytes, __mmask64 mask, PTO_MAYBE_UNUSED float s,                   \
      PTO_MAYBE_UNUSED float t) {                                                                                      \
    typedef type T;                                                                                                    \
    PTO_MAYBE_UNUSED typedef unsigned_type U;                                                                          \
    _Alignas(PTO_WINDOW_BYTES) T in_a[WINDOW_ELEMS], in_b[WINDOW_ELEMS], result[WINDOW_ELEMS];                         \
    _mm512_store_si512(in_a, _mm512_maskz_loadu_epi8(mask, a_bytes));                                                  \
    _mm512_store_si512(in_b, _mm512_maskz_loadu_epi8(mask, b_bytes));                                                  \
    PTO_INDEPENDENT                                                                                                    \
    for (uint64_t i = 0; i < WINDOW_ELEMS; i++) {                                                                      \
      PTO_MAYBE_UNUSED const T a = in_a[i], b = in_b[i];                                                               \
      result[i] = (T)(expression);                                                                                     \
    }                                                                                                                  \
    _mm512_mask_storeu_epi8(out, mask, _mm512_load_si512(result));                                                     \
  }                                                                                                                    \
  PTO_MAYBE_UNUSED static void name##_windows_##suffix(const struct pto_windows *windows) {                            \
    if (condition) {                                                                                                   \
      struct pto_windows w = *windows;                                                                                 \
      const float s = w.scalar.f32, t = w.scalar2.f32;                                                                 \
      for (uint64_t line = 0; line < w.lines; line++, w.a += w.a_line, w.b += w.b_line, w.out += w.out_line) {         \
        uint64_t at = 0;                                                                                               \
        for (uint64_t i = 0; i < w.whole; i++, at += w.step_bytes)                                                     \
          name##_window_##suffix(w.out + at, w.a + at, w.b + at, w.mask, s, t);                                        \
        if (w.last_mask != 0) name##_window_##suffix(w.out + at, w.a + at, w.b + at, w.last_mask, s, t);               \
      }                                                                                                                \
    }                                                                                                                  \
  }

#define PTO_WINDOW_LOOPS(name, dtypes, of_floats, of_integers)                                                         \
  PTO_WINDOW_LOOP(name, f32, float, float, ((dtypes)&PTO_DTYPES_FLOAT) != 0, of_floats)                                \
  PTO_WINDOW_LOOP(name, i64, int64_t, uint64_t, ((dtypes)&PTO_CLASS_DTYPES_I64) != 0, of_integers)                     \
  PTO_WINDOW_LOOP(name, u64, uint64_t, uint64_t, ((dtypes)&PTO_CLASS_DTYPES_U64) != 0, of_integers)                    \
  PTO_WINDOW_LOOP(name, i8, int8_t, uint32_t, ((dtypes)&PTO_CLASS_DTYPES_I8) != 0, of_integers)                        \
  PTO_WINDOW_LOOP(name, i16, int16_t, uint32_t, ((dtypes)&PTO_CLASS_DTYPES_I16) != 0, of_integers)                     \
  PTO_WINDOW_LOOP(name, i32, int32_t, uint32_t, ((dtypes)&PTO_CLASS_DTYPES_I32) != 0, of_integers)                     \
  PTO_WINDOW_LOOP(name, u8, uint8_t, uint32_t, ((dtypes)&PTO_CLASS_DTYPES_U8) != 0, of_integers)                       \
  PTO_WINDOW_LOOP(name, u16, uint16_t, uint32_t, ((dtypes)&PTO_CLASS_DTYPES_U16) != 0, of_integers)                    \
  PTO_WINDOW_LOOP(name, u32, uint32_t, uint32_t, ((dtypes)&PTO_CLASS_DTYPES_U32) != 0, of_integers)                    \
  PTO_WINDOW_LOOP(name, flag, uint8_t, uint32_t, ((dtypes)&PTO_CLASS_DTYPES_BOOL) != 0, of_integers)
/* Division of 64 bits has no vector form, so that a gap would take as long as elements. */
#define PTO_WITHOUT_DIVISION(name, dtypes) (PTO_OP_##name == PTO_OP_div ? 0 : (dtypes))
#define PTO_WINDOW_ENTRY(name, constant, suffix, dtypes, class_dtypes)                                                 \
  [PTO_OP_##name][PTO_CLASS_##constant] = ((dtypes) & (class_dtypes)) != 0 ? name##_windows_##suffix : NULL,
#define PTO_WINDOW_ENTRIES(name, dtypes)                                                                               \
  PTO_WINDOW_ENTRY(name, F32, f32, dtypes, PTO_DTYPES_FLOAT)                                                           \
  PTO_WINDOW_ENTRY(name, I64, i64, PTO_WITHOUT_DIVISION(name, dtypes), PTO_CLASS_DTYPES_I64)                           \
  PTO_WINDOW_ENTRY(name, U64, u64, PTO_WITHOUT_DIVISION(name, dtypes), PTO_CLASS_DTYPES_U64)                           \
  PTO_WINDOW_ENTRY(name, I8, i8, dtypes, PTO_CLASS_DTYPES_I8)                                                          \
  PTO_WINDOW_ENTRY(name, I16, i16, dtypes, PTO_CLASS_DTYPES_I16)                                                       \
  PTO_WINDOW_ENTRY(name, I32, i32, dtypes, PTO_CLASS_DTYPES_I32)                                                       \
  PTO_WINDOW_ENTRY(name, U8, u8, dtypes, PTO_CLASS_DTYPES_U8)                                                          \
  PTO_WINDOW_ENTRY(name, U16, u16, dtypes, PTO_CLASS_DTYPES_U16)                                                       \
  PTO_WINDOW_ENTRY(name, U32, u32, dtypes, PTO_CLASS_DTYPES_U32)                                                       \
  PTO_WINDOW_ENTRY(name, BOOL, flag, dtypes, PTO_CLASS_DTYPES_BOOL)

/* The forms that have windows: those of expressions, on tensors of one dtype and scalars of f32. */
#define PTO_WINDOW_TAKE(what, ...) what(__VA_ARGS__)
#define PTO_WINDOW_LEAVE(...)
#define PTO_WINDOW_FORM_UNARY PTO_WINDOW_TAKE
#define PTO_WINDOW_FORM_BINARY PTO_WINDOW_TAKE
#define PTO_WINDOW_FORM_SCALED PTO_WINDOW_TAKE
#define PTO_WINDOW_FORM_SCALED2 PTO_WINDOW_TAKE
#define PTO_WINDOW_FORM_INPLACE PTO_WINDOW_TAKE
#define PTO_WINDOW_FORM_FILL PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_FILL_INT PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_LANES PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_LANES_STEPS PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_LANES_SCALED PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_LANES_BINARY PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_LANES_BINARY_STEPS PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_PREDICATE PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_COMPARE PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_SELECT PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_SCALED_INT PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_BOUNDED_INT PTO_WINDOW_LEAVE
#define PTO_WINDOW_FORM_BOUNDED2_INT PTO_WINDOW_LEAVE

#define X(name, form, dtypes, ulps, of_floats, of_integers, ...)                                                       \
  PTO_WINDOW_FORM_##form(PTO_WINDOW_LOOPS, name, dtypes, of_floats, of_integers)
PTO_ELEMENTWISE_LIST(X)
#undef X
PTO_TARGET_POP

static pto_window_loop *const loops[PTO_OP_COUNT][PTO_CLASS_COUNT] = {
#define X(name, form, dtypes, ...) PTO_WINDOW_FORM_##form(PTO_WINDOW_ENTRIES, name, dtypes)
    PTO_ELEMENTWISE_LIST(X)
#undef X
};

pto_window_loop *pto_window_loop_best(enum pto_op op, enum pto_class class_) {
  return pto_level_best() == PTO_LEVEL_AVX512 ? loops[op][class_] : NULL;
}
#else
pto_window_loop *pto_window_loop_best(enum pto_op op, enum pto_class class_) {
  (void)op;
  (void)class_;
  return NULL;
}
#endif
