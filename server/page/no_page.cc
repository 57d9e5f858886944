#include "server/page/page_files.h"

namespace sextant::server {

absl::optional<PageFile> PageFileOf(absl::string_view) { return absl::nullopt; }

}  // namespace sextant::server
