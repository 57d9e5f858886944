// Where the tree of sources is, for tests that read its files.
#ifndef SEXTANT_TESTS_SUPPORT_SOURCE_FOLDER_H_
#define SEXTANT_TESTS_SUPPORT_SOURCE_FOLDER_H_

#include <string>

namespace sextant {

// Without a slash at its end.
std::string SourceFolder();

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_SOURCE_FOLDER_H_
