// Returns early from a failed absl::Status or absl::StatusOr.
#ifndef SEXTANT_ENGINE_BASE_STATUS_MACROS_H_
#define SEXTANT_ENGINE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"

#define SEXTANT_RETURN_IF_ERROR(expr)                       \
  do {                                                      \
    if (absl::Status sextant_s = (expr); !sextant_s.ok()) { \
      return sextant_s;                                     \
    }                                                       \
  } while (false)

#define SEXTANT_ASSIGN_OR_RETURN(lhs, expr) \
  SEXTANT_ASSIGN_OR_RETURN_(SEXTANT_CAT_(sextant_or_, __LINE__), lhs, expr)
#define SEXTANT_ASSIGN_OR_RETURN_(or_value, lhs, expr)     \
  auto or_value = (expr);                                  \
  if (!or_value.ok()) return std::move(or_value).status(); \
  lhs = *std::move(or_value)
#define SEXTANT_CAT_(a, b) SEXTANT_CAT2_(a, b)
#define SEXTANT_CAT2_(a, b) a##b

#endif  // SEXTANT_ENGINE_BASE_STATUS_MACROS_H_
