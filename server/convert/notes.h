// Notes and sources between the engine and the wire.
#ifndef SEXTANT_SERVER_CONVERT_NOTES_H_
#define SEXTANT_SERVER_CONVERT_NOTES_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/note.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "sextant/v1/note.pb.h"

namespace sextant::server {

using NoteList = google::protobuf::RepeatedPtrField<v1::Note>;
using NoteValueList = google::protobuf::RepeatedPtrField<v1::NoteValue>;

void NoteValuesTo(absl::Span<const NoteValue> values, NoteValueList* out);

void NoteTo(Note note, v1::Note* out);

// Adds each note to the list that it belongs to. A null list takes none.
void NotesTo(Notes notes, NoteList* warnings, NoteList* assumptions);

// Sends each source of an answer once: hands out its number, from 1.
class SourceNumbers {
 public:
  using List = google::protobuf::RepeatedPtrField<std::string>;

  // `list` outlives this. Null: the answer has no sources, and every number is 0.
  explicit SourceNumbers(List* list) : list_(list) {}

  // 0 for an empty source.
  int32_t Of(absl::string_view source);

 private:
  List* list_;
  absl::flat_hash_map<std::string, int32_t> numbers_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_NOTES_H_
