#include "client/launcher/megatron_pipeline.h"

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

namespace sextant::client {
namespace {

constexpr char kVirtual[] = "--num-virtual-stages-per-pipeline-rank";
constexpr char kLayersPerVirtual[] = "--num-layers-per-virtual-pipeline-stage";
constexpr char kFirstStageArgument[] = "--decoder-first-pipeline-num-layers";
constexpr char kLastStageArgument[] = "--decoder-last-pipeline-num-layers";
constexpr char kLayout[] = "--pipeline-model-parallel-layout";
constexpr char kEmbedding[] = "--account-for-embedding-in-pipeline-split";
constexpr char kLoss[] = "--account-for-loss-in-pipeline-split";

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

// The number that `text` starts with, which is taken off it. Absent without digits, and above
// kMaxLayers.
std::optional<size_t> TakeNumber(absl::string_view* text) {
  const size_t digits =
      static_cast<size_t>(absl::c_find_if_not(*text, absl::ascii_isdigit) - text->begin());
  size_t value = 0;
  if (!absl::SimpleAtoi(text->substr(0, digits), &value) || value > kMaxPipelineLayers)
    return std::nullopt;
  text->remove_prefix(digits);
  return value;
}

// Writes repetitions out: "x*3" three times x, of one character, or of a group "(...)*3" where
// `groups`. Absent where a number is missing, or the text grows too long.
std::optional<std::string> Unrolled(absl::string_view text, bool groups) {
  std::string out;
  while (!text.empty()) {
    absl::string_view part = text.substr(0, 1);
    size_t length = 1;
    if (groups && text.front() == '(') {
      const size_t end = text.find(')');
      if (end == absl::string_view::npos) return std::nullopt;
      part = text.substr(1, end - 1);
      length = end + 1;
    }
    text.remove_prefix(length);
    size_t times = 1;
    const bool repeats = absl::StartsWith(text, "*");
    if (length > 1 && !repeats) return std::nullopt;
    if (repeats && (length > 1 || !groups)) {
      text.remove_prefix(1);
      const std::optional<size_t> number = TakeNumber(&text);
      if (!number.has_value()) return std::nullopt;
      times = *number;
    }
    if (out.size() + part.size() * times > kMaxPipelineLayers) return std::nullopt;
    for (size_t i = 0; i < times; ++i) absl::StrAppend(&out, part);
  }
  return out;
}

// Reads a list of 0 and 1: "[0,1]", "[0]*3", and sums of them in parentheses.
class PatternReader {
 public:
  explicit PatternReader(absl::string_view text) : text_(text) {}

  // Absent if the text is not such a list, or too long.
  std::optional<std::vector<bool>> Read() {
    std::optional<std::vector<bool>> out = Sum(0);
    return text_.empty() ? out : std::nullopt;
  }

 private:
  using Layers = std::optional<std::vector<bool>>;

  bool Take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  Layers Sum(int depth) {
    Layers out = Product(depth);
    while (out.has_value() && Take('+')) {
      const Layers more = Product(depth);
      if (!more.has_value() || out->size() + more->size() > kMaxPipelineLayers) return std::nullopt;
      out->insert(out->end(), more->begin(), more->end());
    }
    return out;
  }

  Layers Product(int depth) {
    Layers out = Take('(') ? Group(depth + 1) : List();
    while (out.has_value() && Take('*')) {
      const std::optional<size_t> times = TakeNumber(&text_);
      if (!times.has_value() || out->size() * *times > kMaxPipelineLayers) return std::nullopt;
      const std::vector<bool> once = std::exchange(*out, {});
      for (size_t i = 0; i < *times; ++i) out->insert(out->end(), once.begin(), once.end());
    }
    return out;
  }

  Layers Group(int depth) {
    if (depth > kMaxPatternDepth) return std::nullopt;
    Layers out = Sum(depth);
    return Take(')') ? out : std::nullopt;
  }

  Layers List() {
    if (!Take('[')) return std::nullopt;
    std::vector<bool> out;
    do {
      const bool experts = Take('1');
      if (!experts && !Take('0')) return std::nullopt;
      out.push_back(experts);
    } while (Take(','));
    return Take(']') ? Layers(out) : std::nullopt;
  }

  absl::string_view text_;
};

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
  const Uneven uneven = {.first = file.Count(kFirstStageArgument),
                         .last = file.Count(kLastStageArgument),
                         .embedding = file.Has(kEmbedding) ? 1 : 0,
                         .loss = file.Has(kLoss) ? 1 : 0};
  std::optional<int64_t> layers = file.Count("--num-layers");
  if (layers.value_or(0) > static_cast<int64_t>(kMaxPipelineLayers)) layers = std::nullopt;
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

absl::StatusOr<std::vector<int64_t>> ChunksOf(absl::string_view layout) {
  const std::string bare = absl::StrReplaceAll(layout, {{",", ""}});
  std::optional<std::string> text = Unrolled(bare, true);
  if (text.has_value()) text = Unrolled(*text, false);
  if (!text.has_value() || text->find_first_not_of("EtmL|") != std::string::npos) {
    return BadLayout(layout);
  }
  std::vector<int64_t> out;
  for (const absl::string_view stage : absl::StrSplit(*text, '|')) {
    out.push_back(absl::c_count(stage, 't'));
  }
  return out;
}

absl::StatusOr<std::vector<bool>> ExpertLayers(absl::string_view frequency, int64_t layer_count) {
  const size_t count = static_cast<size_t>(std::clamp<int64_t>(layer_count, 0, kMaxPipelineLayers));
  int64_t every = 0;
  if (absl::SimpleAtoi(frequency, &every) && every >= 1) {
    std::vector<bool> out;
    for (size_t i = 0; i < count; ++i) out.push_back(static_cast<int64_t>(i) % every == 0);
    return out;
  }
  const std::optional<std::vector<bool>> layers = PatternReader(frequency).Read();
  if (layers.has_value() && layers->size() == count) return *layers;
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

}  // namespace sextant::client
