// The kernels, collectives and copies that a calibration of the wire holds.
#ifndef SEXTANT_SERVER_CONVERT_MEASURED_KERNELS_H_
#define SEXTANT_SERVER_CONVERT_MEASURED_KERNELS_H_

#include <vector>

#include "engine/hardware/predict/kernel_source.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

AttentionShape ShapeFrom(const v1::AttentionMeasurement& wire);
GroupedGemmShape ShapeFrom(const v1::ExpertsMeasurement& wire);
// kAllReduce where the operation is none.
CollectiveOp CollectiveOpFrom(v1::CollectiveOperation wire);

// Of a calibration that CheckCalibration() found in order: multiplications, attention and experts
// by data type, in the order in which each first comes. Multiplications are bursts of all shapes,
// those too that somebody asked for, each shape once.
std::vector<MeasuredGemms> GemmsFrom(const v1::Calibration& calibration);
std::vector<MeasuredAttentions> AttentionsFrom(const v1::Calibration& calibration);
std::vector<MeasuredExperts> ExpertsFrom(const v1::Calibration& calibration);
std::vector<MeasuredCollective> CollectivesFrom(const v1::Calibration& calibration);
std::vector<MeasuredHostCopy> HostCopiesFrom(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_MEASURED_KERNELS_H_
