// Prints the table of files that a run is read from as CSV: of each kind how many of its settings
// are read, may lower the memory without being modelled, and change nothing.
#include <iostream>

#include "server/launcher/file_format.h"

int main() {
  using sextant::server::FileFormat;
  using sextant::server::Setting;
  std::cout << "format,read,lowering,without_meaning,instead\n";
  for (const FileFormat& format : sextant::server::FileFormats()) {
    int read = 0;
    int lowering = 0;
    int passed = 0;
    if (format.settings != nullptr) {
      for (const Setting& setting : format.settings()) {
        lowering += setting.lowers ? 1 : 0;
        passed += setting.passes ? 1 : 0;
        read += !setting.lowers && !setting.passes && *setting.name != '\0' ? 1 : 0;
      }
    }
    std::cout << format.name << ',' << read << ',' << lowering << ',' << passed << ",\""
              << format.instead << "\"\n";
  }
  return 0;
}
