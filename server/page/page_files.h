// The page that people plan on: its files, which are part of the program.
#ifndef SEXTANT_SERVER_PAGE_PAGE_FILES_H_
#define SEXTANT_SERVER_PAGE_PAGE_FILES_H_

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sextant::server {

struct PageFile {
  absl::string_view content_type;
  absl::string_view gzip;  // a gzip file of ours
};

// The file of that path: "/" is the page; the others have a hash of their content in their name.
// Absent where there is none; none at all where sextantd was built without a page (SEXTANT_PAGE).
absl::optional<PageFile> PageFileOf(absl::string_view path);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PAGE_PAGE_FILES_H_
