// Poll interval of the container list of a CRI runtime, with back-off. Pure: time comes in as an argument.
#ifndef BERTH_RUNTIME_CRI_LOOK_PACE_H_
#define BERTH_RUNTIME_CRI_LOOK_PACE_H_

#include "host/os/clock.h"

namespace berth::cri {

/// Not thread-safe.
class LookPace {
 public:
  /// `usual`: between two looks while nothing goes on.
  explicit LookPace(os::Millis usual) : usual_(usual) {}

  /// Something is about to change: looks come more often for a while.
  void Expect(os::MonoTime now);
  /// Something has changed: one look at once, but a crowd of such words makes no crowd of looks.
  void Hear() { heard_ = true; }
  /// Of a look: something that has to come by itself was not there yet (the end of a log). The next looks come soon,
  /// with pauses that grow while each says so. `anew`: another one than in the looks before, and the pauses begin small
  /// again.
  void Await(bool anew) {
    awaited_ = true;
    if (anew) awaiting_ = 0;
  }
  /// A look begins: what is heard from here on asks for another one.
  void Begin() { heard_ = awaited_ = false; }
  void Answered(os::MonoTime now);
  /// The runtime did not answer: the pauses grow, and nothing shortens them. `refused`: nobody is there who could be
  /// disturbed, and the pauses stay short.
  void Failed(os::MonoTime now, bool refused = false);

  os::MonoTime next() const;
  bool failing() const { return failures_ > 0; }

 private:
  os::Millis usual_;
  os::MonoTime last_{};  // end of the last look
  os::MonoTime busy_until_{};
  int failures_ = 0;      // in a row
  bool refused_ = false;  // the last one
  bool heard_ = false;
  bool awaited_ = false;  // in this look
  int awaiting_ = 0;      // looks in a row
};

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_LOOK_PACE_H_
