// Python configurations, written: calls of classes, and assignments.
#ifndef SEXTANT_SERVER_LAUNCHER_PYTHON_FILE_H_
#define SEXTANT_SERVER_LAUNCHER_PYTHON_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {

// A value as Python writes it: true is True. A text that is to stand as it is, "torch.float32",
// starts with kPythonName.
inline constexpr char kPythonName[] = "\x01";
std::string PythonText(const SettingList::Value& value);

// "Training(steps=10, seq_len=4096)"; over several lines below `indent` columns where it is long.
std::string PythonCall(absl::string_view callee, const SettingList::Value& arguments, int indent);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_PYTHON_FILE_H_
