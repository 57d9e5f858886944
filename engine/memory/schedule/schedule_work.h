// What a stage of a pipeline does with one micro-batch on one chunk of layers at a time.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_SCHEDULE_WORK_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_SCHEDULE_WORK_H_

namespace sextant {

enum class ScheduleWork {
  kForward,
  kBackward,        // the whole of it
  kInputGradient,   // its first half where it is split: B of arXiv 2401.10241, section 2
  kWeightGradient,  // its second half, W: only the optimizer waits for it
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_SCHEDULE_WORK_H_
