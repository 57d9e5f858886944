// What the parsers of commands are made of.
#ifndef SEXTANT_CLIENT_COMMAND_PARTS_H_
#define SEXTANT_CLIENT_COMMAND_PARTS_H_

#include <functional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sextant {

// A CLI11 validator: says what is wrong with a text, "" where nothing is.
using Check = std::function<std::string(const std::string&)>;

// A new command of `app`, whose --help ends in `help`.
CLI::App* AddCommand(const char* name, const char* description, const char* help, CLI::App* app);

// Lets `option` take one of `choices`, "text|json", which are shown, and completed, from its
// type's name.
void AddChoices(CLI::Option* option, const std::string& choices);

// Refuses what can't be opened for reading; the second takes "-" too, standard input.
std::string CheckFile(const std::string& name);
std::string CheckFileOrInput(const std::string& name);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_COMMAND_PARTS_H_
