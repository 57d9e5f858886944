#include "client/launcher/launched_run.h"

#include <limits>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Fields that describe the software, or the run's data: a launcher has nothing to do about them.
constexpr absl::string_view kDescriptions[] = {"layout.software.",
                                               "layout.kernels.expert_load_factor",
                                               "layout.kernels.expert_scaling",
                                               "layout.kernels.attention_output_copied",
                                               "layout.kernels.fused_expert_activation",
                                               "layout.kernels.matmul_input_data_type",
                                               "layout.storage.scaling",
                                               "layout.storage.fp8_weight_copies",
                                               "layout.parallel.split_key_value_heads",
                                               "layout.framework.persistent_gradients",
                                               "layout.framework.fused_weight_gradient",
                                               "layout.framework.reduce_bucket_elements",
                                               "layout.framework.gather_bucket_elements",
                                               "layout.framework.deferred_reduction",
                                               "layout.framework.workspace_bytes",
                                               "layout.framework.fragmentation_ratio",
                                               "layout.framework.context_bytes",
                                               "layout.framework.communicator_bytes",
                                               "layout.framework.transformer_engine",
                                               "layout.framework.grouped_experts",
                                               "layout.framework.fused_projections",
                                               "layout.unmodelled_settings",
                                               "training.token_count",
                                               "training.activation_bytes"};

bool IsSetting(absl::string_view field) {
  const bool of_run = absl::StartsWith(field, "layout.") || absl::StartsWith(field, "training.") ||
                      absl::StartsWith(field, "model.changes.");
  return of_run && absl::c_none_of(kDescriptions, [field](absl::string_view description) {
           return absl::StartsWith(field, description);
         });
}

// The text of a field that holds one value; "" for others.
std::string ValueOf(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumName(*field.enum_type(), reflection.GetEnumValue(message, &field));
    default:
      return "";
  }
}

// A field that `request` sets; present where `value` or a list was given.
struct GivenField {
  bool present = false;
  std::string value = {};
};

GivenField Find(const Message& request, absl::string_view path) {
  const Message* message = &request;
  const std::vector<std::string> names = absl::StrSplit(path, '.');
  for (size_t i = 0; i < names.size(); ++i) {
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(names[i]);
    const google::protobuf::Reflection& reflection = *message->GetReflection();
    if (field->is_repeated()) return {.present = reflection.FieldSize(*message, field) > 0};
    if (!reflection.HasField(*message, field)) return {};
    if (i + 1 == names.size()) return {.present = true, .value = ValueOf(*message, *field)};
    message = &reflection.GetMessage(*message, field);
  }
  return {};
}

v1::ZeroStage ZeroOf(const v1::RunLayout& layout) {
  if (layout.sharding().zero_stage() != v1::ZERO_STAGE_UNSPECIFIED) {
    return layout.sharding().zero_stage();
  }
  switch (layout.framework().kind()) {  // the defaults of StateSharding.zero_stage
    case v1::FrameworkMemory::KIND_MEGATRON_BRIDGE:
      return v1::ZERO_STAGE_OPTIMIZER;
    case v1::FrameworkMemory::KIND_PYTORCH_FSDP:
    case v1::FrameworkMemory::KIND_TORCHTITAN:
    case v1::FrameworkMemory::KIND_LLM_FOUNDRY:
      return v1::ZERO_STAGE_PARAMETERS;
    default:
      return v1::ZERO_STAGE_NONE;
  }
}

// DeepSpeed's pipelines in bf16 divide the optimizer's state at ZeRO stage 0, too.
// Source: deepspeedai/DeepSpeed, _do_optimizer_sanity_check() of deepspeed/runtime/engine.py and
// _setup_for_real_optimizer() of deepspeed/runtime/bf16_optimizer.py @edaa7221.
bool DividesAtStageZero(const v1::PlanRunRequest& request) {
  const v1::RunLayout& layout = request.layout();
  return layout.framework().kind() == v1::FrameworkMemory::KIND_DEEPSPEED &&
         layout.parallel().pipeline_parallel_size() > 1 &&
         layout.sharding().zero_stage() == v1::ZERO_STAGE_NONE &&
         request.training().precision().compute_data_type() == v1::DATA_TYPE_BF16;
}

int64_t OrOne(int64_t size) { return size > 0 ? size : 1; }

}  // namespace

LaunchSizes SizesOf(const v1::PlanRunRequest& request) {
  const v1::RunLayout& layout = request.layout();
  LaunchSizes out;
  out.tensor = OrOne(layout.parallel().tensor_parallel_size());
  out.pipeline = OrOne(layout.parallel().pipeline_parallel_size());
  out.virtual_stages = OrOne(layout.parallel().virtual_stage_count());
  out.context = OrOne(layout.context_parallel_size());
  out.expert = OrOne(layout.parallel().expert_parallel_size());
  out.data = OrOne(request.cluster().device_count() / out.tensor / out.pipeline / out.context);
  out.micro_batch = OrOne(layout.micro_batch_size());
  out.global_batch = layout.global_batch_size();
  const bool given = layout.has_sequence_parallel();
  out.sequence_parallel = out.tensor > 1 && (!given || layout.sequence_parallel());
  out.zero = ZeroOf(layout);
  return out;
}

std::optional<int64_t> Product(int64_t a, int64_t b) {
  const absl::int128 product = absl::int128(a) * b;
  if (product > std::numeric_limits<int64_t>::max()) return std::nullopt;
  return static_cast<int64_t>(product);
}

void Merge(const LauncherRead& read, v1::PlanRunRequest* request) {
  if (read.request.model().has_architecture() || !read.request.model().preset().empty()) {
    request->clear_model();
  }
  if (read.request.layout().parallel().layers_per_chunk_size() > 0) {
    request->mutable_layout()->mutable_parallel()->clear_layers_per_chunk();
  }
  request->MergeFrom(read.request);
}

void Complete(const LauncherRead& read, v1::PlanRunRequest* request) {
  if (read.request.layout().sharding().zero_stage() == v1::ZERO_STAGE_NONE &&
      DividesAtStageZero(*request)) {
    request->mutable_layout()->mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_OPTIMIZER);
  }
  const v1::ModelChanges& changes = read.request.model().changes();
  if (changes.has_vocabulary_multiple() && !request->model().changes().has_vocabulary_multiple()) {
    request->mutable_model()->mutable_changes()->set_vocabulary_multiple(
        changes.vocabulary_multiple());
  }
  const bool follows = read.sequences_per_rank > 0 || read.state_copies > 0 || read.step_count > 0;
  if (!follows || request->cluster().device_count() <= 0) return;
  v1::RunLayout* layout = request->mutable_layout();
  const LaunchSizes sizes = SizesOf(*request);
  if (read.sequences_per_rank > 0 && !layout->has_global_batch_size()) {
    layout->set_global_batch_size(Product(read.sequences_per_rank, sizes.data).value_or(0));
  }
  const int64_t ranks = sizes.data * sizes.context;
  if (read.state_copies > 1 && !layout->sharding().has_shard_group_size()) {
    // One that does not divide is left for the server to refuse.
    layout->mutable_sharding()->set_shard_group_size(
        ranks % read.state_copies == 0 ? ranks / read.state_copies : ranks + 1);
  }
  v1::TrainingSpec* training = request->mutable_training();
  if (read.step_count <= 0 || training->token_count() != 0 || layout->global_batch_size() <= 0 ||
      training->sequence_length() <= 0) {
    return;
  }
  const auto sequences = Product(read.step_count, layout->global_batch_size());
  const auto tokens = sequences ? Product(*sequences, training->sequence_length()) : sequences;
  training->set_token_count(tokens.value_or(std::numeric_limits<int64_t>::max()));
}

void AddLowering(absl::Span<const LoweringName> names, LauncherRead* read) {
  for (const std::string& setting : read->ignored) {
    const auto row = absl::c_find_if(
        names, [&](const LoweringName& each) { return absl::StartsWith(setting, each.name); });
    if (row != names.end()) read->lowering.push_back({setting, row->field});
  }
}

void OpenVerdict(const LauncherRead& read, const google::protobuf::FieldMask& given,
                 v1::PlanRunRequest* request) {
  for (const LoweringSetting& setting : read.lowering) {
    if (absl::c_linear_search(given.paths(), setting.field)) continue;
    request->mutable_layout()->add_unmodelled_settings(setting.text);
  }
}

int64_t SequenceCount(const v1::TrainingSpec& training) {
  const int64_t length = training.sequence_length();
  if (length <= 0) return 0;
  return training.token_count() / length + (training.token_count() % length > 0 ? 1 : 0);
}

bool IsNarrow(v1::DataType type) {
  switch (type) {
    case v1::DATA_TYPE_FP8:
    case v1::DATA_TYPE_FP8_E4M3:
    case v1::DATA_TYPE_FP8_E5M2:
    case v1::DATA_TYPE_MXFP8:
    case v1::DATA_TYPE_NVFP4:
      return true;
    default:
      return false;
  }
}

void Refusals::Check(const v1::PlanRunRequest& request, absl::Span<const Expressible> table) {
  for (const FieldFlag& flag : PlanFlags()) {
    const Expressible* const row = absl::c_find_if(
        table, [&](const Expressible& e) { return e.field == std::string(flag.field); });
    if (row == table.end() && !IsSetting(flag.field)) continue;
    const GivenField set = Find(request, flag.field);
    const bool known = row != table.end();
    if (!set.present || (known && row->only == nullptr)) continue;
    const std::string value = set.value.empty() ? "" : absl::StrCat("=", set.value);
    if (!known) {
      Add(absl::StrCat(flag.word, value), "it has no setting for that: leave it out");
      continue;
    }
    const std::vector<std::string> choices = absl::StrSplit(row->only, '|');
    if (absl::c_linear_search(choices, set.value)) continue;
    Add(absl::StrCat(flag.word, value),
        choices.size() == 1 ? absl::StrCat("it takes ", row->only, " alone")
                            : absl::StrCat("it takes ", absl::StrJoin(choices, " or ")));
  }
}

void Refusals::Add(const std::string& flag, const std::string& why) {
  refused_.push_back(absl::StrCat(flag, ": ", why));
}

absl::Status Refusals::status() const {
  if (refused_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(launcher_, " cannot express this run. ", absl::StrJoin(refused_, "; ")));
}

}  // namespace sextant::client
