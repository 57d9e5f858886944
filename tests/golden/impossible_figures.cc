// Reads answers from standard input, and prints a line for each impossible figure (see
// tests/support/possible_figures.h), after the answer's number, from 0. Of each answer it reads a
// line "FULL_NAME BYTES", and its bytes as they are on the wire.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <iostream>
#include <memory>
#include <string>

#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/support/possible_figures.h"

namespace sextant {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MessageFactory;

int Run() {
  // Linked only where something refers to them.
  v1::ListDataTypesResponse::descriptor();
  v1::ListAcceleratorsResponse::descriptor();
  v1::PlanRunResponse::descriptor();
  std::string type;
  size_t size = 0;
  for (int number = 0; std::cin >> type >> size; ++number) {
    const auto* const found = DescriptorPool::generated_pool()->FindMessageTypeByName(type);
    std::string bytes(size, '\0');
    std::cin.get();
    std::cin.read(bytes.data(), static_cast<std::streamsize>(size));
    if (found == nullptr || !std::cin) return 2;
    const std::unique_ptr<Message> answer(
        MessageFactory::generated_factory()->GetPrototype(found)->New());
    if (!answer->ParseFromString(bytes)) return 2;
    for (const std::string& line : ImpossibleFigures(*answer)) {
      std::cout << number << " " << line << "\n";
    }
  }
  return std::cin.eof() ? 0 : 2;
}

}  // namespace
}  // namespace sextant

int main() { return sextant::Run(); }
