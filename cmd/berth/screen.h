// A terminal as a screen: keys one by one, the whole page drawn anew, and everything as it was afterwards.
#ifndef BERTH_CMD_BERTH_SCREEN_H_
#define BERTH_CMD_BERTH_SCREEN_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::cli {

/// A key: a character as it is, or one of these.
enum Key : int { kKeyUp = 0x1000, kKeyDown, kKeyPageUp, kKeyPageDown, kKeyHome, kKeyEnd, kKeyEscape };

/// What was typed, of what a terminal sends. An escape at the end of `bytes` is the key. Unknown sequences are left
/// out.
std::vector<int> KeysOf(std::string_view bytes);

/// From its making to its end the terminal of standard output shows another page than before, without a cursor, and
/// standard input (if it is a terminal) gives keys unechoed. All of that is taken back at the end, and before this
/// program ends or stops by a signal: INT, TERM, HUP and QUIT end Wait, TSTP stops and goes on in it, and those of
/// crashes take it back by themselves.
///
/// Thread: one; one at a time in a process. Other threads must not take signals.
class Screen {
 public:
  /// Errors: as tcgetattr(3) and signalfd(2).
  static Result<std::unique_ptr<Screen>> Open();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  struct Size {
    int width = 80;
    int height = 24;
  };
  Size size() const;
  /// Draws these lines from the top and clears the rest. Requires: no more than the screen has, none wider.
  void Draw(const std::vector<std::string>& lines);

  struct News {
    std::vector<int> keys;
    bool redraw = false;  ///< the size is another, or somebody else has drawn meanwhile
    int ended_by = 0;     ///< a signal
    bool closed = false;  ///< nobody is there any more
  };
  /// Waits for keys, a change or a signal, at most so long.
  News Wait(os::Millis most);

 private:
  explicit Screen(os::UniqueFd signals) : signals_(std::move(signals)) {}
  void Enter();
  void Leave();
  void TakeSignal(News& news);
  void TakeKeys(News& news);
  void StopForNow();

  os::UniqueFd signals_;
  bool has_keys_ = false;
};

/// Ends this process as the signal would have.
[[noreturn]] void EndBySignal(int signal);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_SCREEN_H_
