#include "engine/search/published_sizes.h"

#include <algorithm>
#include <iterator>

namespace sextant {
namespace {

struct PublishedMost {
  int32_t LayoutChoice::*size;
  const LayoutField& field;
  int64_t most;
  absl::string_view source;
};

constexpr absl::string_view kLayout = "layout.";  // UnpublishedSize's fields are below it

// docs/search.md, "Beyond published runs".
constexpr PublishedMost kPublished[] = {
    {&LayoutChoice::tensor, kTensorParallelField, 16,
     "nanotron, benchmark summary of the Ultra-Scale Playbook: 80B on 512 H100s"},
    {&LayoutChoice::pipeline, kPipelineParallelField, 64,
     "Narayanan et al. 2021 (arXiv 2104.04473) table 1: 1T on 3,072 A100s"},
    {&LayoutChoice::virtual_stages, kVirtualStagesField, 24,
     "NVIDIA Megatron-Bridge, performance summary, 25.11: Qwen3 30B-A3B on 16 H100s"},
    {&LayoutChoice::context, kContextParallelField, 32,
     "NVIDIA NeMo, long sequence performance: Llama 2 7B on 1,024 H100s"},
    {&LayoutChoice::expert, kExpertParallelField, 128,
     "NVIDIA DGX Cloud benchmarking, v25.05.05: Llama 4 Maverick on 512 H100s"},
};

}  // namespace

std::vector<UnpublishedSize> UnpublishedSizesOf(const LayoutChoice& choice) {
  std::vector<UnpublishedSize> out;
  for (const PublishedMost& each : kPublished) {
    const int64_t size = choice.*each.size;
    if (size > each.most)
      out.push_back({each.field.path.substr(kLayout.size()), size, each.most, each.source});
  }
  return out;
}

bool IsPublished(const LayoutChoice& choice) {
  return std::all_of(std::begin(kPublished), std::end(kPublished),
                     [&](const PublishedMost& each) { return choice.*each.size <= each.most; });
}

}  // namespace sextant
