// Huge pages of this host for a test that needs some.
#ifndef BERTH_TESTS_INTEGRATION_MORE_HUGE_PAGES_H_
#define BERTH_TESTS_INTEGRATION_MORE_HUGE_PAGES_H_

#include <fstream>
#include <string>

namespace berth::testkit {

/// Two huge pages of 2 MiB more than there were, as long as it lives.
class MoreHugePages {
 public:
  MoreHugePages() : before_(Count("nr")) {
    Set(before_ + 2);
    if (there()) return;
    std::ofstream("/proc/sys/vm/compact_memory") << 1;  // memory may be in pieces
    Set(before_ + 2);
  }
  ~MoreHugePages() { Set(before_); }
  MoreHugePages(const MoreHugePages&) = delete;
  MoreHugePages& operator=(const MoreHugePages&) = delete;

  bool there() const { return Count("nr") == before_ + 2; }
  static int Free() { return Count("free"); }
  static constexpr const char* kWhyNot =
      "this kernel gives no two huge pages of 2 MiB more (nr_hugepages): not this machine's to change, or memory in "
      "pieces";

 private:
  static std::string File(const char* what) {
    return std::string("/sys/kernel/mm/hugepages/hugepages-2048kB/") + what + "_hugepages";
  }
  static int Count(const char* what) {
    int out = 0;
    std::ifstream(File(what)) >> out;
    return out;
  }
  static void Set(int pages) { std::ofstream(File("nr")) << pages; }
  int before_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_MORE_HUGE_PAGES_H_
