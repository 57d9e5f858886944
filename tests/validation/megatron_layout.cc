#include "tests/validation/megatron_layout.h"

#include <algorithm>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr size_t kMaxLength = 10'000;

absl::Status Unreadable(const std::string& layout) {
  return absl::InvalidArgumentError(absl::StrCat("unreadable pipeline layout ", layout));
}

// The piece in front of the '*' at `star`: a letter, or a group in brackets.
size_t PieceBefore(const std::string& text, size_t star) {
  if (star == 0) return std::string::npos;
  return text[star - 1] == ')' ? text.rfind('(', star) : star - 1;
}

// `text` with each "x*3" and "(xy)*3" written out. Groups hold no groups.
absl::StatusOr<std::string> WithoutRepetitions(std::string text) {
  for (size_t star = text.find('*'); star != std::string::npos; star = text.find('*')) {
    size_t end = star + 1;
    while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) ++end;
    int64_t times = 0;
    const size_t begin = PieceBefore(text, star);
    if (begin == std::string::npos ||
        !absl::SimpleAtoi(text.substr(star + 1, end - star - 1), &times) || times > 1000) {
      return Unreadable(text);
    }
    std::string piece = text.substr(begin, star - begin);
    if (piece.size() > 1) piece = piece.substr(1, piece.size() - 2);
    std::string repeated;
    for (int64_t i = 0; i < times; ++i) repeated += piece;
    text = absl::StrCat(text.substr(0, begin), repeated, text.substr(end));
    if (text.size() > kMaxLength) return Unreadable("of more than 10,000 letters");
  }
  return text;
}

// On request Megatron-LM counts embedding and loss as a layer each before it distributes layers.
absl::StatusOr<std::vector<int64_t>> WithEnds(const MegatronArguments& arguments, int64_t chunks) {
  const int64_t first = arguments.Flag("account-for-embedding-in-pipeline-split") ? 1 : 0;
  const int64_t last = arguments.Flag("account-for-loss-in-pipeline-split") ? 1 : 0;
  const int64_t layers = arguments.Count("num-layers", 0) + first + last;
  if (layers % chunks != 0) {
    return absl::InvalidArgumentError("layers, embedding and loss don't divide into chunks");
  }
  std::vector<int64_t> out(static_cast<size_t>(chunks), layers / chunks);
  out.front() -= first;
  out.back() -= last;
  return out;
}

// "Et*3|(tt|)*6mL" for `layers` layers.
absl::Status SetWrittenChunks(const std::string& text, int64_t layers, v1::ParallelLayout& out) {
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<int64_t> chunks, LayersPerChunk(text));
  const auto count = static_cast<int64_t>(chunks.size());
  if (std::accumulate(chunks.begin(), chunks.end(), int64_t{0}) != layers ||
      count % out.pipeline_parallel_size() != 0) {
    return Unreadable(text);
  }
  for (const int64_t chunk : chunks) out.add_layers_per_chunk(chunk);
  out.set_virtual_stage_count(count / out.pipeline_parallel_size());
  return absl::OkStatus();
}

absl::Status SetChunks(const MegatronArguments& arguments, v1::ParallelLayout& out) {
  const int64_t stages = out.pipeline_parallel_size();
  if (stages < 1) return absl::InvalidArgumentError("no pipeline stage");
  const int64_t layers = arguments.Count("num-layers", 0);
  const std::string text = arguments.Text("pipeline-model-parallel-layout", "");
  if (!text.empty()) return SetWrittenChunks(text, layers, out);
  out.set_virtual_stage_count(arguments.Count("num-virtual-stages-per-pipeline-rank", 1));
  const int64_t per_chunk = arguments.Count("num-layers-per-virtual-pipeline-stage", 0);
  if (per_chunk > 0 && layers % (stages * per_chunk) != 0) {
    return absl::InvalidArgumentError("layers don't divide into virtual stages");
  }
  if (per_chunk > 0) out.set_virtual_stage_count(layers / (stages * per_chunk));
  if (arguments.Flag("account-for-embedding-in-pipeline-split") ||
      arguments.Flag("account-for-loss-in-pipeline-split")) {
    SEXTANT_ASSIGN_OR_RETURN(const std::vector<int64_t> chunks,
                             WithEnds(arguments, stages * out.virtual_stage_count()));
    for (const int64_t chunk : chunks) out.add_layers_per_chunk(chunk);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> LayersPerChunk(const std::string& layout) {
  std::string plain;
  for (const char c : layout) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(c)) && c != ',') plain += c;
  }
  SEXTANT_ASSIGN_OR_RETURN(plain, WithoutRepetitions(std::move(plain)));
  std::vector<int64_t> out;
  for (const absl::string_view chunk : absl::StrSplit(plain, '|')) {
    if (chunk.find_first_not_of("EtmL") != absl::string_view::npos) return Unreadable(layout);
    out.push_back(std::count(chunk.begin(), chunk.end(), 't'));
  }
  return out;
}

absl::StatusOr<v1::ParallelLayout> MegatronLayout(const MegatronArguments& arguments) {
  v1::ParallelLayout out;
  out.set_tensor_parallel_size(arguments.Count("tensor-model-parallel-size", 1));
  out.set_pipeline_parallel_size(arguments.Count("pipeline-model-parallel-size", 1));
  // Ranks of expert parallelism mean nothing to a model without experts.
  if (arguments.Has("num-experts")) {
    out.set_expert_parallel_size(arguments.Count("expert-model-parallel-size", 1));
    const int64_t ranks = arguments.Count("expert-tensor-parallel-size", 0);
    if (ranks > 0) out.set_expert_tensor_parallel_size(ranks);
  }
  SEXTANT_RETURN_IF_ERROR(SetChunks(arguments, out));
  return out;
}

}  // namespace sextant
