// Changes messages so that they stay messages: bytes that are changed at random seldom parse.
#ifndef SEXTANT_TESTS_FUZZ_MESSAGE_MUTATOR_H_
#define SEXTANT_TESTS_FUZZ_MESSAGE_MUTATOR_H_

#include <google/protobuf/message.h>

#include <random>

namespace sextant {

using FuzzRandom = std::minstd_rand;

// Changes one field of `message`, or of a message within it: sets it to a value at random, an
// extreme or a near one, adds or removes an element, or clears it. Texts stay ASCII.
void MutateMessage(google::protobuf::Message& message, FuzzRandom& random);

}  // namespace sextant

#endif  // SEXTANT_TESTS_FUZZ_MESSAGE_MUTATOR_H_
