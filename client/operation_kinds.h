// The kinds of operation that `sextant op` takes: which sizes stand for which fields of the API,
// and which flags.
#ifndef SEXTANT_CLIENT_OPERATION_KINDS_H_
#define SEXTANT_CLIENT_OPERATION_KINDS_H_

#include "absl/types/span.h"
#include "client/field_flag.h"

namespace sextant {

// How the first argument of a kind is read.
enum class SizesForm {
  kEach,        // MxKxN: a field each
  kShape,       // SHAPE: any number of sizes, whose product is the field
  kExpression,  // EXPRESSION SHAPE...: of an einsum
};

struct OperationKind {
  const char* name;         // "batched-matmul"
  const char* description;  // one line
  SizesForm form;
  const char* sizes;                          // what help shows, "BxMxKxN"
  absl::Span<const char* const> size_fields;  // paths, in the order of `sizes`
  const char* sizes_help;                     // what it is of which
  absl::Span<const FieldFlag> flags = {};     // its own
  bool has_steps = false;                     // STEP... follows
  bool on_device = true;                      // a device and number formats matter
  const char* example;                        // the rest of a command, "16384x32768x8192 ..."
};

// All, in the order of the API's fields; a test compares them with it.
absl::Span<const OperationKind> OperationKinds();

// What all kinds take but those that are not on a device: number formats first, then the device.
// The first of the former, the type of what is read, is required.
absl::Span<const FieldFlag> NumberFormatFlags();
absl::Span<const FieldFlag> DeviceFlags();

}  // namespace sextant

#endif  // SEXTANT_CLIENT_OPERATION_KINDS_H_
