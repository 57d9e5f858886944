#include "client/launcher/megatron_arguments.h"

#include <CLI/CLI.hpp>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sextant::client {
namespace {

// How many values an argument takes.
enum class MegatronValues { kNone, kOne, kSome };

struct MegatronOption {
  const char* name;  // "--num-layers"
  MegatronValues values = MegatronValues::kOne;
};

constexpr auto kFlag = MegatronValues::kNone;
constexpr auto kSome = MegatronValues::kSome;

// All of them. Source: megatron/training/arguments.py of core_v0.15.3; from core_v0.16.0 on the
// same names are made of configuration classes' fields.
constexpr MegatronOption kOptions[] = {
    // The model.
    {"--num-layers"},
    {"--hidden-size"},
    {"--ffn-hidden-size"},
    {"--num-attention-heads"},
    {"--kv-channels"},
    {"--group-query-attention", kFlag},
    {"--num-query-groups"},
    {"--qk-layernorm", kFlag},
    {"--multi-latent-attention", kFlag},
    {"--q-lora-rank"},
    {"--kv-lora-rank"},
    {"--qk-head-dim"},
    {"--qk-pos-emb-head-dim"},
    {"--v-head-dim"},
    {"--swiglu", kFlag},
    {"--normalization"},
    {"--disable-bias-linear", kFlag},
    {"--add-qkv-bias", kFlag},
    {"--position-embedding-type"},
    {"--max-position-embeddings"},
    {"--untie-embeddings-and-output-weights", kFlag},
    {"--vocab-size"},
    {"--make-vocab-size-divisible-by"},
    {"--num-experts"},
    {"--moe-router-topk"},
    {"--moe-ffn-hidden-size"},
    {"--moe-shared-expert-intermediate-size"},
    {"--moe-layer-freq"},
    {"--moe-router-num-groups"},
    {"--moe-router-group-topk"},
    {"--moe-router-enable-expert-bias", kFlag},
    {"--moe-router-score-function"},
    {"--mtp-num-layers"},
    // The layout.
    {"--tensor-model-parallel-size"},
    {"--sequence-parallel", kFlag},
    {"--context-parallel-size"},
    {"--cp-comm-type", kSome},
    {"--pipeline-model-parallel-size"},
    {"--num-virtual-stages-per-pipeline-rank"},
    {"--num-layers-per-virtual-pipeline-stage"},
    {"--decoder-first-pipeline-num-layers"},
    {"--decoder-last-pipeline-num-layers"},
    {"--account-for-embedding-in-pipeline-split", kFlag},
    {"--account-for-loss-in-pipeline-split", kFlag},
    {"--pipeline-model-parallel-layout"},
    {"--expert-model-parallel-size"},
    {"--expert-tensor-parallel-size"},
    {"--defer-embedding-wgrad-compute", kFlag},
    {"--wgrad-deferral-limit"},
    {"--micro-batch-size"},
    {"--global-batch-size"},
    {"--use-distributed-optimizer", kFlag},
    {"--num-distributed-optimizer-instances"},
    {"--use-megatron-fsdp", kFlag},
    {"--data-parallel-sharding-strategy"},
    {"--ckpt-format"},
    {"--optimizer-cpu-offload", kFlag},
    {"--optimizer-offload-fraction"},
    // Training.
    {"--seq-length"},
    {"--train-samples"},
    {"--train-iters"},
    {"--bf16", kFlag},
    {"--fp16", kFlag},
    {"--fp8-format"},
    {"--fp8-recipe"},
    {"--fp8-param-gather", kFlag},
    {"--fp4-format"},
    {"--accumulate-allreduce-grads-in-fp32", kFlag},
    {"--grad-reduce-in-bf16", kFlag},
    {"--optimizer"},
    {"--sgd-momentum"},
    {"--use-precision-aware-optimizer", kFlag},
    {"--exp-avg-dtype"},
    {"--exp-avg-sq-dtype"},
    {"--recompute-granularity"},
    {"--recompute-activations", kFlag},
    {"--recompute-method"},
    {"--recompute-num-layers"},
    {"--recompute-modules", kSome},
    {"--activations-checkpoint-method"},
    {"--activations-checkpoint-num-layers"},
    {"--checkpoint-activations", kFlag},
    // Kernels.
    {"--attention-backend"},
    {"--use-flash-attn", kFlag},
    {"--attention-dropout"},
    {"--hidden-dropout"},
    {"--cross-entropy-loss-fusion", kFlag},
    {"--cross-entropy-fusion-impl"},
    {"--transformer-impl"},
    {"--no-gradient-accumulation-fusion", kFlag},
    {"--moe-grouped-gemm", kFlag},
    {"--deterministic-mode", kFlag},
    {"--cuda-graph-impl"},
};

// True where a quote in `text` has no end.
bool HasOpenQuote(const std::string& text) {
  char quote = '\0';
  for (const char c : text) {
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    }
  }
  return quote != '\0';
}

// Words that CLI11 did not know: flags by their names; a word after one is taken for its value.
std::vector<std::string> UnknownFlags(const std::vector<std::string>& extras) {
  std::vector<std::string> out;
  bool after_flag = false;
  for (const std::string& word : extras) {
    const bool flag =
        absl::StartsWith(word, "-") && word.size() > 1 && !absl::ascii_isdigit(word[1]);
    if (flag || !after_flag) out.push_back(word.substr(0, word.find('=')));
    after_flag = flag || after_flag;
  }
  return out;
}

}  // namespace

void MegatronText::Add(const char* name, const std::string& value) {
  lines_.push_back(absl::StrCat(name, " ", value));
}

void MegatronText::Add(const char* name, int64_t value) { Add(name, absl::StrCat(value)); }

absl::StatusOr<MegatronArguments> MegatronArguments::Parse(const std::string& text) {
  if (HasOpenQuote(text)) {
    return absl::InvalidArgumentError("a quote has no end: close it");
  }
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::map<std::string, std::vector<std::string>> values;
  for (const MegatronOption& option : kOptions) {
    if (option.values == MegatronValues::kNone) {
      app.add_flag(option.name)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      continue;
    }
    CLI::Option* const added = app.add_option(option.name, values[option.name]);
    if (option.values == MegatronValues::kSome) {
      added->expected(1, CLI::detail::expected_max_vector_size);
    } else {
      added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  try {
    app.parse(text, false);
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(error.what(), ": write --name value or --name=value"));
  }
  MegatronArguments out;
  for (const MegatronOption& option : kOptions) {
    const CLI::Option* const read = app.get_option(option.name);
    if (read->count() > 0) out.values_[option.name] = read->results();
  }
  out.ignored_ = UnknownFlags(app.remaining());
  return out;
}

std::optional<int64_t> MegatronArguments::Count(const char* name, int64_t least) {
  if (!Has(name)) return std::nullopt;
  const std::string text = Text(name);
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= least) return value;
  faults_.push_back(absl::StrCat(name, "=", text, ": write a whole number from ", least, " on"));
  return std::nullopt;
}

std::optional<double> MegatronArguments::Number(const char* name) {
  if (!Has(name)) return std::nullopt;
  const std::string text = Text(name);
  double value = 0;
  if (absl::SimpleAtod(text, &value) && std::isfinite(value)) return value;
  faults_.push_back(absl::StrCat(name, "=", text, ": write a number, e.g. 0.1"));
  return std::nullopt;
}

std::string MegatronArguments::Text(const char* name, const char* absent) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? absent : found->second.back();
}

std::vector<std::string> MegatronArguments::Texts(const char* name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

void MegatronArguments::Refuse(const char* name, const std::string& why) {
  faults_.push_back(absl::StrCat(name, "=", Text(name), ": ", why));
}

absl::Status MegatronArguments::status() const {
  if (faults_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(faults_, "; "));
}

}  // namespace sextant::client
