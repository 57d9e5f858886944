#include "server/convert/measured_links.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/hardware/links/datasheet_collective.h"
#include "engine/hardware/links/host_copy_rate.h"
#include "engine/hardware/links/measured_collectives.h"
#include "engine/hardware/reported_names.h"
#include "engine/run/run_spec.h"
#include "server/convert/calibration.h"
#include "server/convert/measured_kernels.h"

namespace sextant {
namespace {

constexpr char kCalibrations[] = "nodes.calibrations";

// What rounding and the clock of a measurement may be above a link's rate.
constexpr double kRateTolerance = 1.02;

std::string TooFast(double bytes_per_second, absl::string_view link) {
  return absl::StrFormat(
      "is shorter than the bytes take at the %.4g GB/s of this kind of server's %s: the "
      "measurement is wrong, or nodes.node_type is another",
      bytes_per_second / 1e9, std::string(link));
}

// Looks at one calibration as of a device of `nodes`.
class NodeCalibrationChecker {
 public:
  NodeCalibrationChecker(const NodeGroup& nodes, std::string path, FieldViolations& violations)
      : nodes_(nodes), path_(std::move(path)), violations_(violations) {}

  void Check(const v1::Calibration& calibration) {
    CheckProduct(calibration.device().product_name());
    for (int i = 0; i < calibration.collectives_size(); ++i) {
      CheckCollective(calibration.collectives(i), absl::StrCat(path_, ".collectives[", i, "]"));
    }
    if (!nodes_.node->host_rate) return;
    for (int i = 0; i < calibration.host_copies_size(); ++i) {
      CheckCopy(calibration.host_copies(i), absl::StrCat(path_, ".host_copies[", i, "]"));
    }
  }

 private:
  // A product that the catalogue lacks can't be told from others.
  void CheckProduct(const std::string& reported) {
    const Accelerator* product = AcceleratorReportedAs(reported);
    if (product == nullptr) return;
    const bool another = nodes_.accelerator != nullptr ? nodes_.accelerator != product
                                                       : !Holds(*nodes_.node, product->name);
    if (!another) return;
    violations_.Add(
        FieldPath(path_, "device.product_name"),
        absl::StrCat("is ", product->name, ", which is none of the devices of nodes: ",
                     nodes_.accelerator != nullptr ? nodes_.accelerator->name : nodes_.node->name));
  }

  void CheckCollective(const v1::CollectiveMeasurement& m, const std::string& path) {
    const NodeType& node = *nodes_.node;
    if (m.rank_count() > node.device_count) {
      violations_.Add(FieldPath(path, "rank_count"),
                      absl::StrCat("is ", m.rank_count(), ", but a ", node.name, " has ",
                                   node.device_count, " devices"));
      return;
    }
    const Collective call = {CollectiveOpFrom(m.operation()), Bytes(m.size_bytes()),
                             m.rank_count()};
    if (m.time().median_seconds() * kRateTolerance >= WireSeconds(node, call).value()) return;
    violations_.Add(FieldPath(path, "time.median_seconds"),
                    TooFast(node.link_rate.value, node.link));
  }

  void CheckCopy(const v1::HostCopyMeasurement& m, const std::string& path) {
    const double rate = nodes_.node->host_rate.value;
    const double bytes = static_cast<double>(m.size_bytes());
    if (m.time().median_seconds() * kRateTolerance >= bytes / rate) return;
    violations_.Add(FieldPath(path, "time.median_seconds"), TooFast(rate, "host link"));
  }

  const NodeGroup& nodes_;
  const std::string path_;
  FieldViolations& violations_;
};

absl::optional<BytesPerSecond> SlowerCopyRate(const std::vector<MeasuredHostCopy>& copies) {
  absl::optional<BytesPerSecond> out;
  for (const HostCopyDirection way :
       {HostCopyDirection::kToDevice, HostCopyDirection::kFromDevice}) {
    const absl::optional<BytesPerSecond> rate = HostCopyRate(copies, way);
    if (rate && (!out || *rate < *out)) out = rate;
  }
  return out;
}

}  // namespace

MeasuredLinks MeasuredLinksFrom(
    const google::protobuf::RepeatedPtrField<v1::Calibration>& calibrations, const NodeGroup* nodes,
    FieldViolations& violations) {
  MeasuredLinks out;
  if (calibrations.size() > kMaxCalibrations) {
    violations.Add(kCalibrations,
                   absl::StrCat("are ", calibrations.size(), ": give at most ", kMaxCalibrations));
    return out;
  }
  const size_t faults_before = violations.all().size();
  for (int i = 0; i < calibrations.size(); ++i) {
    const std::string path = absl::StrCat(kCalibrations, "[", i, "]");
    CheckCalibration(calibrations[i], path, violations);
    if (nodes == nullptr || violations.Mentions(path)) continue;
    NodeCalibrationChecker(*nodes, path, violations).Check(calibrations[i]);
  }
  if (violations.all().size() > faults_before) return out;
  std::vector<std::vector<MeasuredCollective>> devices;
  for (const v1::Calibration& calibration : calibrations) {
    devices.push_back(CollectivesFrom(calibration));
    const absl::optional<BytesPerSecond> rate = SlowerCopyRate(HostCopiesFrom(calibration));
    if (rate && (!out.host_copies || *rate < *out.host_copies)) out.host_copies = rate;
  }
  absl::StatusOr<absl::optional<CollectiveModel>> model = MeasuredCollectives(devices);
  if (model.ok()) {
    out.collectives = *std::move(model);
  } else {
    violations.Add(kCalibrations, model.status().message());
  }
  return out;
}

}  // namespace sextant
