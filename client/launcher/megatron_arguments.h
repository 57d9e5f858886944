// Arguments of Megatron-LM's pretrain_gpt.py: those that this client reads and writes.
#ifndef SEXTANT_CLIENT_LAUNCHER_MEGATRON_ARGUMENTS_H_
#define SEXTANT_CLIENT_LAUNCHER_MEGATRON_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sextant::client {

// Arguments to write, in order.
class MegatronText {
 public:
  void Flag(const char* name) { lines_.emplace_back(name); }
  void Add(const char* name, const std::string& value);
  void Add(const char* name, int64_t value);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;  // "--num-layers 32"
};

// Arguments that were read.
class MegatronArguments {
 public:
  // Splits `text` as a shell does, quotes included, and parses it as argparse does: the last value
  // counts. Errors: kInvalidArgument, where a quote is open or a value is missing.
  static absl::StatusOr<MegatronArguments> Parse(const std::string& text);

  bool Has(const char* name) const { return values_.count(name) > 0; }

  // The value as a whole number of at least `least`. Absent where it was not given, and where it is
  // no such number, which status() then says.
  std::optional<int64_t> Count(const char* name, int64_t least = 1);
  std::optional<double> Number(const char* name);

  // The value as given; `absent` where it was not.
  std::string Text(const char* name, const char* absent = "") const;
  std::vector<std::string> Texts(const char* name) const;

  // Records that an argument, or one of its values, stands for nothing that is known.
  void Ignore(const std::string& argument) { ignored_.push_back(argument); }
  void Refuse(const char* name, const std::string& why);

  // Those of Ignore(), after the arguments that this client does not know.
  const std::vector<std::string>& ignored() const { return ignored_; }

  // INVALID_ARGUMENT naming every wrong argument.
  absl::Status status() const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> ignored_;
  std::vector<std::string> faults_;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_MEGATRON_ARGUMENTS_H_
