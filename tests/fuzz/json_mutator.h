// Changes proto JSON so that it stays a message.
#ifndef SEXTANT_TESTS_FUZZ_JSON_MUTATOR_H_
#define SEXTANT_TESTS_FUZZ_JSON_MUTATOR_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace sextant {

enum class JsonText {
  kOneMessage,       // the whole text
  kAMessagePerLine,  // as a probe writes
};

// LLVMFuzzerCustomMutator() of a text whose messages are of the kind of `prototype`: three in four
// times it changes fields of one message, otherwise bytes, or the text's lines.
size_t MutateJson(const google::protobuf::Message& prototype, JsonText text, uint8_t* data,
                  size_t size, size_t max_size, unsigned int seed);

}  // namespace sextant

#endif  // SEXTANT_TESTS_FUZZ_JSON_MUTATOR_H_
