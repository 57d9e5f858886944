#include "server/calibration_figures.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/links/node_type.h"
#include "server/convert/calibration.h"

namespace sextant {

namespace {

// Null: not known, or of several kinds.
const char* LinkName(const Accelerator* accelerator) {
  if (accelerator == nullptr) return nullptr;
  int nvlink_count = 0;
  int pcie_count = 0;
  for (const NodeType* node : NodeTypesOf(accelerator->name)) {
    nvlink_count += absl::StartsWith(node->link, "NVLink") ? 1 : 0;
    pcie_count += absl::StartsWith(node->link, "PCIe") ? 1 : 0;
  }
  if ((nvlink_count > 0) == (pcie_count > 0)) return nullptr;
  return nvlink_count > 0 ? "nvlink" : "pcie";
}

}  // namespace

using Matmuls = google::protobuf::RepeatedPtrField<v1::MatmulMeasurement>;

std::vector<v1::DataType> DataTypesOf(const Matmuls& matmuls) {
  std::set<v1::DataType> types;
  for (const v1::MatmulMeasurement& matmul : matmuls) types.insert(matmul.data_type());
  return {types.begin(), types.end()};
}

const v1::MatmulMeasurement* BestMatmul(const Matmuls& matmuls, v1::DataType type) {
  const auto seen = [](const v1::MatmulMeasurement& matmul) -> RateSeen {
    return {.rate = matmul.flops_per_second(), .stable = matmul.time().stable()};
  };
  const v1::MatmulMeasurement* best = nullptr;
  for (const v1::MatmulMeasurement& matmul : matmuls) {
    if (matmul.data_type() != type) continue;
    if (best == nullptr || IsBetterRate(seen(matmul), seen(*best))) best = &matmul;
  }
  return best;
}

const v1::StreamMeasurement* MainMemoryStream(const v1::Calibration& calibration,
                                              v1::StreamMeasurement::Operation operation) {
  const v1::StreamMeasurement* largest = nullptr;
  for (const v1::StreamMeasurement& stream : calibration.streams()) {
    if (stream.operation() != operation || !stream.main_memory()) continue;
    if (largest == nullptr || stream.array_bytes() > largest->array_bytes()) largest = &stream;
  }
  return largest;
}

const v1::HostCopyMeasurement* LargestHostCopy(const v1::Calibration& calibration,
                                               v1::HostCopyMeasurement::Direction direction,
                                               bool pageable) {
  const v1::HostCopyMeasurement* largest = nullptr;
  for (const v1::HostCopyMeasurement& copy : calibration.host_copies()) {
    if (copy.direction() != direction || copy.pageable() != pageable) continue;
    if (largest == nullptr || copy.size_bytes() > largest->size_bytes()) largest = &copy;
  }
  return largest;
}

bool IsStable(const v1::Calibration& calibration) {
  const v1::MatmulMeasurement* usual = nullptr;
  for (const v1::DataType type : {v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP16, v1::DATA_TYPE_FP32}) {
    if (usual == nullptr) usual = BestMatmul(calibration.matmuls(), type);
  }
  const v1::MatmulMeasurement* fp8 = BestMatmul(calibration.matmuls(), v1::DATA_TYPE_FP8_E4M3);
  const absl::optional<MeasuredPass> copy = DeviceCalibrationFrom(calibration, "").memory_copy;
  return usual != nullptr && usual->time().stable() && (fp8 == nullptr || fp8->time().stable()) &&
         copy.has_value() && copy->stable;
}

absl::optional<MeasuredLink> MeasuredLinkOf(const v1::Calibration& calibration,
                                            const Accelerator* accelerator) {
  const char* const name = LinkName(accelerator);
  if (name == nullptr || calibration.collectives().empty()) return absl::nullopt;
  double best = 0;
  double best_reduced = 0;
  for (const v1::CollectiveMeasurement& measured : calibration.collectives()) {
    const bool reduced = measured.operation() == v1::COLLECTIVE_OPERATION_ALL_REDUCE;
    double& rate = reduced ? best_reduced : best;
    rate = std::max(rate, measured.bus_bytes_per_second());
  }
  return MeasuredLink{.name = name, .bytes_per_second = best > 0 ? best : best_reduced};
}

}  // namespace sextant
