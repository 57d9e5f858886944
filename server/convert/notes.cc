#include "server/convert/notes.h"

#include <utility>

namespace sextant::server {

void NoteValuesTo(absl::Span<const NoteValue> values, NoteValueList* out) {
  for (const NoteValue& value : values) {
    v1::NoteValue* const wire = out->Add();
    wire->set_name(std::string(value.name));
    wire->set_value(value.value);
  }
}

void NoteTo(Note note, v1::Note* out) {
  static_assert(kNoteKindCount == v1::NOTE_KIND_SOFTWARE_PUBLISHED);
  static_assert(static_cast<int>(NoteSubject::kEconomics) + 1 == v1::NOTE_SUBJECT_ECONOMICS);
  out->set_kind(static_cast<v1::NoteKind>(static_cast<int>(note.kind) + 1));
  out->set_subject(static_cast<v1::NoteSubject>(static_cast<int>(SubjectOf(note.kind)) + 1));
  NoteValuesTo(note.values, out->mutable_values());
  for (std::string& field : note.fields) out->add_fields(std::move(field));
  out->set_text(std::move(note.text));
  for (std::string& name : note.names) out->add_names(std::move(name));
}

void NotesTo(Notes notes, NoteList* warnings, NoteList* assumptions) {
  for (Note& note : notes) {
    NoteList* const list = IsWarning(note.kind) ? warnings : assumptions;
    if (list != nullptr) NoteTo(std::move(note), list->Add());
  }
}

int32_t SourceNumbers::Of(absl::string_view source) {
  if (list_ == nullptr || source.empty()) return 0;
  const auto [entry, added] = numbers_.try_emplace(source, list_->size() + 1);
  if (added) list_->Add(std::string(source));
  return entry->second;
}

}  // namespace sextant::server
