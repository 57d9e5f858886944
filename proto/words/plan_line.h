// A plan in one line, for programs that have room for no more: hooks of schedulers, job logs.
#ifndef SEXTANT_PROTO_WORDS_PLAN_LINE_H_
#define SEXTANT_PROTO_WORDS_PLAN_LINE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::words {

// The most characters of a line here: enough for a verdict, little enough for a scheduler's log.
inline constexpr size_t kMaxLineLength = 400;

// `text` as one line of at most kMaxLineLength printable ASCII characters: '?' for every other
// byte, blanks for line ends and tabs, and "..." where it is cut.
std::string OneLineOf(absl::string_view text);

struct LineFacts {
  int64_t devices_per_node = 0;   // 0: not known
  absl::string_view misses = "";  // "DEADLINE MISSED BY 3 days"
};

// "FITS: llama-3.1-8b, 16 x h100-sxm: 2 nodes x 8; 61.20 GiB (58.90 to 64.03) of 79.00 GiB usable;
// 19.70 days predicted", as OneLineOf() has it.
std::string PlanLine(const v1::Plan& plan, const LineFacts& facts);

// " at published rates, not the fleet's": what stands in for rates of the fleet's devices that were
// not read; " at the fleet's rates of 340 s ago". "" where they were.
std::string FleetFallbackWords(const v1::Plan& plan);

// "--zero=optimizer (now none) and --tp=8 (now 4)".
std::string ChangeWords(const v1::FittingChange& change);

// "--attention=flash assumed; unfused: 96.22 GiB (93.03 to 104.42), another verdict": choices that
// the request leaves open, if they change the verdict or a twentieth of the peak. "" without such.
std::string OpenChoicesWords(const v1::Plan& plan);

// "--zero=optimizer (now none): 52.77 GiB": the cheapest change that makes the run fit, and the
// peak after it; "" where it fits, or none does.
std::string CheapestChange(const v1::Plan& plan);

}  // namespace sextant::words

#endif  // SEXTANT_PROTO_WORDS_PLAN_LINE_H_
