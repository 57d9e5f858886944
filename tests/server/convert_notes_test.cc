#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/convert/notes.h"
#include "tests/server/message_matchers.h"
#include "tests/server/wire_notes.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NoteTo, KeepsAllOfANote) {
  v1::Note wire;
  NoteTo({.kind = NoteKind::kDeviceCapacity,
          .text = "cluster.x is 5.",
          .values = {{"capacity_bytes", 5}, {"other_bytes", 0.5}},
          .fields = {"cluster.x", "cluster.y"}},
         &wire);
  EXPECT_THAT(wire, EqualsText(R"(
      kind: NOTE_KIND_DEVICE_CAPACITY subject: NOTE_SUBJECT_MEMORY text: "cluster.x is 5."
      fields: ["cluster.x", "cluster.y"]
      values { name: "capacity_bytes" value: 5 } values { name: "other_bytes" value: 0.5 })"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

// The first kind of each subject.
TEST(NoteTo, SaysTheSubject) {
  const auto subject = [](NoteKind kind) {
    v1::Note wire;
    NoteTo({kind, ""}, &wire);
    return wire.subject();
  };
  EXPECT_EQ(subject(NoteKind::kFlopsConvention), v1::NOTE_SUBJECT_ARITHMETIC);
  EXPECT_EQ(subject(NoteKind::kSharedEvenly), v1::NOTE_SUBJECT_MEMORY);
  EXPECT_EQ(subject(NoteKind::kPeak), v1::NOTE_SUBJECT_TIME);
  EXPECT_EQ(subject(NoteKind::kPriceMissing), v1::NOTE_SUBJECT_ECONOMICS);
}

TEST(NotesTo, PartsWarningsFromAssumptions) {
  const Notes notes = {
      {NoteKind::kPeak, "a"}, {NoteKind::kPeakUnknown, "b"}, {NoteKind::kLinksIdle, "c"}};
  NoteList warnings;
  NoteList assumptions;
  NotesTo(notes, &warnings, &assumptions);
  EXPECT_THAT(warnings, ElementsAre(IsWireNote(v1::NOTE_KIND_PEAK_UNKNOWN, "b")));
  EXPECT_THAT(assumptions, ElementsAre(IsWireNote(v1::NOTE_KIND_PEAK, "a"),
                                       IsWireNote(v1::NOTE_KIND_LINKS_IDLE, "c")));
  NoteList alone;
  NotesTo(notes, &alone, nullptr);
  EXPECT_THAT(alone, ElementsAre(IsWireNote(v1::NOTE_KIND_PEAK_UNKNOWN, "b")));
}

TEST(SourceNumbers, SendEachSourceOnceAndNumberThemFromOne) {
  SourceNumbers::List list;
  SourceNumbers sources(&list);
  EXPECT_EQ(sources.Of("a sheet"), 1);
  EXPECT_EQ(sources.Of("a table"), 2);
  EXPECT_EQ(sources.Of("a sheet"), 1);
  EXPECT_EQ(sources.Of(""), 0);
  EXPECT_THAT(list, ElementsAre("a sheet", "a table"));
}

TEST(SourceNumbers, AreZeroWhereAnAnswerHasNoSources) {
  SourceNumbers sources(nullptr);
  EXPECT_EQ(sources.Of("a sheet"), 0);
  EXPECT_EQ(sources.Of("another"), 0);
}

}  // namespace
}  // namespace sextant::server
