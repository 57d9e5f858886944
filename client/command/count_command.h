// `sextant count`: counts a model's parameters and FLOPs, whole or by GPU.
#ifndef SEXTANT_CLIENT_COMMAND_COUNT_COMMAND_H_
#define SEXTANT_CLIENT_COMMAND_COUNT_COMMAND_H_

#include <google/protobuf/field_mask.pb.h>
#include <grpcpp/support/status.h>

#include <istream>
#include <string>
#include <vector>

#include "client/flags/field_flag.h"
#include "client/report/count_text.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant::client {

// One `sextant count` command line.
struct CountCommand {
  std::string request_file = {};       // "-" for standard input, "" for none
  std::string model = {};              // a preset's name or a config.json; "" for none
  std::string architecture_file = {};  // "-" for standard input, "" for none; as those below
  std::string transformer_file = {};
  std::string config_file = {};
  v1::CountModelRequest request = {};      // what all other flags say
  google::protobuf::FieldMask given = {};  // the fields that they set
  CountSections sections = {};
};

// The flags that set one field of the request each, in the order of --help. Those of the model are
// `sextant plan`'s.
std::vector<FieldFlag> CountFlags();

// Adds all flags to `command`; they fill `*count`.
void AddCountFlags(CountCommand* count, CLI::App* command);

// Fills `*request` from the file of --request, or `in` for "-", and then from the other flags; a
// model that they give replaces the file's.
//
// Errors: those of ReadConfig() and ReadMessage().
grpc::Status BuildCountRequest(const CountCommand& command, std::istream& in,
                               v1::CountModelRequest* request);

// The command line's words for a field of the request: "--sequence, entry 2 (length)", "--tp",
// "MODEL"; the field itself where there are none.
std::string CountFieldWords(const std::string& field);

// The server's description of a field, with flags in place of the fields that it names.
std::string CountDescriptionWords(const std::string& text);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_COUNT_COMMAND_H_
