// A calibration whose numbers are worked by hand, in messages of the services.
#ifndef SEXTANT_TESTS_CLIENT_SAMPLE_CALIBRATION_H_
#define SEXTANT_TESTS_CLIENT_SAMPLE_CALIBRATION_H_

#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "tests/proto/text/sample_calibration.h"

namespace sextant::client {

using text::SampleCalibration;

// As the server holds it, three hours later; fingerprint "c0ffee".
v1::GetCalibrationResponse SampleHeldCalibration();

// As the last message of the probe that measured it; in use.
v1::RunProbeResponse SampleProbeResult();

// Halfway through that probe.
v1::RunProbeResponse SampleProgress();

// Its device, and a GPU that was never measured.
v1::ListDevicesResponse SampleDevices();

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_SAMPLE_CALIBRATION_H_
