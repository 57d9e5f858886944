// Prints the table of files that a run is read from as CSV: how many settings of each kind are
// read, are known without being modelled, and change nothing. "logging_", for all that start so,
// is one.
#include <iostream>
#include <set>

#include "absl/strings/string_view.h"
#include "server/launcher/file_format.h"

namespace {

using sextant::server::Setting;

struct Counts {
  std::set<absl::string_view> read = {};
  std::set<absl::string_view> not_modelled = {};
  std::set<absl::string_view> without_meaning = {};
};

Counts CountsOf(absl::Span<const Setting> table) {
  Counts out;
  for (const Setting& setting : table) {
    if (*setting.name == '\0') continue;
    const bool known = setting.lowers || setting.read == sextant::server::ReadUnmodelled ||
                       setting.read == sextant::server::ReadLoweringIfOn;
    auto& names = setting.passes ? out.without_meaning : known ? out.not_modelled : out.read;
    for (const absl::string_view name : NamesOf(setting)) names.insert(name);
  }
  // A setting whose other values are not modelled has a row for them too.
  for (const absl::string_view name : out.read) out.not_modelled.erase(name);
  return out;
}

}  // namespace

int main() {
  std::cout << "format,read,not_modelled,without_meaning,instead\n";
  for (const auto& format : sextant::server::FileFormats()) {
    const Counts counts = format.settings == nullptr ? Counts() : CountsOf(format.settings());
    std::cout << format.name << ',' << counts.read.size() << ',' << counts.not_modelled.size()
              << ',' << counts.without_meaning.size() << ",\"" << format.instead << "\"\n";
  }
  return 0;
}
