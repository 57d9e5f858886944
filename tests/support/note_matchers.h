// Matchers of notes.
#ifndef SEXTANT_TESTS_SUPPORT_NOTE_MATCHERS_H_
#define SEXTANT_TESTS_SUPPORT_NOTE_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "engine/base/note.h"

namespace sextant {

// A note of that kind whose text matches.
inline ::testing::Matcher<const Note&> IsNote(NoteKind kind,
                                              const ::testing::Matcher<std::string>& text) {
  return ::testing::AllOf(::testing::Field("kind", &Note::kind, kind),
                          ::testing::Field("text", &Note::text, text));
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_NOTE_MATCHERS_H_
