// The values of options, from text as users write it.
//
// Errors of all: kInvalidArgument, saying what to write instead.
#ifndef SEXTANT_GPU_PROBE_OPTION_VALUES_H_
#define SEXTANT_GPU_PROBE_OPTION_VALUES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// "quick", "standard" or "full".
absl::StatusOr<v1::ProbeMode> ParseProbeMode(absl::string_view text);

// "5", "5s", "500ms", "2m" or "1h", within kMinimumBudgetSeconds and kMaximumBudgetSeconds.
absl::StatusOr<double> ParseBudgetSeconds(absl::string_view text);

// "7d", "36h", "30m" or "90s", above 0 and at most ten years, in seconds.
absl::StatusOr<double> ParseAgeSeconds(absl::string_view text);

// "1073741824", "512MiB" (2^20 each) or "1.5GB" (1e9 each): whole bytes, at least 1 and at
// most 2^53.
absl::StatusOr<int64_t> ParseByteCount(absl::string_view text);

// "fp64", "fp32", "tf32", "fp16", "bf16", "int8", "fp8" (or "fp8_e4m3"), "mxfp8" or "nvfp4".
absl::StatusOr<v1::DataType> ParseDataType(absl::string_view text);

// "MxNxK" or "MxNxK:TYPE", each of m, n and k a whole number from 1 to 1e6. Without a type the
// shape has DATA_TYPE_UNSPECIFIED.
absl::StatusOr<v1::MatmulShape> ParseMatmulShape(absl::string_view text);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_OPTION_VALUES_H_
