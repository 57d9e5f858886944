// The flags of `sextant count` that set one field of its request each.
#ifndef SEXTANT_CLIENT_COUNT_FLAGS_H_
#define SEXTANT_CLIENT_COUNT_FLAGS_H_

#include <string>
#include <vector>

#include "client/field_flag.h"

namespace sextant {

inline constexpr char kStepGroup[] = "Training step";
inline constexpr char kLayoutGroup[] = "GPUs";

// All of them, in the order of --help; those that change the model are the plan's own.
std::vector<FieldFlag> CountFlags();

// The words of the command line for a field of the request: "--sequence, entry 2 (length)",
// "--tp", "MODEL"; the field itself where there are none.
std::string CountFieldWords(const std::string& field);

// What the server says of a field, with flags in place of the fields that it names.
std::string CountDescriptionWords(const std::string& text);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_COUNT_FLAGS_H_
