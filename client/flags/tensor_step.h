// Steps of `sextant tensor`, each written as one argument: "transpose 1 2".
#ifndef SEXTANT_CLIENT_FLAGS_TENSOR_STEP_H_
#define SEXTANT_CLIENT_FLAGS_TENSOR_STEP_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/tensor.pb.h"

namespace sextant::client {

// Reads one step; kTensorHelp shows how each is written. The server checks axes and sizes.
//
// Errors: kInvalidArgument, quoting `text` and saying what to write.
absl::Status ReadTensorStep(absl::string_view text, v1::TensorStep* step);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_TENSOR_STEP_H_
