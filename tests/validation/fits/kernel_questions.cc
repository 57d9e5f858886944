#include "tests/validation/fits/kernel_questions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/ceiling_time.h"
#include "engine/hardware/kernels/matmul_model.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/links/link_times.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/predict/attention_predictor.h"
#include "engine/hardware/predict/grouped_matmul_predictor.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "engine/hardware/reference/reference_kernels.h"
#include "engine/hardware/reference/reference_matmuls.h"
#include "tests/engine/hardware/kernels/made_kernels.h"
#include "tests/validation/fits/kernel_json.h"

namespace sextant {
namespace {

using nlohmann::json;

json Refused(const absl::Status& status) { return {{"error", std::string(status.message())}}; }

std::string Gpu(const json& question) { return question.at("gpu"); }

MatmulType Type(const json& question) {
  return MatmulTypeNamed(question.at("type").get<std::string>());
}

json OrNull(const DatasheetValue& figure) { return figure ? json(figure.value) : json(); }

MatmulCalibration CalibrationOf(const json& question) {
  MatmulCalibration out;
  out.type = Type(question);
  if (const Accelerator* const accelerator = AcceleratorNamed(Gpu(question))) {
    if (accelerator->compute_unit_count) {
      out.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value);
    }
    const DatasheetValue peak = PeakFlopsPerSecond(*accelerator, out.type.data_type);
    if (peak) out.peak = FlopsPerSecond(peak.value);
  }
  auto points = question.at("points").get<std::vector<MatmulPoint>>();
  if (question.at("choose")) {
    ChooseMatmulPoints(points, out);
  } else {
    out.points = std::move(points);
  }
  return out;
}

// Times of each of `shapes`.
template <typename Shape, typename Predict>
json TimesOf(const json& shapes, const Predict& predict) {
  json out = json::array();
  for (const json& shape : shapes) out.push_back(predict(shape.get<Shape>()));
  return out;
}

CollectiveOp OpNamed(const std::string& name) {
  return *std::find_if(kCollectiveOps.begin(), kCollectiveOps.end(),
                       [&](CollectiveOp op) { return CollectiveOpName(op) == name; });
}

absl::optional<CollectiveModel> ModelOf(CollectiveOp op, const json& points) {
  std::vector<MeasuredCollective> measured;
  for (const json& point : points) {
    measured.push_back(
        {.op = op, .ranks = point.at(0), .bytes = point.at(1), .seconds = point.at(2)});
  }
  absl::StatusOr<CollectiveModel> out = CollectiveModel::Make(measured);
  if (!out.ok()) return absl::nullopt;
  return *std::move(out);
}

// {gpu, type}: what is known of the device. "ceilings" are [FLOP/s, bytes/s, seconds] that kernels
// reach.
json DeviceFacts(const json& question) {
  const Accelerator* const accelerator = AcceleratorNamed(Gpu(question));
  if (accelerator == nullptr) return nullptr;
  const DataType type = Type(question).data_type;
  json out = {{"compute_units", OrNull(accelerator->compute_unit_count)},
              {"flops_per_second", OrNull(PeakFlopsPerSecond(*accelerator, type))},
              {"bytes_per_second", OrNull(accelerator->memory_bandwidth_bytes_per_second)},
              {"element_bytes", MatmulElementBytes(type)},
              {"ceilings", nullptr}};
  if (const auto found = DatasheetCeilings(*accelerator, type)) {
    const KernelCeilings& ceilings = found->ceilings;
    out["ceilings"] = {ceilings.matrix.value(), ceilings.memory.value(), ceilings.floor.value()};
  }
  return out;
}

// {type}: the errors that the engine states, by what times stand on.
json StatedErrors(const json& question) {
  const MatmulType type = Type(question);
  return {{"datasheet", ErrorUnderCeilings(KernelBasis::kDatasheet, type.data_type)},
          {"best rates", ErrorUnderCeilings(KernelBasis::kMeasuredRate, type.data_type)},
          {"attention", AttentionErrorUnderCeilings(type.data_type)},
          {"expert products", ErrorOfGroupedProducts(type)}};
}

// {gpu, type, points, choose, shapes, others: [{type, peak_ratio, shapes}]}: times by a model of
// `points`, or of those of the standard grid among them (`choose`); `others` are times in types
// that were not measured.
json MatmulTimes(const json& question) {
  const absl::StatusOr<MatmulModel> model = MatmulModel::Of(CalibrationOf(question));
  if (!model.ok()) return Refused(model.status());
  json measured = json::array();
  for (const MatmulPoint& point : model->measured()) measured.push_back(point);
  json others = json::array();
  for (const json& other : question.at("others")) {
    const OtherMatmulType type = {.type = Type(other), .peak_ratio = other.at("peak_ratio")};
    others.push_back(TimesOf<MatmulShape>(other.at("shapes"), [&](const MatmulShape& shape) {
      return model->PredictOtherType(shape, type);
    }));
  }
  return {{"form", model->chosen().form == MatmulForm::kTiles ? "tiles" : "grid"},
          {"measured", std::move(measured)},
          {"times",
           TimesOf<MatmulShape>(question.at("shapes"),
                                [&](const MatmulShape& shape) { return model->Predict(shape); })},
          {"others", std::move(others)}};
}

// {gpu, points, shapes}: times by a model of `points`.
json AttentionTimes(const json& question) {
  const auto points = question.at("points").get<std::vector<AttentionPoint>>();
  const Accelerator* const accelerator = AcceleratorNamed(Gpu(question));
  if (accelerator == nullptr) return nullptr;
  const absl::StatusOr<AttentionModel> model = AttentionModel::Of(
      {.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value),
       .points = points});
  if (!model.ok()) return Refused(model.status());
  return TimesOf<AttentionShape>(
      question.at("shapes"), [&](const AttentionShape& shape) { return model->Predict(shape); });
}

// {points, shapes}: the same.
json ExpertTimes(const json& question) {
  const auto points = question.at("points").get<std::vector<GroupedMatmulPoint>>();
  const absl::StatusOr<GroupedMatmulModel> model = GroupedMatmulModel::Of({.points = points});
  if (!model.ok()) return Refused(model.status());
  return TimesOf<GroupedMatmulShape>(question.at("shapes"), [&](const GroupedMatmulShape& shape) {
    return model->Predict(shape);
  });
}

// {shapes}: amounts of work.
json AttentionWorks(const json& question) {
  json out = json::array();
  for (const json& each : question.at("shapes")) {
    const auto shape = each.get<AttentionShape>();
    out.push_back({{"flops", AttentionFlops(shape)}, {"elements", AttentionElements(shape)}});
  }
  return out;
}

// {shapes}: the same.
json ExpertWorks(const json& question) {
  json out = json::array();
  for (const json& each : question.at("shapes")) {
    const auto shape = each.get<GroupedMatmulShape>();
    out.push_back({{"flops", GroupedMatmulFlops(shape)},
                   {"weights", ActiveWeights(shape)},
                   {"rows", ExpertRows(shape)},
                   {"rows_per_expert", RowsPerExpert(shape)}});
  }
  return out;
}

// {gpu, type, gated, products: [[experts, rows per expert, n, k]]}: seconds of each, and the factor
// on dense products that they include.
json ExpertProducts(const json& question) {
  const Accelerator* const accelerator = AcceleratorNamed(Gpu(question));
  const MatmulType type = Type(question);
  if (accelerator == nullptr) return nullptr;
  const auto predictor = GroupedMatmulPredictor::OfAccelerator(
      *accelerator,
      {.type = type.data_type, .gated = question.at("gated"), .scaling = type.scaling});
  if (!predictor.has_value()) return nullptr;
  json seconds = json::array();
  for (const json& product : question.at("products")) {
    const KernelTime time = predictor->PredictProduct({.experts = product.at(0),
                                                       .rows_per_expert = product.at(1),
                                                       .n = product.at(2),
                                                       .k = product.at(3)});
    seconds.push_back(time.expected.value());
  }
  return {{"seconds", std::move(seconds)}, {"factor", GroupedFactor(ErrorOfGroupedProducts(type))}};
}

// {gpu, op, points: [[ranks, bytes, seconds]] or null for the published ones, calls: [[ranks,
// bytes]]}: "times", each null where the model has none, and seconds at the link's rate.
json CollectiveTimes(const json& question) {
  const std::vector<const NodeType*> nodes = NodeTypesOf(Gpu(question));
  const CollectiveOp op = OpNamed(question.at("op"));
  const json& points = question.at("points");
  const absl::optional<CollectiveModel> own =
      points.is_null() ? absl::nullopt : ModelOf(op, points);
  const CollectiveModel* const model = points.is_null()  ? ReferenceCollectives(Gpu(question))
                                       : own.has_value() ? &*own
                                                         : nullptr;
  if (model == nullptr || nodes.empty()) return nullptr;
  json times = json::array();
  json link_rate = json::array();
  for (const json& each : question.at("calls")) {
    const Collective call = {
        .op = op, .bytes = Bytes(each.at(1).get<int64_t>()), .ranks = each.at(0)};
    const absl::optional<KernelTime> time = model->TimeOf(call);
    times.push_back(time.has_value() ? json(*time) : json());
    link_rate.push_back(LinkRateSeconds(*nodes.front(), call).value());
  }
  return {{"times", std::move(times)}, {"link_rate", std::move(link_rate)}};
}

// {gpu, type}: the points and checks that the engine has.
json MatmulReference(const json& question) {
  const auto found = ReferenceMatmulCalibration(Gpu(question), Type(question));
  if (!found.has_value()) return nullptr;
  json points = found->points;
  for (const MatmulPoint& check : found->checks) points.push_back(check);
  return {{"points", std::move(points)}};
}

// {gpu, type, latent}: the engine's points, and the kernel that they are of.
json AttentionReferenceOf(const json& question) {
  const AttentionReference* const found =
      FindAttentionReference(Gpu(question), Type(question).data_type, question.at("latent"));
  if (found == nullptr) return nullptr;
  return {{"points", PointsOf(*found)}, {"kernel", std::string(found->kernel)}};
}

// {gpu, type, gated}: the same.
json ExpertReference(const json& question) {
  const GroupedMatmulReference* const found =
      FindGroupedMatmulReference({.device = question.at("gpu").get_ref<const std::string&>(),
                                  .data_type = Type(question).data_type,
                                  .block_scaled = question.at("type") == "fp8_block",
                                  .gated = question.at("gated")});
  if (found == nullptr) return nullptr;
  return {{"points", PointsOf(*found)}, {"kernel", std::string(found->kernel)}};
}

// {gpu}: sizes, version and node of the published collectives.
json CollectiveReference(const json& question) {
  const std::string gpu = Gpu(question);
  const auto& sizes = kReferenceCollectiveSizes;
  json out = {{"version", std::string(ReferenceCollectivesVersion(gpu))},
              {"sizes", std::vector<int64_t>(sizes.begin(), sizes.end())},
              {"node", nullptr}};
  for (const NodeType* const node : NodeTypesOf(gpu)) {
    if (node->collectives != gpu) continue;
    out["node"] = {{"name", std::string(node->name)}, {"devices", node->device_count}};
    break;
  }
  return out;
}

}  // namespace

const std::map<std::string, Question>& KernelQuestions() {
  static const auto* const questions =
      new std::map<std::string, Question>{{"device", DeviceFacts},
                                          {"stated_errors", StatedErrors},
                                          {"matmul_times", MatmulTimes},
                                          {"attention_times", AttentionTimes},
                                          {"expert_times", ExpertTimes},
                                          {"attention_works", AttentionWorks},
                                          {"expert_works", ExpertWorks},
                                          {"expert_products", ExpertProducts},
                                          {"collective_times", CollectiveTimes},
                                          {"matmul_reference", MatmulReference},
                                          {"attention_reference", AttentionReferenceOf},
                                          {"expert_reference", ExpertReference},
                                          {"collective_reference", CollectiveReference},
                                          {"operator_times", OperatorTimes}};
  return *questions;
}

}  // namespace sextant
