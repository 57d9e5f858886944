#include "server/convert/notes.h"

#include <utility>

#include "server/convert/enum_pair.h"

namespace sextant::server {

void NoteValuesTo(absl::Span<const NoteValue> values, NoteValueList* out) {
  for (const NoteValue& value : values) {
    v1::NoteValue* const wire = out->Add();
    wire->set_name(std::string(value.name));
    wire->set_value(value.value);
  }
}

void NoteTo(Note note, v1::Note* out) {
  constexpr auto kLastKind = static_cast<NoteKind>(kNoteKindCount - 1);
  out->set_kind(OneLater<kLastKind, v1::NoteKind_MAX>::To(note.kind));
  out->set_subject(
      OneLater<NoteSubject::kEconomics, v1::NoteSubject_MAX>::To(SubjectOf(note.kind)));
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
