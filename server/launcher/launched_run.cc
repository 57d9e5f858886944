#include "server/launcher/launched_run.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "proto/words/field_names.h"
#include "proto/words/launchers.h"

namespace sextant::server {
namespace {

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
    case v1::FrameworkMemory::KIND_TORCHTUNE:
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

// Weights loaded in 16 bits stay so, with gradients and the moments of torch's optimizers in their
// type. Wider they become under DeepSpeed, which keeps an fp32 copy, and under FSDP with mixed
// precision; adapters on them have wider types, which an fp32 copy stands for.
// Source: peft's autocast_adapter_dtype; prepare_model() of src/accelerate/accelerator.py and
// fsdp2_prepare_model() of utils/fsdp_utils.py, huggingface/accelerate @16cb6eb8.
void LoadWeights(v1::DataType type, v1::PlanRunRequest* request) {
  v1::PrecisionPolicy& precision = *request->mutable_training()->mutable_precision();
  const v1::FrameworkMemory::Kind kind = request->layout().framework().kind();
  const bool sharded = request->layout().sharding().zero_stage() > v1::ZERO_STAGE_NONE;
  const bool mixed = precision.compute_data_type() == v1::DATA_TYPE_BF16 ||
                     precision.compute_data_type() == v1::DATA_TYPE_FP16 ||
                     IsNarrow(precision.compute_data_type());
  const bool adapters = request->model().changes().has_adapters();
  const bool widened = sharded && mixed && !adapters;
  if (kind != v1::FrameworkMemory::KIND_HUGGING_FACE_TRAINER || widened) return;
  if (precision.weight_data_type() != v1::DATA_TYPE_UNSPECIFIED) return;
  precision.set_weight_data_type(type);
  if (adapters) return;
  if (!precision.has_master_weights()) precision.set_master_weights(false);
  const v1::OptimizerSpec::Kind optimizer = request->training().optimizer().kind();
  const bool own_type = optimizer == v1::OptimizerSpec::KIND_ADAM_8BIT ||
                        optimizer == v1::OptimizerSpec::KIND_SGD ||
                        optimizer == v1::OptimizerSpec::KIND_ADAFACTOR;
  if (!own_type && precision.optimizer_data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    precision.set_optimizer_data_type(type);
  }
}

void FillIn(const LauncherRead& read, v1::PlanRunRequest* request) {
  v1::PlanRunRequest filled = read.defaults;
  filled.MergeFrom(*request);
  *request = std::move(filled);
  if (read.loaded_data_type != v1::DATA_TYPE_UNSPECIFIED) {
    LoadWeights(read.loaded_data_type, request);
  }
}

}  // namespace

LaunchSizes SizesOf(const v1::PlanRunRequest& request) {
  const v1::RunLayout& layout = request.layout();
  LaunchSizes out = {words::SizesOf(layout)};
  out.data = std::max<int64_t>(
      request.cluster().device_count() / out.tensor / out.pipeline / out.context, 1);
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

void Complete(const LauncherRead& read, v1::PlanRunRequest* request) {
  FillIn(read, request);
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

void Refusals::Add(absl::string_view path, absl::string_view why, absl::string_view value) {
  const std::string word = words::PlanFieldWord(path);
  const bool flag = word != path;
  flags_.push_back(absl::StrCat(flag || value.empty() ? word : "",
                                flag && !value.empty() ? "=" : "", value, ": ", why));
  violations_.Add(path,
                  absl::StrCat(value.empty() ? "is what " : absl::StrCat("is ", value, ", which "),
                               launcher_, words::kCannotExpress, why));
}

absl::Status Refusals::status() const {
  if (flags_.empty()) return absl::OkStatus();
  return WithMessage(violations_.ToStatus(), absl::StrCat(launcher_, " cannot express this run. ",
                                                          absl::StrJoin(flags_, "; ")));
}

absl::Status WithMessage(const absl::Status& status, absl::string_view message) {
  absl::Status out(status.code(), message);
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { out.SetPayload(url, payload); });
  return out;
}

int64_t DevicesOfNode(const LaunchedRun& run, absl::string_view what, Refusals& refusals) {
  const int64_t devices = run.request.cluster().device_count();
  const int64_t out = std::max<int64_t>(std::min(devices, run.devices_per_node), 1);
  if (run.devices_per_node <= 0) {
    refusals.Add("cluster.node_type",
                 absl::StrCat("give one of sextant nodes, whose number of devices is ", what));
  } else if (devices <= 0 || devices % out != 0) {
    refusals.Add("cluster.device_count",
                 absl::StrCat("it takes a multiple of ", out, ", the devices of a node"),
                 absl::StrCat(devices));
  }
  return out;
}

}  // namespace sextant::server
