// Names that a program's table of settings does not have: misspelled ones, and those of another
// program or release.
#ifndef SEXTANT_SERVER_LAUNCHER_UNKNOWN_SETTING_H_
#define SEXTANT_SERVER_LAUNCHER_UNKNOWN_SETTING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant::server {

struct Setting;

// The fate of a name that is not known.
enum class Unknown {
  kRefused,          // as the program's own parser does
  kRefusedNearName,  // the program takes any name: one that is nearly a known one is misspelled
  kOpen,             // names are anybody's
};

// The same, with the table of a program whose names it takes besides its own.
struct UnknownNames {
  UnknownNames(Unknown what, absl::Span<const Setting> others = {}) : fate(what), also(others) {}

  Unknown fate;
  absl::Span<const Setting> also;
};

// True for "lr" of a row "lr", and for "logging.steps" of a row "logging.". "_" of an argument is
// "-".
bool IsNameOfRow(absl::string_view setting, const Setting& row);

// Refuses those of `names` that are not known, with the nearest names that are. A name that only
// the start of a row stands for is unknown too where it is nearly another's.
//
// Errors: kInvalidArgument: "--tensor-model-paralel-size: not known: write
// --tensor-model-parallel-size, or leave it out".
absl::Status RefuseUnknown(const std::vector<std::string>& names, absl::Span<const Setting> table,
                           const UnknownNames& unknown);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_UNKNOWN_SETTING_H_
