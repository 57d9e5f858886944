#include "client/memory_request.h"

#include <cstdint>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "client/format.h"

namespace sextant {
namespace {

// The API's limit on these sizes: no product below overflows. What is beyond it is the server's
// to refuse.
constexpr int64_t kMostRanks = 65'536;

int64_t SizeOf(bool given, int64_t size) {
  return given && size >= 1 && size <= kMostRanks ? size : 1;
}

int64_t DevicesOf(const v1::RunLayout& layout, std::string* sentence) {
  const v1::ParallelLayout& p = layout.parallel();
  const int64_t tensor = SizeOf(p.has_tensor_parallel_size(), p.tensor_parallel_size());
  const int64_t pipeline = SizeOf(p.has_pipeline_parallel_size(), p.pipeline_parallel_size());
  const int64_t context =
      SizeOf(layout.has_context_parallel_size(), layout.context_parallel_size());
  const int64_t expert = SizeOf(p.has_expert_parallel_size(), p.expert_parallel_size());
  const int64_t expert_tensor =
      p.has_expert_tensor_parallel_size() ? SizeOf(true, p.expert_tensor_parallel_size()) : tensor;
  // Experts are dealt out among ranks that otherwise share tensors and sequences, or train on
  // data of their own: of these there are as many as it takes.
  const int64_t ranks = std::lcm(tensor * context, expert * expert_tensor);
  const int64_t data = ranks / (tensor * context);
  *sentence = absl::StrCat("--devices=", ranks * pipeline, ": tensor ", tensor, " x pipeline ",
                           pipeline, " x context ", context, " x data ", data,
                           data > 1 ? " ranks, the fewest that the experts need" : " ranks");
  return ranks * pipeline;
}

}  // namespace

std::vector<std::string> FillInMemoryRequest(v1::PlanRunRequest* request) {
  std::vector<std::string> sentences;
  if (request->training().token_count() == 0) {
    request->mutable_training()->set_token_count(1);
    sentences.emplace_back("--tokens=1: memory does not depend on it");
  }
  const bool even =
      request->model().has_parameter_count() || request->training().has_activation_bytes();
  if (!request->has_layout() && !even) {
    request->mutable_layout();
    sentences.emplace_back("an empty layout: no tensor, pipeline or context parallelism");
  }
  if (request->has_layout() && request->cluster().device_count() == 0) {
    std::string sentence;
    request->mutable_cluster()->set_device_count(DevicesOf(request->layout(), &sentence));
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace sextant
