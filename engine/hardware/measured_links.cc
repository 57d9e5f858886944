#include "engine/hardware/measured_links.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/links/host_copy_rate.h"
#include "engine/hardware/links/link_times.h"

namespace sextant {
namespace {

// Measured rates may exceed a link's rate by this factor: rounding and clock error.
constexpr double kRateTolerance = 1.02;

std::string TooFast(double bytes_per_second, absl::string_view link) {
  return absl::StrFormat(
      "is shorter than the bytes take at the %.4g GB/s of this kind of server's %s: the "
      "measurement is wrong, or nodes.node_type is another",
      bytes_per_second / 1e9, std::string(link));
}

// Checks one calibration against a device of `nodes`.
class NodeCalibrationChecker {
 public:
  NodeCalibrationChecker(const NodeGroup& nodes, std::string path, FieldViolations& violations)
      : nodes_(nodes), path_(std::move(path)), violations_(violations) {}

  void Check(const DeviceModel& model) {
    CheckProduct(model.accelerator());
    const std::vector<MeasuredCollective>& collectives = model.kernels().collectives;
    for (size_t i = 0; i < collectives.size(); ++i) {
      CheckCollective(collectives[i], absl::StrCat(path_, ".collectives[", i, "]"));
    }
    if (!nodes_.node->host_rate) return;
    const std::vector<MeasuredHostCopy>& copies = model.kernels().host_copies;
    for (size_t i = 0; i < copies.size(); ++i) {
      CheckCopy(copies[i], absl::StrCat(path_, ".host_copies[", i, "]"));
    }
  }

 private:
  // A product missing from the catalogue is not checked.
  void CheckProduct(const Accelerator* product) {
    if (product == nullptr) return;
    const bool another = nodes_.accelerator != nullptr ? nodes_.accelerator != product
                                                       : !Holds(*nodes_.node, product->name);
    if (!another) return;
    violations_.Add(
        FieldPath(path_, "device.product_name"),
        absl::StrCat("is ", product->name, ", which is none of the devices of nodes: ",
                     nodes_.accelerator != nullptr ? nodes_.accelerator->name : nodes_.node->name));
  }

  void CheckCollective(const MeasuredCollective& m, const std::string& path) {
    const NodeType& node = *nodes_.node;
    if (m.ranks > node.device_count) {
      violations_.Add(FieldPath(path, "rank_count"),
                      absl::StrCat("is ", m.ranks, ", but a ", node.name, " has ",
                                   node.device_count, " devices"));
      return;
    }
    const Collective call = {m.op, Bytes(m.bytes), m.ranks};
    if (m.seconds * kRateTolerance >= WireSeconds(node, call).value()) return;
    violations_.Add(FieldPath(path, "time.median_seconds"),
                    TooFast(node.link_rate.value, node.link));
  }

  void CheckCopy(const MeasuredHostCopy& m, const std::string& path) {
    const double rate = nodes_.node->host_rate.value;
    const double bytes = static_cast<double>(m.bytes);
    if (m.time.value() * kRateTolerance >= bytes / rate) return;
    violations_.Add(FieldPath(path, "time.median_seconds"), TooFast(rate, "host link"));
  }

  const NodeGroup& nodes_;
  const std::string path_;
  FieldViolations& violations_;
};

}  // namespace

void CheckMeasuredAmong(const NodeGroup& nodes, const DeviceModel& model, absl::string_view path,
                        FieldViolations& violations) {
  NodeCalibrationChecker(nodes, std::string(path), violations).Check(model);
}

absl::StatusOr<MeasuredLinks> MeasuredLinksOf(absl::Span<const DeviceModel* const> models) {
  MeasuredLinks out;
  std::vector<std::vector<MeasuredCollective>> devices;
  for (const DeviceModel* const model : models) {
    const absl::optional<BytesPerSecond> rate = SlowerHostCopyRate(model->kernels().host_copies);
    if (rate && (!out.host_copies || *rate < *out.host_copies)) out.host_copies = rate;
    devices.push_back(model->kernels().collectives);
  }
  if (models.size() == 1) {
    SEXTANT_ASSIGN_OR_RETURN(out.collectives, models.front()->Collectives());
  } else {
    SEXTANT_ASSIGN_OR_RETURN(out.collectives, MeasuredCollectives(devices));
  }
  return out;
}

}  // namespace sextant
