// The kinds of operation that `sextant op` takes: the API's fields of their sizes, and their flags.
#ifndef SEXTANT_CLIENT_FLAGS_OPERATION_KINDS_H_
#define SEXTANT_CLIENT_FLAGS_OPERATION_KINDS_H_

#include "absl/types/span.h"
#include "client/flags/field_flag.h"

namespace sextant::client {

// The form of a kind's first argument.
enum class SizesForm {
  kEach,        // MxNxK: a field each
  kShape,       // SHAPE: any number of sizes, whose product is the field
  kExpression,  // EXPRESSION SHAPE...: of an einsum
};

struct OperationKind {
  const char* name;         // "batched-matmul"
  const char* description;  // one line
  SizesForm form;
  const char* sizes;                          // as help shows them, "BxMxNxK"
  absl::Span<const char* const> size_fields;  // paths, in the order of `sizes`
  const char* sizes_help;                     // the meaning of each size
  absl::Span<const FieldFlag> flags = {};     // its own
  bool has_steps = false;                     // STEP... follows
  bool on_device = true;                      // a device's rates and number formats matter
  const char* example;                        // the rest of a command, "16384x8192x32768 ..."
};

// All kinds, in the order of the API's fields; a test compares them with the API.
absl::Span<const OperationKind> OperationKinds();

// Flags of all kinds that run on a device: number formats, then the device. The first number
// format, the type of what is read, is required. Those of a fleet's devices, and of what rates have
// to be, are for every kind.
absl::Span<const FieldFlag> NumberFormatFlags();
absl::Span<const FieldFlag> DeviceFlags();
absl::Span<const FieldFlag> FleetFlags();
absl::Span<const FieldFlag> RateRequirementFlags();

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_OPERATION_KINDS_H_
