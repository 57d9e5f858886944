// A job script for Slurm that starts a run by torchrun.
#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

constexpr int64_t kMaxMinutes = int64_t{1'000'000} * 24 * 60;  // of --time: 1e6 days

// `text` as one word of a shell.
std::string QuotedWord(const std::string& text) {
  const bool plain = !text.empty() && absl::c_all_of(text, [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/' || c == '=' ||
           c == ',' || c == ':';
  });
  if (plain) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// A job's name: the model's, where Slurm takes it.
std::string JobName(const std::string& model) {
  std::string out = model;
  for (char& c : out) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '.' && c != '_') c = '-';
  }
  return out.empty() ? "train" : out;
}

// Megatron-LM asks for this before Blackwell where ranks share tensors or sequences, and forbids it
// with its FSDP (validate_args()).
bool TakesOneConnection(const LaunchedRun& run) {
  const LaunchSizes sizes = SizesOf(run.request);
  return (sizes.tensor > 1 || sizes.context > 1) && sizes.zero < v1::ZERO_STAGE_GRADIENTS;
}

std::string Head(const LaunchedRun& run, int64_t nodes, int64_t devices) {
  std::string out = "#!/bin/bash\n";
  absl::StrAppend(&out, "#SBATCH --job-name=", JobName(run.model_name), "\n");
  absl::StrAppend(&out, "#SBATCH --nodes=", nodes, "\n");
  absl::StrAppend(&out, "#SBATCH --ntasks-per-node=1\n");
  absl::StrAppend(&out, "#SBATCH --gpus-per-node=", devices, "\n");
  if (run.elapsed_seconds > 0) {
    absl::StrAppend(&out, "#SBATCH --time=", SlurmTime(run.elapsed_seconds), "\n");
  }
  return absl::StrCat(out, "#SBATCH --exclusive\n");
}

std::string Words(const std::string& line) {
  std::vector<std::string> words;
  for (const absl::string_view word : absl::StrSplit(line, ' ')) {
    words.push_back(QuotedWord(std::string(word)));
  }
  return absl::StrJoin(words, " ");
}

}  // namespace

bool StartsMegatron(const v1::PlanRunRequest& request) {
  switch (request.layout().framework().kind()) {
    case v1::FrameworkMemory::KIND_UNSPECIFIED:
    case v1::FrameworkMemory::KIND_MEGATRON_LM:
    case v1::FrameworkMemory::KIND_MEGATRON_BRIDGE:
      return true;
    default:
      return false;
  }
}

std::string SlurmTime(double seconds) {
  const double all = std::ceil(seconds / 60);
  const int64_t minutes = all >= static_cast<double>(kMaxMinutes)
                              ? kMaxMinutes
                              : std::max(static_cast<int64_t>(all), int64_t{1});
  return absl::StrFormat("%d-%02d:%02d:00", minutes / 60 / 24, minutes / 60 % 24, minutes % 60);
}

absl::StatusOr<LauncherFile> WriteSlurm(const LaunchedRun& run) {
  const int64_t devices = run.request.cluster().device_count();
  Refusals refusals("Slurm");
  const int64_t per_node = DevicesOfNode(run, "--gpus-per-node", refusals);
  if (!refusals.status().ok()) return refusals.status();
  LauncherFile out = {.text = Head(run, devices / per_node, per_node)};
  if (run.elapsed_seconds <= 0) out.left_out.emplace_back("--time: no time was predicted");
  const bool megatron = StartsMegatron(run.request);
  std::vector<std::string> lines;
  if (megatron) {
    absl::StatusOr<std::vector<std::string>> arguments = MegatronLines(run);
    if (!arguments.ok()) return arguments.status();
    lines = *std::move(arguments);
  }
  absl::StrAppend(&out.text, "set -euo pipefail\n");
  if (megatron && TakesOneConnection(run)) {
    absl::StrAppend(&out.text, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n");
  }
  absl::StrAppend(&out.text,
                  "first_node=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n",
                  "srun torchrun --nnodes=\"$SLURM_NNODES\" --nproc-per-node=", per_node,
                  " --rdzv-backend=c10d \\\n",
                  "  --rdzv-id=\"$SLURM_JOB_ID\" --rdzv-endpoint=\"$first_node:29500\" \\\n  ");
  if (!run.script.empty()) absl::StrAppend(&out.text, QuotedWord(run.script), " ");
  absl::StrAppend(&out.text, "\"$@\"");
  for (const std::string& line : lines) absl::StrAppend(&out.text, " \\\n  ", Words(line));
  absl::StrAppend(&out.text, "\n");
  return out;
}

}  // namespace sextant::server
