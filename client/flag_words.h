// The words of a command line for fields of its request, which the server's errors and assumptions
// name.
#ifndef SEXTANT_CLIENT_FLAG_WORDS_H_
#define SEXTANT_CLIENT_FLAG_WORDS_H_

#include <string>

#include "absl/types/span.h"
#include "client/field_flag.h"

namespace sextant {

// The flag of a field, or of one below it: "--sequence, entry 2 (length)", "--tp"; what a file
// holds has the file's own names: "--architecture: hidden_size". The field itself where no flag
// sets it.
std::string FieldWordsOf(absl::Span<const FieldFlag> flags, const std::string& field);

// `text` with flags in place of the fields that it names, by their paths or last names.
std::string DescriptionWordsOf(absl::Span<const FieldFlag> flags, const std::string& text);

// The same with the flags of `sextant plan` and `sextant memory`.
std::string PlanFieldWords(const std::string& field);
std::string PlanDescriptionWords(const std::string& text);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_FLAG_WORDS_H_
