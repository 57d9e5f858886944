#include "client/text/step_words.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr double kMinShown = 0.0005;  // less reads as 0.0 %

// "pipeline bubble" of PIPELINE_BUBBLE.
std::string SpacedName(const std::string& enum_name) {
  return absl::StrReplaceAll(enum_name, {{"-", " "}});
}

}  // namespace

std::string CauseWords(v1::StepCause cause) {
  switch (cause) {
    case v1::STEP_CAUSE_MATMUL:
      return "matrix products";
    case v1::STEP_CAUSE_EXPERTS:
      return "products of experts";
    case v1::STEP_CAUSE_MEMORY_PASS:
      return "passes over memory";
    case v1::STEP_CAUSE_TENSOR_EXCHANGE:
      return "tensor parallel exchange";
    case v1::STEP_CAUSE_CONTEXT_EXCHANGE:
      return "context parallel exchange";
    case v1::STEP_CAUSE_EXPERT_EXCHANGE:
      return "exchange among experts";
    case v1::STEP_CAUSE_SHARD_EXCHANGE:
      return "exchange of shards";
    case v1::STEP_CAUSE_HOST:
      return "waiting for the host";
    case v1::STEP_CAUSE_PIPELINE_EXCHANGE:
      return "sends between stages";
    case v1::STEP_CAUSE_DATA_EXCHANGE:
      return "data parallel exchange";
    case v1::STEP_CAUSE_OPTIMIZER:
      return "optimizer step";
    case v1::STEP_CAUSE_SCALE:
      return "stragglers and jitter";
    case v1::STEP_CAUSE_HOST_COPY:
      return "copies to and from the host";
    case v1::STEP_CAUSE_HOST_OPTIMIZER:
      return "optimizer step on the host";
    default:  // attention, pipeline bubble
      return SpacedName(EnumName(cause));
  }
}

std::string RateWords(v1::StepSensitivity::Rate rate) {
  switch (rate) {
    case v1::StepSensitivity::RATE_ARITHMETIC:
      return "arithmetic rate";
    case v1::StepSensitivity::RATE_LINK:
      return "link within servers";
    case v1::StepSensitivity::RATE_NETWORK:
      return "network between servers";
    default:  // memory bandwidth, host
      return SpacedName(EnumName(rate));
  }
}

std::vector<v1::StepPart> PartsByTime(const v1::StepTime& step) {
  std::vector<v1::StepPart> parts(step.parts().begin(), step.parts().end());
  absl::c_stable_sort(parts, [](const v1::StepPart& a, const v1::StepPart& b) {
    return a.seconds() > b.seconds();
  });
  return parts;
}

std::vector<v1::StepSensitivity> ShownSensitivities(const v1::StepTime& step) {
  std::vector<v1::StepSensitivity> out;
  absl::c_copy_if(step.sensitivities(), std::back_inserter(out),
                  [](const v1::StepSensitivity& each) { return each.saved_share() >= kMinShown; });
  return out;
}

std::string ShareText(double share) {
  if (share > 0 && share < kMinShown) return "< 0.1";
  return absl::StrFormat("%.1f", 100 * share);
}

bool HasPipeline(const v1::StepTime& step) {
  return step.bubble_ratio() > 0 || step.slowest_stage() > 0 ||
         absl::c_any_of(step.parts(), [](const v1::StepPart& part) {
           return part.cause() == v1::STEP_CAUSE_PIPELINE_EXCHANGE ||
                  part.cause() == v1::STEP_CAUSE_PIPELINE_BUBBLE;
         });
}

}  // namespace sextant::client
