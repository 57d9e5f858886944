// Multiplications of matrices as points of a plan, and the highest rate that a GPU's clock allows.
#ifndef SEXTANT_GPU_PROBE_POINTS_MATMUL_H_
#define SEXTANT_GPU_PROBE_POINTS_MATMUL_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/data_type.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// "fp32" for FP32, as labels spell it.
std::string TypeLabel(v1::DataType type);

// Errors: kInvalidArgument where a size of a shape that the user asked for is out of range.
absl::Status CheckMatmulShape(const v1::MatmulShape& shape);

double OperationCount(const v1::MatmulMeasurement& matmul);

// Adds the facts that are known once a workload is made: the engine, the kernel.
using CompleteMatmul =
    std::function<void(const v1::TimeStatistics& time, v1::MatmulMeasurement* out)>;

// The point that records `what`, which has all but its window, its time and its rate, and then what
// `complete` adds. For `sustained_seconds` above 0 it runs as long without a pause.
Point MatmulPoint(v1::MatmulMeasurement what, double sustained_seconds, MakeWorkload make,
                  CompleteMatmul complete);

// The most FLOPs of dense matrix multiplication in `type` that one multiprocessor of that compute
// capability ("9.0") does in a clock (INT8: operations); 0: not known. docs/health.md, "Rules", has
// the sources.
double DenseFlopsPerClock(absl::string_view compute_capability, v1::DataType type);

// DenseFlopsPerClock() times multiprocessors and `hertz`, in FLOP/s; 0: not known, or the device
// does not report it.
double ClockLimit(const v1::Device& device, v1::DataType type, double hertz);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_POINTS_MATMUL_H_
