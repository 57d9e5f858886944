// The path of the source tree, for tests that read its files.
#ifndef SEXTANT_TESTS_SUPPORT_SOURCE_FOLDER_H_
#define SEXTANT_TESTS_SUPPORT_SOURCE_FOLDER_H_

#include <string>

namespace sextant {

// Without a trailing slash.
std::string SourceFolder();

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_SOURCE_FOLDER_H_
