// A library that is loaded when it is first needed, and not with the program.
#ifndef BERTH_HOST_OS_SHARED_LIBRARY_H_
#define BERTH_HOST_OS_SHARED_LIBRARY_H_

#include <initializer_list>
#include <optional>

namespace berth::os {

/// Stays for as long as the program runs. Thread: any.
class SharedLibrary {
 public:
  /// The first of these files (dlopen(3)) that is installed; nullopt: none is.
  static std::optional<SharedLibrary> Load(std::initializer_list<const char*> names);

  /// Puts the function of that name into `out`; false: the library has none.
  template <class Function>
  bool Find(const char* name, Function*& out) const {
    out = reinterpret_cast<Function*>(Symbol(name));
    return out != nullptr;
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* Symbol(const char* name) const;

  void* handle_;
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_SHARED_LIBRARY_H_
