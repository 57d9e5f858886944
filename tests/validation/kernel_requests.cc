#include "tests/validation/kernel_requests.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/reference/attention_reference.h"
#include "engine/hardware/reference/grouped_matmul_reference.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "engine/hardware/reference/reference_matmuls.h"
#include "server/convert/enums.h"
#include "server/convert/links.h"
#include "tests/validation/attention_rows.h"
#include "tests/validation/collective_samples.h"
#include "tests/validation/error_summary.h"
#include "tests/validation/grouped_matmul_accuracy.h"
#include "tests/validation/kernel_score.h"
#include "tests/validation/matmul_rows.h"
#include "tests/validation/service.h"

namespace sextant {
namespace {

constexpr size_t kEverySeventh = 7;

// Errors by kind of kernel, type and GPU; those of all GPUs come last.
class RequestScores {
 public:
  void Add(const std::string& kind, const std::string& type, const std::string& gpu,
           const v1::Interval& predicted, double seconds) {
    for (const std::string& name : {gpu, std::string("all")}) {
      Errors& errors = errors_[{kind, type, name == "all", name}];
      errors.sizes.push_back(predicted.expected() / seconds - 1);
      if (predicted.low() <= seconds && seconds <= predicted.high()) ++errors.inside;
    }
  }

  std::string Table() const {
    std::string out =
        "| kernel | type | GPU | scored | median / p90 % | within 10 % | bias % | in interval % |\n"
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n";
    for (const auto& [key, errors] : errors_) {
      const ErrorSummary s = SummaryOf(errors.sizes);
      absl::StrAppendFormat(
          &out, "| %s | %s | %s | %d | %.1f / %.1f | %.0f | %+.1f | %.0f |\n", std::get<0>(key),
          std::get<1>(key), std::get<3>(key), s.count, 100 * s.median, 100 * s.p90,
          100 * s.within_10, 100 * s.median_signed,
          100 * static_cast<double>(errors.inside) / static_cast<double>(s.count));
    }
    return out;
  }

 private:
  struct Errors {
    std::vector<double> sizes;
    int64_t inside = 0;
  };
  std::map<std::tuple<std::string, std::string, bool, std::string>, Errors> errors_;
};

// A request on the product `gpu` in `type`.
v1::AnalyzeOperationRequest RequestFor(const std::string& gpu, DataType type) {
  v1::AnalyzeOperationRequest out;
  out.mutable_device()->mutable_device()->set_accelerator(gpu);
  out.mutable_data_types()->set_input(server::DataTypeTo(type));
  return out;
}

// The same, of products scaled as `type` says.
v1::AnalyzeOperationRequest RequestFor(const std::string& gpu, MatmulType type) {
  v1::AnalyzeOperationRequest out = RequestFor(gpu, type.data_type);
  if (!IsFp8(type.data_type)) return out;
  const bool by_block = type.scaling == MatmulScaling::kBlock;
  out.mutable_data_types()->set_scaling(by_block ? v1::MATMUL_SCALING_BLOCK
                                                 : v1::MATMUL_SCALING_TENSOR);
  return out;
}

absl::StatusOr<v1::Interval> AnswerTo(const v1::AnalyzeOperationRequest& request) {
  SEXTANT_ASSIGN_OR_RETURN(const v1::AnalyzeOperationResponse answer, AskForOperation(request));
  return answer.time().predicted_forward().duration_seconds();
}

v1::AnalyzeOperationRequest MatmulRequest(const std::string& gpu, MatmulType type,
                                          const MatmulShape& shape) {
  v1::AnalyzeOperationRequest out = RequestFor(gpu, type);
  out.mutable_data_types()->set_output(v1::DATA_TYPE_BF16);
  out.mutable_operation()->mutable_matmul()->set_m(shape.m);
  out.mutable_operation()->mutable_matmul()->set_n(shape.n);
  out.mutable_operation()->mutable_matmul()->set_k(shape.k);
  return out;
}

template <typename Point>
bool HasShapeOf(const std::vector<Point>& points, const Point& point) {
  return std::any_of(points.begin(), points.end(),
                     [&](const Point& each) { return each.shape == point.shape; });
}

// "torch_flow" of "trtllm 1.0.0 torch_flow".
bool IsKernelOf(absl::string_view reference, absl::string_view kernel) {
  return absl::StrContains(reference, kernel.substr(kernel.rfind(' ') + 1));
}

std::string AttentionKind(const AttentionShape& shape) {
  if (shape.value_head_size != shape.query_key_head_size) return "latent attention, causal";
  if (shape.window > 0) return "attention, window";
  return shape.causal ? "attention, causal" : "attention, full";
}

v1::AnalyzeOperationRequest AttentionRequest(const std::string& gpu, DataType type,
                                             const AttentionShape& shape) {
  v1::AnalyzeOperationRequest out = RequestFor(gpu, type);
  v1::Operation::Attention& attention = *out.mutable_operation()->mutable_attention();
  attention.set_batch(shape.batch);
  attention.set_heads(shape.heads);
  attention.set_kv_heads(shape.key_value_heads);
  attention.set_query_length(shape.sequence);
  attention.set_head_size(shape.query_key_head_size);
  if (shape.value_head_size != shape.query_key_head_size) {
    attention.set_value_head_size(shape.value_head_size);
  }
  attention.set_causal(shape.causal);
  attention.set_window(shape.window);
  return out;
}

v1::AnalyzeOperationRequest ExpertsRequest(const std::string& gpu, MatmulType type,
                                           const GroupedMatmulShape& shape) {
  v1::AnalyzeOperationRequest out = RequestFor(gpu, type);
  v1::Operation::Experts& experts = *out.mutable_operation()->mutable_experts();
  experts.set_tokens(shape.tokens);
  experts.set_hidden_size(shape.hidden);
  experts.set_feed_forward_size(shape.intermediate);
  experts.set_expert_count(shape.experts);
  experts.set_experts_per_token(shape.experts_per_token);
  experts.set_expert_parallel_size(shape.expert_parallel);
  experts.set_ungated(!shape.gated);
  return out;
}

// The node type with published collectives of `gpu`; null: none.
const NodeType* NodeMeasuredWith(const std::string& gpu) {
  for (const NodeType* const node : NodeTypesOf(gpu)) {
    if (node->collectives == gpu) return node;
  }
  return nullptr;
}

absl::Status ScoreCalls(const CollectiveTable& table, const NodeType& node, int64_t ranks,
                        const std::map<int64_t, double>& seconds, RequestScores& scores) {
  if (seconds.empty() || ranks > node.device_count) return absl::OkStatus();
  v1::GetLinkTimesRequest request;
  request.mutable_nodes()->set_node_type(std::string(node.name));
  request.mutable_nodes()->set_ranks_per_node(ranks);
  request.add_operations(server::CollectiveOperationTo(table.op));
  for (const auto& [bytes, measured] : seconds) request.add_sizes_bytes(bytes);
  SEXTANT_ASSIGN_OR_RETURN(const v1::GetLinkTimesResponse answer, AskForLinkTimes(request));
  for (const v1::LinkTime& time : answer.exchanges(0).times()) {
    const char* const size =
        time.size_bytes() < kLargeCollectiveBytes ? "below 1 MiB" : "1 MiB and more";
    scores.Add(absl::StrCat("collectives, ", size), "fp16", table.gpu, time.duration_seconds(),
               seconds.at(time.size_bytes()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> MatmulRequests(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const MatmulTable table, MatmulTableOf(rows));
  RequestScores scores;
  for (const auto& [key, matmuls] : table) {
    const auto& [gpu, type_name, library] = key;
    const MatmulType type = MatmulTypeNamed(type_name);
    const absl::optional<MatmulCalibration> reference = ReferenceMatmulCalibration(gpu, type);
    if (!reference.has_value()) continue;
    size_t count = 0;
    for (const MatmulPoint& row : matmuls) {
      if (HasShapeOf(reference->points, row) || HasShapeOf(reference->checks, row)) continue;
      if (count++ % kEverySeventh != 0) continue;
      SEXTANT_ASSIGN_OR_RETURN(const v1::Interval predicted,
                               AnswerTo(MatmulRequest(gpu, type, row.shape)));
      scores.Add("multiplication", type_name, gpu, predicted, row.time.value());
    }
  }
  return scores.Table();
}

absl::StatusOr<std::string> AttentionRequests(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const auto table, AttentionTable(rows));
  RequestScores scores;
  for (const auto& [key, points] : table) {
    const auto& [gpu, type_name, kernel] = key;
    SEXTANT_ASSIGN_OR_RETURN(const DataType type, TableDataType(type_name));
    const bool latent = AttentionKind(points.front().shape) == "latent attention, causal";
    const AttentionReference* const reference = FindAttentionReference(gpu, type, latent);
    if (reference == nullptr || !(latent || IsKernelOf(reference->kernel, kernel))) continue;
    const std::vector<AttentionPoint> kept = PointsOf(*reference);
    size_t count = 0;
    for (const AttentionPoint& row : points) {
      if (HasShapeOf(kept, row) || (count++ % kEverySeventh != 0 && !latent)) continue;
      SEXTANT_ASSIGN_OR_RETURN(const v1::Interval predicted,
                               AnswerTo(AttentionRequest(gpu, type, row.shape)));
      scores.Add(AttentionKind(row.shape), type_name, gpu, predicted, row.time.value());
    }
  }
  return scores.Table();
}

absl::StatusOr<std::string> ExpertRequests(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const auto table, GroupedMatmulTable(rows));
  RequestScores scores;
  for (const auto& [key, points] : table) {
    const auto& [gpu, type_name, kernel] = key;
    const MatmulType type = MatmulTypeNamed(type_name);
    for (const bool gated : {false, true}) {
      const GroupedMatmulReference* const reference =
          FindGroupedMatmulReference({.device = gpu,
                                      .data_type = type.data_type,
                                      .block_scaled = type_name == "fp8_block",
                                      .gated = gated});
      if (reference == nullptr) continue;
      const std::vector<GroupedMatmulPoint> kept = PointsOf(*reference);
      for (const GroupedMatmulPoint& row : points) {
        if (row.shape.gated != gated || HasShapeOf(kept, row)) continue;
        SEXTANT_ASSIGN_OR_RETURN(const v1::Interval predicted,
                                 AnswerTo(ExpertsRequest(gpu, type, row.shape)));
        scores.Add(gated ? "experts" : "experts, not gated", type_name, gpu, predicted,
                   row.time.value());
      }
    }
  }
  return scores.Table();
}

absl::StatusOr<std::string> CollectiveRequests(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const CollectiveTables published, TablesOf(rows));
  const auto kept = ReferenceCollectiveSizes();
  RequestScores scores;
  for (const CollectiveTable& table : published.tables) {
    const NodeType* const node = NodeMeasuredWith(table.gpu);
    if (node == nullptr) continue;
    const bool own = table.version == ReferenceCollectivesVersion(table.gpu);
    for (const auto& [ranks, sizes] : table.samples) {
      std::map<int64_t, double> scored;
      for (const auto& [bytes, samples] : sizes) {
        if (own && std::find(kept.begin(), kept.end(), bytes) != kept.end()) continue;
        if (!own && bytes < kLargeCollectiveBytes) continue;
        scored[bytes] = MedianOf(samples);
      }
      SEXTANT_RETURN_IF_ERROR(ScoreCalls(table, *node, ranks, scored, scores));
    }
  }
  return scores.Table();
}

}  // namespace sextant
