// PyTorch's FSDP as accelerate and transformers set it up.
// Source: FullyShardedDataParallelPlugin of src/accelerate/utils/dataclasses.py and
// FSDP_SHARDING_STRATEGY of utils/constants.py, huggingface/accelerate @16cb6eb8.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {
namespace {

using FsdpJson = nlohmann::json;

constexpr const char* kFsdpFileNames[] = {"transformer_layer_cls_to_wrap",
                                          "min_num_params",
                                          "backward_prefetch",
                                          "forward_prefetch",
                                          "limit_all_gathers",
                                          "cpu_ram_efficient_loading",
                                          "sync_module_states",
                                          "sharding_strategy",
                                          "offload_params",
                                          "auto_wrap_policy",
                                          "xla_fsdp_settings"};

// A file's settings of FSDP: "fsdp_config.fsdp_" of accelerate, "fsdp_config." of transformers.
struct FsdpSettings {
  Reading& reading;
  std::string prefix;

  std::string Name(const char* name) const { return absl::StrCat(prefix, name); }
  SettingFile& file() const { return reading.file; }
  bool IsOn(const char* name) const { return file().IsOn(Name(name)); }
  // Its text in capitals, its number, or 'TRUE' and 'FALSE'; "" without it.
  std::string Word(const char* name) const {
    if (!file().Has(Name(name))) return "";
    const FsdpJson& value = file().document().at(
        FsdpJson::json_pointer("/" + absl::StrReplaceAll(Name(name), {{".", "/"}})));
    if (value.is_boolean()) return file().IsOn(Name(name)) ? "TRUE" : "FALSE";
    if (value.is_number()) return absl::StrCat(file().Count(Name(name), 0).value_or(0));
    return absl::AsciiStrToUpper(file().Text(Name(name)).value_or(""));
  }
};

// Gradients and optimizer state divided alone is what FSDP does with weights that stay gathered
// from the forward to the backward pass.
void ShardAs(const std::string& strategy, const FsdpSettings& fsdp) {
  v1::StateSharding& out = *fsdp.reading.layout().mutable_sharding();
  const bool none = strategy == "NO_SHARD" || strategy == "3";
  out.set_zero_stage(none ? v1::ZERO_STAGE_NONE : v1::ZERO_STAGE_PARAMETERS);
  const bool kept = strategy == "SHARD_GRAD_OP" || strategy == "2" || strategy == "FALSE" ||
                    strategy == "HYBRID_SHARD_ZERO2" || strategy == "5";
  if (kept) out.set_reshard_after_forward(false);
  const bool hybrid = absl::StartsWith(strategy, "HYBRID") || strategy == "4" || strategy == "5";
  if (!hybrid) return;
  // A node's devices share, and nodes hold copies.
  const int64_t nodes = fsdp.file().Count("num_machines").value_or(0);
  fsdp.reading.out.state_copies = nodes;
  if (nodes == 0) fsdp.reading.out.ignored.emplace_back("hybrid_shard (give --shard-group-size)");
}

bool IsStrategy(const std::string& word) {
  return absl::c_linear_search(
      std::initializer_list<absl::string_view>{"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD",
                                               "HYBRID_SHARD", "HYBRID_SHARD_ZERO2", "1", "2", "3",
                                               "4", "5", "TRUE", "FALSE"},
      word);
}

// The model in one unit is gathered whole, which no field stands for.
void ReadWrapping(bool wrapped, const FsdpSettings& fsdp) {
  const std::string policy = fsdp.Word("auto_wrap_policy");
  if (policy == "NO_WRAP" || policy == "SIZE_BASED_WRAP") {
    return fsdp.file().Ignore(fsdp.Name("auto_wrap_policy"));
  }
  const bool layers = wrapped || policy == "TRANSFORMER_BASED_WRAP" ||
                      fsdp.file().Has(fsdp.Name("transformer_layer_cls_to_wrap"));
  if (!layers) fsdp.reading.out.open.push_back(fsdp.Name("auto_wrap_policy"));
}

}  // namespace

void ReadFsdp(const std::string& words, Reading& reading) {
  const bool accelerate = reading.file.Has("distributed_type");
  const FsdpSettings fsdp = {reading, accelerate ? "fsdp_config.fsdp_" : "fsdp_config."};
  std::string strategy = "FULL_SHARD";
  bool wrapped = false;
  bool offloaded = fsdp.IsOn("offload_params");
  for (const absl::string_view each :
       absl::StrSplit(words, absl::ByAnyChar(" ,"), absl::SkipEmpty())) {
    const std::string word = absl::AsciiStrToUpper(each);
    if (IsStrategy(word)) strategy = word;
    wrapped = wrapped || word == "AUTO_WRAP";
    offloaded = offloaded || word == "OFFLOAD";
  }
  for (const char* const name : {"sharding_strategy", "reshard_after_forward"}) {
    const std::string word = fsdp.Word(name);
    if (word.empty()) continue;
    if (IsStrategy(word)) {
      strategy = word;
    } else {
      reading.file.Refuse(fsdp.Name(name),
                          "write FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, "
                          "HYBRID_SHARD or HYBRID_SHARD_ZERO2");
    }
  }
  ShardAs(strategy, fsdp);
  if (offloaded && strategy != "NO_SHARD") {
    reading.layout().mutable_sharding()->set_offload_parameters(true);
    reading.layout().mutable_sharding()->set_offload_optimizer(true);
  }
  if (fsdp.IsOn("activation_checkpointing")) {
    reading.training().set_recompute(v1::RECOMPUTE_POLICY_FULL);
  }
  ReadWrapping(wrapped, fsdp);
}

bool CheckFsdpState(Writing& writing) {
  const v1::StateSharding& sharding = writing.layout().sharding();
  if (writing.sizes.zero != v1::ZERO_STAGE_PARAMETERS) {
    writing.refusals.Add("layout.sharding.zero_stage", "it takes 0 or 3, or --framework=deepspeed");
    return false;
  }
  if (sharding.offload_optimizer() != sharding.offload_parameters()) {
    writing.refusals.Add("layout.sharding.offload_optimizer", "it goes with --offload-parameters");
  }
  return true;
}

std::optional<StateMesh> StateMeshOf(bool sharded, Writing& writing) {
  constexpr char kGroup[] = "layout.sharding.shard_group_size";
  const v1::StateSharding& sharding = writing.layout().sharding();
  const int64_t context = writing.sizes.context;
  const int64_t ranks = writing.sizes.data * context;
  const int64_t group = sharding.has_shard_group_size() ? sharding.shard_group_size() : ranks;
  if (group != ranks && !sharded) {
    writing.refusals.Add(kGroup, "it takes --zero=3, without DeepSpeed");
    return std::nullopt;
  }
  // A mesh of copies needs two ranks or more to divide the state.
  if (group <= 0 || ranks % group != 0 || group % context != 0 ||
      (group != ranks && group == context)) {
    writing.refusals.Add(
        kGroup, "it takes a multiple of --cp, from twice that on, which divides the ranks");
    return std::nullopt;
  }
  return StateMesh{.shards = group / context, .copies = ranks / group};
}

// As TrainingArguments does.
FsdpJson WithoutFsdpPrefix(const FsdpJson& config) {
  FsdpJson out = FsdpJson::object();
  for (const auto& [key, value] : config.items()) {
    out[std::string(absl::StripPrefix(key, "fsdp_"))] = value;
  }
  return out;
}

bool IsFsdpFile(const FsdpJson& document) {
  const FsdpJson bare = WithoutFsdpPrefix(document);
  return absl::c_any_of(kFsdpFileNames, [&](const char* name) { return bare.contains(name); });
}

absl::StatusOr<LauncherRead> ReadFsdpFile(FsdpJson document) {
  FsdpJson wrapped = {{"fsdp_config", WithoutFsdpPrefix(Typed(std::move(document)))}};
  const std::vector<std::string> off = TakeOff(kFsdpOffNames, &wrapped);
  absl::StatusOr<LauncherRead> out =
      ReadSettings(TrainerSettings(), false, SettingFile::FromDocument(std::move(wrapped)),
                   Unknown::kRefusedNearName, [](Reading& reading) { ReadFsdp("", reading); });
  if (out.ok()) absl::c_copy(off, std::back_inserter(out->passed));
  return out;
}

}  // namespace sextant::server
