// The basis of an answer, for people: rates with their sources, notes, and fields of a
// config.json that were not read. Sections start with an empty line and their title, and are ""
// where there is nothing to show.
#ifndef SEXTANT_CLIENT_REPORT_RATES_TEXT_H_
#define SEXTANT_CLIENT_REPORT_RATES_TEXT_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/text/sources.h"
#include "sextant/v1/note.pb.h"
#include "sextant/v1/rates.pb.h"

namespace sextant::client {

// Each rate with its source; below a measured one its spread, its device, and its age at `now`.
std::string RatesText(const google::protobuf::RepeatedPtrField<v1::RateUsed>& rates,
                      const SourceList& sources, absl::Time now);

// The user's words for a field of a request, e.g. its flag.
using FieldWords = absl::FunctionRef<std::string(const std::string& field)>;

// "  [2] a table": a line of a list of sources; "" of one that is not in `sources`.
std::string NumberedSource(int32_t number, const SourceList& sources);

// A note, the fields that it names, and others whose paths it has, in the user's words: "--zero",
// and "--zero=2" for "... = 2".
std::string NoteText(const v1::Note& note, FieldWords words);

// Notes below `title`, the fields that they name in the user's words.
std::string NotesText(absl::string_view title,
                      const google::protobuf::RepeatedPtrField<v1::Note>& notes, FieldWords words);

// The fields of a config.json that were not read.
std::string IgnoredFieldsSection(const google::protobuf::RepeatedPtrField<std::string>& fields);

// "not read: X; ..." of a config.json's fields that may stand for parameters; "" without any.
std::string UnreadFieldsWords(const google::protobuf::RepeatedPtrField<std::string>& fields);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_RATES_TEXT_H_
