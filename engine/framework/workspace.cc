#include "engine/framework/workspace.h"

#include <cstdint>

namespace sextant {
namespace {

constexpr int64_t kKib = 1024;
constexpr int64_t kMib = 1024 * kKib;
constexpr int64_t kTorchHandles = 2;
constexpr int64_t kGroupedStreams = 4;
constexpr int64_t kDefaultConfiguration = (2 * 4096 + 8 * 16) * kKib;  // :4096:2:16:8
constexpr int64_t kDeterministicConfiguration = 8 * 4096 * kKib;       // :4096:8

int64_t TorchWorkspace(DeviceGeneration generation) {
  switch (generation) {
    case DeviceGeneration::kBeforeAmpere:
    case DeviceGeneration::kBeforeHopper:
      return kDefaultConfiguration;
    case DeviceGeneration::kAmdCdna3:
      return 128 * kMib;
    case DeviceGeneration::kUnknown:
    case DeviceGeneration::kHopper:
    case DeviceGeneration::kBlackwell:
    case DeviceGeneration::kAmd:
      break;
  }
  return 32 * kMib;
}

bool IsAmd(DeviceGeneration generation) {
  return generation == DeviceGeneration::kAmd || generation == DeviceGeneration::kAmdCdna3;
}

}  // namespace

DeviceGeneration GenerationOf(absl::string_view architecture) {
  constexpr struct {
    absl::string_view architecture;
    DeviceGeneration generation;
  } kGenerations[] = {{"Volta", DeviceGeneration::kBeforeAmpere},
                      {"Turing", DeviceGeneration::kBeforeAmpere},
                      {"Ampere", DeviceGeneration::kBeforeHopper},
                      {"Ada", DeviceGeneration::kBeforeHopper},
                      {"Hopper", DeviceGeneration::kHopper},
                      {"Blackwell", DeviceGeneration::kBlackwell},
                      {"Blackwell Ultra", DeviceGeneration::kBlackwell},
                      {"CDNA2", DeviceGeneration::kAmd},
                      {"CDNA3", DeviceGeneration::kAmdCdna3},
                      {"CDNA4", DeviceGeneration::kAmdCdna3}};
  for (const auto& known : kGenerations) {
    if (known.architecture == architecture) return known.generation;
  }
  return DeviceGeneration::kUnknown;
}

Bytes WorkspaceOf(const WorkspaceUse& use) {
  const bool deterministic = use.deterministic && !IsAmd(use.generation);
  const int64_t torch =
      deterministic ? kDeterministicConfiguration : TorchWorkspace(use.generation);
  if (!use.transformer_engine) return Bytes(kTorchHandles * torch);
  const int64_t engine = IsBeforeHopper(use.generation) ? 4 * kMib : 32 * kMib;
  return Bytes(kTorchHandles * torch + engine * (use.grouped_experts ? 1 + kGroupedStreams : 1));
}

}  // namespace sextant
