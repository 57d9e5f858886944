#include "engine/memory/transients/layer_backward.h"

namespace sextant {

void BackwardPeak::Begin(const BackwardMoment& moment) {
  End();
  begun_ = true;
  ++count_;
  moment_ = moment.index();
  made_ = 0;
  for (; seen_ < moment_; ++seen_) {
    again_ = again_ + steps_.again[seen_].value * -1;
    freed_ = freed_ + steps_.kept[seen_].value;
  }
}

void BackwardPeak::End() {
  if (!begun_ || list_ != nullptr) return;
  begun_ = false;
  const CheckedInt added = made_ + again_;
  const CheckedInt net = added + freed_ * -1;
  // What overflows is passed on, for the sum to say so.
  if (best_ != 0 && net.ok() && net.value() <= best_net_) return;
  best_ = count_;
  best_net_ = net.value();
  best_moment_ = moment_;
  best_added_ = added;
  best_freed_ = freed_;
}

}  // namespace sextant
