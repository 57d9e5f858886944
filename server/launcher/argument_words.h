// Words of a command line, before they are parsed as arguments and after.
#ifndef SEXTANT_SERVER_LAUNCHER_ARGUMENT_WORDS_H_
#define SEXTANT_SERVER_LAUNCHER_ARGUMENT_WORDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {

// The words of `text` as a shell splits it, the last one first, as CLI11 takes them; absent where a
// quote has no end. Nothing is expanded.
std::optional<std::vector<std::string>> ReversedWords(const std::string& text);

// "--num_layers" as "--num-layers" where that is known, and an older name as its present one.
std::string PresentSpelling(const std::string& word, const SettingFile::Names& known,
                            SettingFile::OlderNames older);

// True of an argument by which Megatron-LM's are known, "--num_layers=32".
bool IsMegatronWord(absl::string_view word);

// Words that CLI11 did not know: flags by their names; a word after one is taken for its value.
std::vector<std::string> UnknownFlags(const std::vector<std::string>& extras);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_ARGUMENT_WORDS_H_
