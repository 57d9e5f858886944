// Lines out of bytes that arrive in pieces.
#ifndef SEXTANT_SERVER_LINE_BUFFER_H_
#define SEXTANT_SERVER_LINE_BUFFER_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sextant {

class LineBuffer {
 public:
  void Add(absl::string_view bytes) { bytes_.append(bytes.data(), bytes.size()); }

  // The next whole line, without its end ("\n" or "\r\n"); absent: there is none yet.
  absl::optional<std::string> Next();

  // What is left once Next() has nothing: the start of a line that has not ended.
  absl::string_view rest() const { return absl::string_view(bytes_).substr(start_); }

 private:
  std::string bytes_;
  size_t start_ = 0;     // of the line that comes next
  size_t searched_ = 0;  // no line end in [start_, searched_)
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_LINE_BUFFER_H_
