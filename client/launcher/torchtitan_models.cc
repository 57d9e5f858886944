#include <algorithm>
#include <cctype>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "client/launcher/launcher.h"

namespace sextant::client {
namespace {

// Source: torchtitan/models/*/__init__.py of v0.2.2. Flavors that differ in attention's kernel
// alone are left out, and Llama 4's, whose shapes are not the published ones.
constexpr TorchtitanModel kModels[] = {
    {"llama3", "8B", "llama-3.1-8b", 32},
    {"llama3", "8B", "llama-3-8b", 32},
    {"llama3", "70B", "llama-3.1-70b", 80},
    {"llama3", "70B", "llama-3-70b", 80},
    {"llama3", "70B", "llama-3.3-70b", 80},
    {"llama3", "405B", "llama-3.1-405b", 126},
    {"qwen3", "0.6B", "qwen3-0.6b", 28},
    {"qwen3", "1.7B", "qwen3-1.7b", 28},
    {"qwen3", "4B", "qwen3-4b", 36},
    {"qwen3", "8B", "qwen3-8b", 36},
    {"qwen3", "14B", "qwen3-14b", 40},
    {"qwen3", "32B", "qwen3-32b", 64},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b", 48},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b", 94},
    {"deepseek_v3", "16B", "deepseek-v2-lite", 27},
    {"deepseek_v3", "236B", "deepseek-v2", 60},
    {"deepseek_v3", "671B", "deepseek-v3", 61},
    {"gpt_oss", "20b", "gpt-oss-20b", 24},
    {"gpt_oss", "120b", "gpt-oss-120b", 36},
};

// Presets are found by their names in any case, whatever parts their words.
std::string Bare(const std::string& preset) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(preset), {{"-", ""}, {"_", ""}, {" ", ""}});
}

}  // namespace

const TorchtitanModel* ModelOfPreset(const std::string& preset) {
  const auto* const found = absl::c_find_if(
      kModels, [&](const TorchtitanModel& model) { return Bare(model.preset) == Bare(preset); });
  return found == std::end(kModels) ? nullptr : found;
}

const TorchtitanModel* ModelOfFlavor(const std::string& name, const std::string& flavor) {
  const auto* const found = absl::c_find_if(kModels, [&](const TorchtitanModel& model) {
    return model.name == name && model.flavor == flavor;
  });
  return found == std::end(kModels) ? nullptr : found;
}

std::vector<int64_t> LayersPerChunk(int64_t layers, int64_t stages, int64_t first, int64_t last) {
  if (stages == 1) return {layers};
  const int64_t all = layers + first + last;
  const int64_t least = all / stages;
  if (least == 0 || first > least || last > least) return {};
  std::vector<int64_t> out(static_cast<size_t>(stages), least);
  for (int64_t i = 0; i < all % stages; ++i) ++out[static_cast<size_t>(i)];
  out.front() -= first;
  out.back() -= last;
  return out;
}

}  // namespace sextant::client
