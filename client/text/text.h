// Imports the names of the text functions that all programs share: the client uses little else.
#ifndef SEXTANT_CLIENT_TEXT_TEXT_H_
#define SEXTANT_CLIENT_TEXT_TEXT_H_

#include "proto/text/calibration_text.h"
#include "proto/text/device_text.h"
#include "proto/text/enum_names.h"
#include "proto/text/format.h"
#include "proto/text/memory_words.h"
#include "proto/text/progress_line.h"
#include "proto/text/table.h"

namespace sextant::client {

// Reports.
using text::AddDeviceRows;
using text::AgeSeconds;
using text::AgeText;
using text::CalibrationText;
using text::DeviceTitle;
using text::InstantText;
using text::ProgressLine;

// Memory.
using text::CapacityText;
using text::GibNumber;
using text::GibOf;
using text::HeadroomText;
using text::HostNeedText;
using text::HostVerdictText;
using text::IntervalText;
using text::PeakText;
using text::UnmodelledText;
using text::VerdictWords;

// Tables and lines.
using text::Align;
using text::DisplayWidth;
using text::kNoValue;
using text::kTextWidth;
using text::OneLine;
using text::PrefixBytes;
using text::Printable;
using text::Table;
using text::TextWidth;
using text::Words;
using text::Wrap;

// Numbers.
using text::Duration;
using text::Energy;
using text::Gib;
using text::Grouped;
using text::Percent;
using text::Plain;
using text::Scaled;
using text::ScaledToFourDigits;
using text::ShortTime;
using text::TimeToThreeDigits;
using text::WithUnit;

// Names.
using text::DataTypeName;
using text::EnumName;
using text::EnumNames;
using text::EnumNumber;
using text::UnitOfWork;

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_TEXT_TEXT_H_
