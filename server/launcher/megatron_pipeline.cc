// Stages of a pipeline as Megatron-LM's arguments give them, and patterns of its layers.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/launcher/megatron.h"

namespace sextant::server {
namespace {

constexpr char kVirtual[] = "--num-virtual-stages-per-pipeline-rank";
constexpr char kLayersPerVirtual[] = "--num-layers-per-virtual-pipeline-stage";
constexpr char kFirstStageArgument[] = "--decoder-first-pipeline-num-layers";
constexpr char kLastStageArgument[] = "--decoder-last-pipeline-num-layers";
constexpr char kLayout[] = "--pipeline-model-parallel-layout";
constexpr char kEmbedding[] = "--account-for-embedding-in-pipeline-split";
constexpr char kLoss[] = "--account-for-loss-in-pipeline-split";
constexpr char kPartition[] = "--pp-partition-method";  // Megatron-DeepSpeed's

// Layers of the longest pattern that is read; the API allows fewer chunks.
constexpr size_t kMaxPipelineLayers = size_t{1} << 16;
constexpr int kMaxPatternDepth = 32;

std::string Times(char layer, int64_t count) {
  if (count == 0) return "";
  return count == 1 ? std::string(1, layer) : absl::StrCat(std::string(1, layer), "*", count);
}

// "Et*7|t*8|t*7m,L": E is the embedding, t a layer, m a module that predicts ahead, L the loss.
std::string LayoutText(const std::vector<int64_t>& chunks, int64_t modules) {
  std::vector<std::string> stages;
  stages.reserve(chunks.size());
  for (const int64_t layers : chunks) stages.push_back(Times('t', layers));
  stages.front().insert(0, "E");
  absl::StrAppend(&stages.back(), Times('m', modules), "L");
  return absl::StrJoin(stages, "|");
}

absl::Status BadLayout(absl::string_view layout) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", layout,
                   "\" is not a layout: write stages of E, t, m and L with | between "
                   "them, e.g. Et*3|(tt|)*2t*3L"));
}

// Reads a pattern of layers: characters of `letters`, groups of them in parentheses, and either
// repeated, "x*3". Brackets part groups too where `lists`, with "+" or "," between what follows
// each other. Absent where the text is none, or too long.
class PatternReader {
 public:
  PatternReader(absl::string_view text, absl::string_view letters, bool lists)
      : text_(text), letters_(letters), lists_(lists) {}

  std::optional<std::string> Read() {
    std::optional<std::string> out = Sequence(0);
    return text_.empty() ? out : std::nullopt;
  }

 private:
  using Layers = std::optional<std::string>;

  bool Take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  Layers Sequence(int depth) {
    std::string out;
    if (text_.empty() && !lists_) return out;
    do {
      const Layers more = Repeated(depth);
      if (!more.has_value() || out.size() + more->size() > kMaxPipelineLayers) return std::nullopt;
      out += *more;
    } while (lists_ ? Take('+') || Take(',') : !text_.empty() && text_.front() != ')');
    return out;
  }

  Layers Repeated(int depth) {
    const bool group = Take('(') || (lists_ && Take('['));
    Layers once = group ? Group(depth + 1) : Letter();
    if (!lists_ && group && !absl::StartsWith(text_, "*")) return std::nullopt;
    while (once.has_value() && Take('*')) {
      const size_t digits =
          static_cast<size_t>(absl::c_find_if_not(text_, absl::ascii_isdigit) - text_.begin());
      size_t times = 0;
      if (!absl::SimpleAtoi(text_.substr(0, digits), &times)) return std::nullopt;
      text_.remove_prefix(digits);
      if (times > kMaxPipelineLayers || once->size() * times > kMaxPipelineLayers) {
        return std::nullopt;
      }
      std::string all;
      for (size_t i = 0; i < times; ++i) all += *once;
      once = std::move(all);
      if (!lists_) break;
    }
    return once;
  }

  Layers Group(int depth) {
    if (depth > (lists_ ? kMaxPatternDepth : 1)) return std::nullopt;
    Layers out = Sequence(depth);
    return Take(')') || (lists_ && Take(']')) ? out : std::nullopt;
  }

  Layers Letter() {
    if (text_.empty() || letters_.find(text_.front()) == absl::string_view::npos) {
      return std::nullopt;
    }
    const std::string out(1, text_.front());
    text_.remove_prefix(1);
    return out;
  }

  absl::string_view text_;
  const absl::string_view letters_;
  const bool lists_;
};

// The layers of each chunk of a --pipeline-model-parallel-layout such as "Et*3|(tt|)*2,m|L", in the
// order of the forward pass. Errors: kInvalidArgument, saying what to write.
absl::StatusOr<std::vector<int64_t>> ChunksOf(absl::string_view layout) {
  const std::string bare = absl::StrReplaceAll(layout, {{",", ""}});
  const std::optional<std::string> text = PatternReader(bare, "EtmL|", false).Read();
  if (!text.has_value()) return BadLayout(layout);
  std::vector<int64_t> out;
  for (const absl::string_view stage : absl::StrSplit(*text, '|')) {
    out.push_back(absl::c_count(stage, 't'));
  }
  return out;
}

void SetChunks(const std::vector<int64_t>& chunks, v1::ParallelLayout& out) {
  out.mutable_layers_per_chunk()->Assign(chunks.begin(), chunks.end());
}

void ReadLayout(int64_t stages, SettingFile& file, v1::ParallelLayout& out) {
  const absl::StatusOr<std::vector<int64_t>> chunks = ChunksOf(file.Text(kLayout).value_or(""));
  if (!chunks.ok()) return file.Refuse(kLayout, std::string(chunks.status().message()));
  const int64_t count = static_cast<int64_t>(chunks->size());
  if (count % stages != 0) {
    return file.Refuse(kLayout, absl::StrCat("it has ", count, " stages, no multiple of ",
                                             "--pipeline-model-parallel-size=", stages));
  }
  if (count > stages) out.set_virtual_stage_count(count / stages);
  SetChunks(*chunks, out);
}

// Layers of each stage where the first or the last has another number than the rest. Empty where
// they don't divide.
std::vector<int64_t> UnevenStages(int64_t layers, int64_t stages, std::optional<int64_t> first,
                                  std::optional<int64_t> last) {
  if (first.value_or(0) > layers || last.value_or(0) > layers) return {};
  const int64_t left = layers - first.value_or(0) - last.value_or(0);
  const int64_t among = stages - (first.has_value() ? 1 : 0) - (last.has_value() ? 1 : 0);
  if (left < 0 || among < 0 || (among == 0 ? left != 0 : left % among != 0)) return {};
  std::vector<int64_t> out(static_cast<size_t>(stages), among == 0 ? 0 : left / among);
  if (first.has_value()) out.front() = *first;
  if (last.has_value()) out.back() = *last;
  return out;
}

// Cuts each stage into `chunks` of the same size. Empty where that does not divide.
std::vector<int64_t> Cut(const std::vector<int64_t>& stages, int64_t chunks) {
  std::vector<int64_t> out;
  for (const int64_t layers : stages) {
    if (layers % chunks != 0) return {};
  }
  for (int64_t i = 0; i < chunks; ++i) {
    for (const int64_t layers : stages) out.push_back(layers / chunks);
  }
  return out;
}

// The arguments about stages that are not all alike.
struct Uneven {
  std::optional<int64_t> first = {};
  std::optional<int64_t> last = {};
  int64_t embedding = 0;  // 1: it counts as a layer of the first chunk
  int64_t loss = 0;       // 1: it counts as a layer of the last one

  bool is_even() const { return !first && !last && embedding == 0 && loss == 0; }
};

std::vector<int64_t> CutUneven(const Uneven& uneven, int64_t layers, int64_t stages,
                               int64_t chunks) {
  const int64_t all = layers + uneven.embedding + uneven.loss;
  std::vector<int64_t> out = Cut(UnevenStages(all, stages, uneven.first, uneven.last), chunks);
  if (out.empty() || out.front() < uneven.embedding) return {};
  out.front() -= uneven.embedding;
  if (out.back() < uneven.loss) return {};
  out.back() -= uneven.loss;
  return out;
}

// The number of chunks of each stage; 1 where the arguments don't say.
int64_t ReadChunkCount(const Uneven& uneven, std::optional<int64_t> layers, int64_t stages,
                       SettingFile& file) {
  if (file.Has(kVirtual)) return file.Count(kVirtual).value_or(1);
  const std::optional<int64_t> size = file.Count(kLayersPerVirtual);
  if (!size.has_value() || !layers.has_value()) return 1;
  const int64_t all = *layers + uneven.embedding + uneven.loss;
  if (all / stages / *size * *size * stages == all) return all / stages / *size;
  file.Refuse(kLayersPerVirtual,
              absl::StrCat("it does not divide the layers of a stage: ", all, " on ", stages));
  return 1;
}

// True where the embedding and the head each count as a layer of their stage, as Megatron-DeepSpeed
// divides 'type:transformer|embedding'. Without an argument it is so where the layers alone don't
// divide, which Megatron-LM refuses to run.
//
// Source: GPTModelPipe of bigscience-workshop/Megatron-DeepSpeed megatron/model/gpt_model.py, whose
// first and last parts are embeddings; PipelineModule._partition_layers() of DeepSpeed.
bool CountsEnds(int64_t stages, int64_t layers, Reading& reading) {
  SettingFile& file = reading.file;
  const bool divides = stages > 1 && (layers + 2) % stages == 0;
  if (file.Has(kPartition)) {
    const std::string method = file.Text(kPartition).value_or("");
    const bool ends = absl::StrContains(method, "transformer|embedding");
    if (ends ? divides : absl::StrContains(method, "type:transformer")) return ends;
    file.Ignore(kPartition);
    return false;
  }
  if (stages <= 1 || layers % stages == 0 || !divides) return false;
  reading.out.open.push_back(absl::StrCat(kPartition, ": ", stages, " stages don't divide ", layers,
                                          " layers, so that the embedding and the head are taken "
                                          "for a layer each"));
  return true;
}

// True where more stages than one have another number of layers than the second.
bool HasFirstAndLastAlone(const std::vector<int64_t>& chunks) {
  return chunks.size() < 3 || std::all_of(chunks.begin() + 1, chunks.end() - 1,
                                          [&](int64_t layers) { return layers == chunks[1]; });
}

}  // namespace

void WritePipeline(const Setting& setting, Writing& writing) {
  const LaunchSizes& sizes = writing.sizes;
  SettingList& out = writing.list;
  const auto& given = writing.layout().parallel().layers_per_chunk();
  const std::vector<int64_t> chunks(given.begin(), given.end());
  out.Add(setting.name, sizes.pipeline);
  if (sizes.pipeline == 1) return;
  const bool alike = absl::c_all_of(chunks, [&](int64_t layers) { return layers == chunks[0]; });
  if (alike) {
    if (sizes.virtual_stages > 1) out.Add(kVirtual, sizes.virtual_stages);
  } else if (sizes.virtual_stages == 1 && HasFirstAndLastAlone(chunks)) {
    out.Add(kFirstStageArgument, chunks.front());
    out.Add(kLastStageArgument, chunks.back());
  } else {
    out.Add(kLayout, LayoutText(chunks, writing.run.model.multi_token_prediction().module_count()));
  }
}

void ReadPipeline(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  v1::ParallelLayout& out = *reading.layout().mutable_parallel();
  ReadFields({&setting, 1}, file, reading.request());
  const int64_t stages = std::clamp<int64_t>(out.pipeline_parallel_size(), 1, kMaxPipelineLayers);
  if (file.Has(kLayout)) return ReadLayout(stages, file, out);
  Uneven uneven = {.first = file.Count(kFirstStageArgument),
                   .last = file.Count(kLastStageArgument),
                   .embedding = file.Has(kEmbedding) ? 1 : 0,
                   .loss = file.Has(kLoss) ? 1 : 0};
  std::optional<int64_t> layers = file.Count("--num-layers");
  if (layers.value_or(0) > static_cast<int64_t>(kMaxPipelineLayers)) layers = std::nullopt;
  const bool open = uneven.is_even() && !file.Has(kVirtual) && !file.Has(kLayersPerVirtual);
  if (open && layers.has_value() && CountsEnds(stages, *layers, reading)) {
    uneven.embedding = 1;
    uneven.loss = 1;
  }
  const bool needs = !uneven.is_even() || file.Has(kLayersPerVirtual);
  if (needs && !layers.has_value()) {
    return file.Refuse("--num-layers", "stages that are not all alike take it");
  }
  const int64_t chunks = ReadChunkCount(uneven, layers, stages, file);
  if (chunks > 1) out.set_virtual_stage_count(chunks);
  if (uneven.is_even()) return;
  std::vector<int64_t> cut;
  if (chunks <= static_cast<int64_t>(kMaxPipelineLayers) / stages) {
    cut = CutUneven(uneven, *layers, stages, chunks);
  }
  if (cut.empty()) return file.Refuse("--num-layers", "the stages' layers do not add up to it");
  SetChunks(cut, out);
}

absl::StatusOr<std::vector<bool>> ExpertLayers(absl::string_view frequency, int64_t layer_count) {
  const size_t count = static_cast<size_t>(std::clamp<int64_t>(layer_count, 0, kMaxPipelineLayers));
  int64_t every = 0;
  if (absl::SimpleAtoi(frequency, &every) && every >= 1) {
    std::vector<bool> out;
    for (size_t i = 0; i < count; ++i) out.push_back(static_cast<int64_t>(i) % every == 0);
    return out;
  }
  const std::optional<std::string> layers = PatternReader(frequency, "01", true).Read();
  if (layers.has_value() && layers->size() == count) {
    std::vector<bool> out;
    for (const char layer : *layers) out.push_back(layer == '1');
    return out;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "write a whole number, or a list of ", layer_count,
      " times 0 or 1, a layer without or with experts, e.g. ([0]+[1]*", layer_count - 1, ")"));
}

std::string ExpertLayersText(const std::vector<bool>& layers) {
  std::vector<std::string> terms;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i;
    while (end < layers.size() && layers[end] == layers[i]) ++end;
    terms.push_back(absl::StrCat("[", layers[i] ? 1 : 0, "]*", end - i));
    i = end;
  }
  return absl::StrCat("(", absl::StrJoin(terms, "+"), ")");
}

}  // namespace sextant::server
