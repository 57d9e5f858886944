#include "server/handler/accounting_service.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/model/count_model.h"
#include "engine/model/presets/presets.h"
#include "engine/operation/graph.h"
#include "engine/tensor/number_format.h"
#include "engine/tensor/rounding.h"
#include "engine/tensor/storage.h"
#include "server/call/call.h"
#include "server/call/worker_pool.h"
#include "server/convert/count_spec.h"
#include "server/convert/counted_model.h"
#include "server/convert/enums.h"
#include "server/convert/graph.h"
#include "server/convert/message_fields.h"
#include "server/convert/number_format.h"
#include "server/convert/tensor.h"
#include "server/device/device_finder.h"
#include "server/handler/on_worker.h"
#include "server/handler/operation_answer.h"

namespace sextant::server {
namespace {

// The search for an einsum's order takes longer than any other operation's answer: 0.02 ms with
// two operands, 1.5 ms with 10, 12 ms with 64.
constexpr int kMaxOperandsInline = 3;

absl::Status ListDataTypes(const v1::ListDataTypesRequest&, v1::ListDataTypesResponse* response) {
  for (const NumberFormat& format : NumberFormats())
    NumberFormatTo(format, response->add_formats());
  return absl::OkStatus();
}

constexpr int kMaxValues = 64;

RoundingOptions RoundingOptionsFrom(const v1::DescribeDataTypeRequest& request,
                                    FieldViolations& violations) {
  RoundingOptions out;
  out.overflow_rule = OverflowRulePair::Find(request.overflow_rule(), "overflow_rule", violations);
  if (request.has_block_maximum()) out.block_maximum = request.block_maximum();
  return out;
}

// Adds RoundTo()'s violations, which name no index, under that of the value.
void AddOf(int place, const absl::Status& status, FieldViolations& violations) {
  for (const FieldViolation& v : FieldViolationsOf(status)) {
    const std::string field = v.field == "value" ? absl::StrCat("values[", place, "]") : v.field;
    if (!violations.Mentions(field)) violations.Add(field, v.description);
  }
}

absl::Status DescribeDataType(const v1::DescribeDataTypeRequest& request,
                              v1::DescribeDataTypeResponse* response) {
  FieldViolations violations;
  const DataType type = DataTypePair::From(request.data_type(), "data_type", violations);
  const RoundingOptions options = RoundingOptionsFrom(request, violations);
  if (request.values_size() > kMaxValues) {
    violations.Add("values",
                   absl::StrCat("are ", request.values_size(), ": give at most ", kMaxValues));
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  SEXTANT_ASSIGN_OR_RETURN(const NumberFormat* format, FindNumberFormat(type));
  for (int i = 0; i < request.values_size(); ++i) {
    const absl::StatusOr<RoundedValue> rounded = RoundTo(type, request.values(i), options);
    if (rounded.ok()) {
      RoundedNumberTo(*format, request.values(i), *rounded, response->add_rounded());
    } else {
      AddOf(i, rounded.status(), violations);
    }
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  NumberFormatTo(*format, response->mutable_format());
  return absl::OkStatus();
}

absl::StatusOr<int64_t> WidthOf(const v1::DescribeTokensRequest& request) {
  if (request.has_vocabulary_size()) return TokenIdBytes(request.vocabulary_size());
  return request.bytes_per_id();
}

absl::Status DescribeTokens(const v1::DescribeTokensRequest& request,
                            v1::DescribeTokensResponse* response) {
  FieldViolations violations;
  static const check::NumberLimits limits(*v1::DescribeTokensRequest::descriptor());
  CheckNumbers(limits, request, "", violations);
  if (request.has_vocabulary_size() == request.has_bytes_per_id()) {
    violations.Add("vocabulary_size", request.has_vocabulary_size()
                                          ? "is given with bytes_per_id: give one of them"
                                          : "is required, unless bytes_per_id is given");
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  SEXTANT_ASSIGN_OR_RETURN(const int64_t width, WidthOf(request));
  SEXTANT_ASSIGN_OR_RETURN(const Bytes size, TokenBytes(request.token_count(), width));
  response->set_bytes_per_id(width);
  response->set_size_bytes(size.value());
  if (request.has_tokens_per_second()) {
    response->set_bytes_per_second(static_cast<double>(width) * request.tokens_per_second());
  }
  return absl::OkStatus();
}

absl::Status AnalyzeTensor(const v1::AnalyzeTensorRequest& request,
                           v1::AnalyzeTensorResponse* response) {
  FieldViolations violations;
  const StridedTensor tensor = TensorFrom(request.tensor(), "tensor", violations);
  const std::vector<TensorAction> actions = TensorActionsFrom(request.steps(), violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  if (const absl::Status status = TensorLayoutTo(tensor, response->mutable_tensor());
      !status.ok()) {
    return InvalidField("tensor.shape", FieldViolationsOf(status)[0].description);
  }
  SEXTANT_ASSIGN_OR_RETURN(const TensorAnalysis analysis, sextant::AnalyzeTensor(tensor, actions));
  for (const ActionResult& result : analysis.results) {
    SEXTANT_RETURN_IF_ERROR(ActionResultTo(result, response->add_steps()));
  }
  response->set_allocated_bytes(analysis.allocated.value());
  return absl::OkStatus();
}

// Each operation's kernels are about a kilobyte; an answer is at most 4 MiB.
constexpr int kMaxOperationsWithSteps = 256;

absl::Status AnswerGraph(const CallContext& context, const v1::AnalyzeGraphRequest& request,
                         v1::AnalyzeGraphResponse* response) {
  FieldViolations violations;
  const GraphSpec graph = GraphFrom(request.graph(), "graph", violations);
  if (request.include_steps() && request.graph().operations_size() > kMaxOperationsWithSteps) {
    violations.Add("include_steps", absl::StrCat("is for graphs of at most ",
                                                 kMaxOperationsWithSteps, " operations"));
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  const auto end = [&context] { return EndAfterTurn(context); };
  CallWork work(end);
  const absl::StatusOr<GraphAnalysis> analysis = AnalyzeGraph(graph, work);
  if (!analysis.ok()) {
    if (FieldViolationsOf(analysis.status()).empty()) return analysis.status();
    for (const FieldViolation& v : FieldViolationsOf(analysis.status())) {
      violations.Add(FieldPath("graph", v.field), v.description);
    }
    return violations.ToStatus();
  }
  GraphAnalysisTo(*analysis, request.include_steps(), response);
  return absl::OkStatus();
}

// Larger requests than for any model and step in use may take milliseconds.
constexpr size_t kMaxCountBytesInline = 16'384;
constexpr int64_t kMaxStagesInline = 64;
constexpr int kMaxCountedInline = 16;  // of layers

absl::Status AnswerCount(const v1::CountModelRequest& request, v1::CountModelResponse* response) {
  FieldViolations violations;
  const CountSpec spec = CountSpecFrom(request, violations);
  SEXTANT_ASSIGN_OR_RETURN(const CountedModel counted, CountModel(spec, std::move(violations)));
  CountedModelTo(counted, spec, request, response);
  return absl::OkStatus();
}

absl::Status ListModels(const v1::ListModelsRequest& request, v1::ListModelsResponse* response) {
  const auto presets = ModelPresetsLike(request.pattern());
  if (!presets.ok()) return WithField(presets.status(), "pattern");
  for (const ModelPreset* preset : *presets) {
    const ArchitectureCount& count = preset->checked->count();
    v1::ListModelsResponse::Model* const out = response->add_models();
    out->set_name(std::string(preset->name));
    out->set_parameter_count(count.all.total);
    out->set_active_parameter_count(count.all.active);
    int64_t layers = 0;
    for (const LayerKindCount& kind : count.by_layer_kind) layers += kind.layers;
    out->set_layer_count(layers);
    out->set_hidden_size(preset->architecture.hidden_size);
    out->set_source(std::string(preset->source));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsShort(const v1::CountModelRequest& request) {
  return request.ByteSizeLong() <= kMaxCountBytesInline &&
         request.model().architecture().layer_kinds_size() <= kMaxCountedInline &&
         request.layout().pipeline_parallel_size() <= kMaxStagesInline &&
         request.layout().virtual_stage_count() <= kMaxStagesInline;
}

bool IsShort(const v1::AnalyzeOperationRequest& request) {
  return request.operation().einsum().operands_size() <= kMaxOperandsInline &&
         !request.has_device();
}

AccountingService::AccountingService(Metrics& metrics, AccountingOptions options)
    : Service("sextant.v1.AccountingService", metrics, options.calls),
      options_(std::move(options)) {
  const OnWorker<> on_worker = {options_.workers};
  Add(AnsweredBy(ListDataTypes));
  Add(AnsweredBy(DescribeDataType));
  Add(AnsweredBy(DescribeTokens));
  Add(AnsweredBy(server::AnalyzeTensor));
  Add(AnsweredBy(this, &AccountingService::AnalyzeOperation,
                 OnWorker{options_.workers, options_.fleet,
                          [](const v1::AnalyzeOperationRequest& in) { return IsShort(in); }}));
  Add(AnsweredBy(AnswerGraph, on_worker));
  Add(AnsweredBy(AnswerCount,
                 OnWorker{options_.workers, options_.fleet,
                          [](const v1::CountModelRequest& in) { return IsShort(in); }}));
  Add(AnsweredBy(ListModels, on_worker));
}

absl::Status AccountingService::AnalyzeOperation(const CallContext& context,
                                                 const v1::AnalyzeOperationRequest& request,
                                                 v1::AnalyzeOperationResponse* response) {
  const auto end = [&context] { return EndAfterTurn(context); };
  CallWork work(end);
  return AnswerOperation(request, options_, work, response);
}

}  // namespace sextant::server
