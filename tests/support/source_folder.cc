#include "tests/support/source_folder.h"

namespace sextant {

std::string SourceFolder() { return SEXTANT_SOURCE_DIR; }

}  // namespace sextant
