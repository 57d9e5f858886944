#include "server/launcher/argument_words.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace sextant::server {

std::optional<std::vector<std::string>> ReversedWords(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  bool open = false;  // a word that has begun, which quotes may leave empty
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes && text[i + 1] == '\n') {
      ++i;  // the line goes on
    } else if (escapes && (quote == '\0' || text[i + 1] == '"' || text[i + 1] == '\\')) {
      word += text[++i];
      open = true;
    } else if (quote == '\0' ? c == '"' || c == '\'' : c == quote) {
      quote = quote == '\0' ? c : '\0';
      open = true;
    } else if (quote == '\0' && absl::ascii_isspace(static_cast<unsigned char>(c))) {
      if (open) out.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quote != '\0') return std::nullopt;
  if (open) out.push_back(std::move(word));
  std::reverse(out.begin(), out.end());
  return out;
}

std::string PresentSpelling(const std::string& word, const SettingFile::Names& known,
                            SettingFile::OlderNames older) {
  if (!absl::StartsWith(word, "--")) return word;
  const size_t end = std::min(word.find('='), word.size());
  const auto is_known = [&](const std::string& name) {
    return absl::c_any_of(known, [&](const auto& each) { return each.first == name; });
  };
  const std::string name = word.substr(0, end);
  if (is_known(name)) return word;
  const std::string dashed = absl::StrReplaceAll(name, {{"_", "-"}});
  for (const auto& [former, present] : older) {
    if (dashed == former) return absl::StrCat(present, word.substr(end));
  }
  return is_known(dashed) ? absl::StrCat(dashed, word.substr(end)) : word;
}

bool IsMegatronWord(absl::string_view word) {
  constexpr const char* kNames[] = {"--num-layers",
                                    "--micro-batch-size",
                                    "--tensor-model-parallel-size",
                                    "--pipeline-model-parallel-size",
                                    "--model-parallel-size",
                                    "--num-attention-heads",
                                    "--use-mcore-models"};
  const std::string dashed = absl::StrReplaceAll(word, {{"_", "-"}});
  return absl::c_any_of(kNames, [&](const char* name) { return absl::StartsWith(dashed, name); });
}

std::vector<std::string> UnknownFlags(const std::vector<std::string>& extras) {
  std::vector<std::string> out;
  bool after_flag = false;
  for (const std::string& word : extras) {
    const bool flag = absl::StartsWith(word, "-") && word.size() > 1 &&
                      !absl::ascii_isdigit(static_cast<unsigned char>(word[1]));
    if (flag || !after_flag) out.push_back(word.substr(0, word.find('=')));
    after_flag = flag || after_flag;
  }
  return out;
}

}  // namespace sextant::server
