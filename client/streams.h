// What a command touches beside the server. A struct, so that tests can give it strings and
// a clock of their own.
#ifndef SEXTANT_CLIENT_STREAMS_H_
#define SEXTANT_CLIENT_STREAMS_H_

#include <functional>
#include <istream>
#include <ostream>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sextant {

struct Streams {
  std::istream& in;                             // what "--request=-" reads
  std::ostream& out;                            // answers
  std::ostream& err;                            // errors and progress
  int err_columns = 0;                          // of the terminal behind err; 0: it is none
  std::function<absl::Time()> now = absl::Now;  // for the ages of measurements
};

}  // namespace sextant

#endif  // SEXTANT_CLIENT_STREAMS_H_
