// The text of a Hugging Face config.json, before its fields are read.
#ifndef SEXTANT_PROTO_WORDS_CONFIG_TEXT_H_
#define SEXTANT_PROTO_WORDS_CONFIG_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sextant::words {

// `json` with {} as the value of its top field quantization_config, which exports of packed weights
// fill with up to 3 MB of names, and which changes no count. The text itself where it has no such
// object.
std::string WithoutQuantization(absl::string_view json);

// `json` with 1e308 in the place of each Infinity that stands as a value: Python writes that word,
// which JSON does not know.
std::string WithFiniteNumbers(absl::string_view json);

}  // namespace sextant::words

#endif  // SEXTANT_PROTO_WORDS_CONFIG_TEXT_H_
