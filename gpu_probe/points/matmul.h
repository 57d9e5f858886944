// Multiplications of matrices as points of a plan.
#ifndef SEXTANT_GPU_PROBE_POINTS_MATMUL_H_
#define SEXTANT_GPU_PROBE_POINTS_MATMUL_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
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

// What is known of a multiplication once its workload is made: the engine, the kernel.
using CompleteMatmul =
    std::function<void(const v1::TimeStatistics& time, v1::MatmulMeasurement* out)>;

// The point that records `what`, which has all but its window, its time and its rate, and then what
// `complete` adds. For `sustained_seconds` above 0 it runs as long without a pause.
Point MatmulPoint(v1::MatmulMeasurement what, double sustained_seconds, MakeWorkload make,
                  CompleteMatmul complete);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_POINTS_MATMUL_H_
