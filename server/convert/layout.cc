#include "server/convert/layout.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/run/layout_fields.h"
#include "proto/words/field_path.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/step_time.h"

namespace sextant::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr absl::string_view kLayout = "layout.";  // LayoutField's paths are below it

// The wire's number less the engine's.
template <typename Pair>
int OffsetOf() {
  return static_cast<int>(Pair::To({}));
}

int OffsetOf(const EnumDescriptor* type) {
  static const std::pair<const EnumDescriptor*, int> kOffsets[] = {
      {v1::DataType_descriptor(), OffsetOf<DataTypePair>()},
      {v1::ContextParallelKind_descriptor(), OffsetOf<ContextParallelKindPair>()},
      {v1::PipelineSchedule_descriptor(), OffsetOf<PipelineSchedulePair>()},
      {v1::ZeroStage_descriptor(), OffsetOf<ZeroStagePair>()},
      {v1::WeightStorage::Scaling_descriptor(), OffsetOf<WeightScalingPair>()},
      {v1::KernelChoices::Attention_descriptor(), OffsetOf<AttentionKernelPair>()},
      {v1::KernelChoices::Loss_descriptor(), OffsetOf<LossKindPair>()},
      {v1::KernelChoices::ExpertScaling_descriptor(), OffsetOf<ExpertScalingPair>()},
      {v1::KernelChoices::ExpertDispatch_descriptor(), OffsetOf<ExpertDispatchPair>()}};
  for (const auto& [known, offset] : kOffsets) {
    if (known == type) return offset;
  }
  return 0;  // not an enum
}

// A field of the engine's table, and of the wire.
struct WireField {
  const LayoutField* field;
  const FieldDescriptor* of;
  const FieldDescriptor* parent;  // of RunLayout, the message with `of`; null: RunLayout itself
  int offset;                     // of an enum
};

const std::vector<WireField>& WireFields() {
  static const std::vector<WireField>& fields = *[] {
    auto* const out = new std::vector<WireField>;
    const Descriptor& layout = *v1::RunLayout::descriptor();
    for (const LayoutField& field : kLayoutFields) {
      const absl::string_view path = field.path.substr(kLayout.size());
      const size_t dot = path.find('.');
      const FieldDescriptor* const of = words::FindField(layout, path);
      const FieldDescriptor* const parent =
          dot == path.npos ? nullptr : words::FindField(layout, path.substr(0, dot));
      out->push_back({&field, of, parent, OffsetOf(of->enum_type())});
    }
    return out;
  }();
  return fields;
}

int64_t ValueOf(const Message& m, const FieldDescriptor* field) {
  const Reflection& reflection = *m.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(m, field) ? 1 : 0;
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.GetEnumValue(m, field);
    default:
      return reflection.GetInt64(m, field);
  }
}

void SetValue(const FieldDescriptor* field, int64_t value, Message& out) {
  const Reflection& reflection = *out.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&out, field, value != 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&out, field, static_cast<int>(value));
    default:
      return reflection.SetInt64(&out, field, value);
  }
}

// Sets the fields of `out` that `m` gives, a layout at `path`, or a message in it.
void FieldsFrom(const Message& m, absl::string_view path, FieldViolations& violations,
                RunLayout& out) {
  const Descriptor* const type = m.GetDescriptor();
  for (const WireField& each : WireFields()) {
    if (each.of->containing_type() != type || !m.GetReflection()->HasField(m, each.of)) continue;
    const int64_t value = ValueOf(m, each.of);
    const EnumDescriptor* const names = each.of->enum_type();
    // proto3 lets any number through.
    if (names != nullptr && names->FindValueByNumber(static_cast<int>(value)) == nullptr) {
      violations.Add(absl::StrCat(path, ".", each.field->path.substr(kLayout.size())),
                     check::UnknownEnumNumber(static_cast<int>(value)));
    } else {
      each.field->set(value - each.offset, out);
    }
  }
}

FrameworkSpec FrameworkMemoryFrom(const v1::FrameworkMemory& m, absl::string_view path,
                                  FieldViolations& violations) {
  FrameworkSpec out;
  out.kind = FrameworkPair::From(m.kind(), {path, "kind"}, violations);
  out.named = m.kind() != v1::FrameworkMemory::KIND_UNSPECIFIED;
  if (m.model_code() != v1::FrameworkMemory::MODEL_CODE_UNSPECIFIED) {
    out.code = ModelCodePair::From(m.model_code(), {path, "model_code"}, violations);
  }
  if (!m.model_code_release().empty()) {
    out.code_release = CodeReleaseOf(m.model_code_release());
    if (!out.code_release.has_value()) {
      violations.Add(absl::StrCat(path, ".model_code_release"),
                     "is not a release: write its numbers, e.g. 4.45");
    }
  }
  if (m.has_live_elements()) out.live_elements = m.live_elements();
  if (m.has_persistent_gradients()) out.persistent_gradients = m.persistent_gradients();
  if (m.has_fused_weight_gradient()) out.fused_weight_gradient = m.fused_weight_gradient();
  if (m.has_reduce_bucket_elements()) out.reduce_bucket_elements = m.reduce_bucket_elements();
  if (m.has_gather_bucket_elements()) out.gather_bucket_elements = m.gather_bucket_elements();
  if (m.has_deferred_reduction()) out.deferred_reduction = m.deferred_reduction();
  if (m.has_workspace_bytes()) out.workspace_bytes = m.workspace_bytes();
  if (m.has_fragmentation_ratio()) out.fragmentation_ratio = m.fragmentation_ratio();
  if (m.has_context_bytes()) out.context_bytes = m.context_bytes();
  if (m.has_communicator_bytes()) out.communicator_bytes = m.communicator_bytes();
  if (m.has_transformer_engine()) out.transformer_engine = m.transformer_engine();
  out.deterministic = m.deterministic();
  if (m.has_grouped_experts()) out.grouped_experts = m.grouped_experts();
  if (m.has_fused_projections()) out.fused_projections = m.fused_projections();
  out.captured_graphs = m.captured_graphs();
  return out;
}

// Sets the fields of `out`, which is `given`, that `chosen` has otherwise.
void ChangedLayoutTo(const RunLayout& given, const RunLayout& chosen, v1::RunLayout* out) {
  const Reflection& reflection = *out->GetReflection();
  for (const WireField& each : WireFields()) {
    const absl::optional<int64_t> value = each.field->in(chosen);
    if (!value.has_value() || value == each.field->in(given)) continue;
    Message* const m = each.parent == nullptr ? out : reflection.MutableMessage(out, each.parent);
    SetValue(each.of, *value + each.offset, *m);
  }
  const std::vector<int64_t>& layers = chosen.parallel.layers_per_chunk;
  if (layers.empty()) return;
  out->mutable_parallel()->mutable_layers_per_chunk()->Assign(layers.begin(), layers.end());
}

using PrunedPair = OneLater<Pruned::kMemory, v1::PrunedLayouts::Reason_MAX>;

class Options {
 public:
  // `fastest`: of all that were found; null where none may fit.
  Options(int64_t layer_count, const LayoutOption* fastest, const v1::PlanRunRequest& request)
      : layer_count_(layer_count), fastest_(fastest), request_(request) {
    FieldViolations checked;
    given_ = RunLayoutFrom(request.layout(), "layout", checked);
    recompute_ = RecomputePolicyPair::Known(request.training().recompute());
  }

  void To(const LayoutOption& option, v1::LayoutOption* out) {
    LayoutTo(option.choice, out);
    IntervalTo(option.step, out->mutable_step_seconds());
    IntervalTo(option.process, out->mutable_peak_bytes());
    out->set_fit_chance(option.fit_chance);
    for (const UnpublishedSize& each : UnpublishedSizesOf(option.choice)) {
      v1::UnpublishedSize* const size = out->add_unpublished_sizes();
      size->set_field(std::string(each.field));
      size->set_size(each.size);
      size->set_published_most(each.most);
      size->set_source(std::string(each.source));
    }
    if (fastest_ == nullptr) return;
    const double fastest = fastest_->step.expected.value();
    out->set_tie(option.step.expected.value() <= (1 + kTieRatio) * fastest);
  }

 private:
  void LayoutTo(const LayoutChoice& choice, v1::LayoutOption* out) const {
    JobChoice chosen = {.layout = given_, .recompute = recompute_};
    ApplyTo(choice, layer_count_, chosen);
    // One rank divides no sequences, whatever the request says.
    if (choice.tensor == 1) chosen.layout.sequence_parallel = given_.sequence_parallel;
    v1::RunLayout& layout = *out->mutable_layout();
    layout = request_.layout();
    ChangedLayoutTo(given_, chosen.layout, &layout);
    // They are there where anything is computed again, whole layers too.
    if (choice.recompute != Recomputation()) layout.mutable_kernels();
    if (choice.loss.has_value() && chosen.layout.attention.has_value()) {
      layout.mutable_kernels()->set_attention(AttentionKernelPair::To(*chosen.layout.attention));
    }
    out->set_recompute(RecomputePolicyPair::To(chosen.recompute));
  }

  const int64_t layer_count_;
  const LayoutOption* const fastest_;
  const v1::PlanRunRequest& request_;
  RunLayout given_;  // by the request
  RecomputePolicy recompute_ = RecomputePolicy::kNone;
};

}  // namespace

ParallelSizes ParallelSizesFrom(const v1::ParallelLayout& m) {
  RunLayout out;
  FieldViolations checked;
  FieldsFrom(m, "", checked, out);
  // A size of 0, which is refused elsewhere, is as one that is not divided.
  for (const LayoutField& size :
       {kTensorParallelField, kPipelineParallelField, kVirtualStagesField, kExpertParallelField}) {
    if (size.in(out) == 0) size.set(1, out);
  }
  out.parallel.layers_per_chunk = {m.layers_per_chunk().begin(), m.layers_per_chunk().end()};
  return std::move(out.parallel);
}

RunLayout RunLayoutFrom(const v1::RunLayout& m, absl::string_view path,
                        FieldViolations& violations) {
  RunLayout out;
  FieldsFrom(m, path, violations, out);
  if (m.has_parallel()) out.parallel = ParallelSizesFrom(m.parallel());
  if (m.has_sharding()) FieldsFrom(m.sharding(), path, violations, out);
  if (m.has_storage()) FieldsFrom(m.storage(), path, violations, out);
  if (m.has_kernels()) {
    FieldsFrom(m.kernels(), path, violations, out);
    if (m.kernels().has_expert_load_factor()) {
      out.kernels.expert_load_factor = m.kernels().expert_load_factor();
    }
  }
  out.framework = FrameworkMemoryFrom(m.framework(), FieldPath(path, "framework"), violations);
  AssumeCode(out.parallel, out.framework);
  out.software = SoftwareFrom(m.software());
  out.batch_ramp.reserve(static_cast<size_t>(m.batch_ramp_size()));
  for (const v1::BatchPhase& phase : m.batch_ramp()) {
    out.batch_ramp.push_back({phase.token_count(), phase.global_batch_size()});
  }
  out.unmodelled_settings = {m.unmodelled_settings().begin(), m.unmodelled_settings().end()};
  out.unmodelled_effect = MemoryEffectPair::From(m.unmodelled_effect(),
                                                 FieldPath(path, "unmodelled_effect"), violations);
  return out;
}

void LayoutSearchTo(const SearchedPlan& searched, const v1::PlanRunRequest& request, bool full,
                    v1::LayoutSearchResult* out) {
  const SearchOutcome& outcome = searched.outcome;
  const LayoutOption* const fastest = outcome.best.empty() ? nullptr : &outcome.best.front();
  Options options(outcome.layer_count, fastest, request);
  options.To(fastest != nullptr ? *fastest : *outcome.smallest, out->mutable_chosen());
  out->set_considered_count(outcome.considered);
  out->set_evaluated_count(outcome.evaluated);
  out->set_exhaustive(outcome.exhaustive);
  out->set_tie_ratio(kTieRatio);
  for (size_t i = 0; i < kPrunedCount; ++i) {
    if (outcome.pruned[i] == 0) continue;
    v1::PrunedLayouts* const pruned = out->add_pruned();
    pruned->set_reason(PrunedPair::To(static_cast<Pruned>(i)));
    pruned->set_count(outcome.pruned[i]);
  }
  if (searched.lower_bound > Seconds(0)) {
    out->set_lower_bound_seconds(searched.lower_bound.value());
  }
  if (!full) return;
  for (size_t i = 1; i < outcome.best.size(); ++i) {
    options.To(outcome.best[i], out->add_alternatives());
  }
  for (const LayoutOption& option : outcome.front) options.To(option, out->add_front());
  for (const ChoiceSensitivity& each : searched.sensitivities) {
    v1::ChoiceSensitivity* const sensitivity = out->add_sensitivities();
    sensitivity->set_rate(StepRatePair::To(each.rate));
    sensitivity->set_slowness(each.slowness);
    sensitivity->set_alternative(static_cast<int32_t>(each.other) - 1);
  }
}

void SearchProgressTo(const SearchProgress& progress, const v1::PlanRunRequest& request,
                      v1::SearchProgress* out) {
  out->set_searched_count(progress.searched);
  out->set_layout_count(progress.to_search);
  if (!progress.best.has_value()) return;
  Options(progress.layer_count, &*progress.best, request).To(*progress.best, out->mutable_best());
}

}  // namespace sextant::server
