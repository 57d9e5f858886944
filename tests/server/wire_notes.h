// Matchers of an answer's notes, and its sources.
#ifndef SEXTANT_TESTS_SERVER_WIRE_NOTES_H_
#define SEXTANT_TESTS_SERVER_WIRE_NOTES_H_

#include <gmock/gmock.h>
#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>

#include "sextant/v1/note.pb.h"

namespace sextant::server {

// A note of that kind whose text matches.
inline ::testing::Matcher<const v1::Note&> IsWireNote(
    v1::NoteKind kind, const ::testing::Matcher<const std::string&>& text) {
  return ::testing::AllOf(::testing::Property("kind", &v1::Note::kind, kind),
                          ::testing::Property("text", &v1::Note::text, text));
}

// The source of that number in an answer; a failure where there is none.
inline std::string SourceAt(const google::protobuf::RepeatedPtrField<std::string>& sources,
                            int32_t number) {
  EXPECT_GE(number, 1);
  EXPECT_LE(number, sources.size());
  return number < 1 || number > sources.size() ? "" : sources.Get(number - 1);
}

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_WIRE_NOTES_H_
