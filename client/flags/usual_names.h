// Names of flags: those that people bring along from launchers and schedulers, those that they
// typed, and the flags that they may have meant by a name that no flag has.
#ifndef SEXTANT_CLIENT_FLAGS_USUAL_NAMES_H_
#define SEXTANT_CLIENT_FLAGS_USUAL_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace sextant::client {

// `args` with Sextant's names for those of launchers, such as --seq-length, where the command that
// they name has the former and not the latter.
std::vector<std::string> WithOwnNames(std::vector<std::string> args, const CLI::App& app);

// The name by which a command line gives a flag, by every other name of the flag: "--devices" is
// "--gpus" where that was written, and "--preset" is "MODEL" where only its value was.
using TypedNames = std::map<std::string, std::string, std::less<>>;

// Those of `args`, which `app` has read or has refused.
TypedNames TypedNamesOf(const std::vector<std::string>& args, const CLI::App& app);

// `text` with the flags that it names under the names that were typed.
std::string WithTypedNames(absl::string_view text, const TypedNames& typed);

// Up to three of `names` that are nearest to `given`: those that start with it, or that it starts
// with; else those of which at most a third has to change. The nearest first.
std::vector<std::string> NearestNames(absl::string_view given,
                                      const std::vector<std::string>& names);

// The flags of `command` and of the program, "--tp".
std::vector<std::string> FlagsOf(const CLI::App& command);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_USUAL_NAMES_H_
