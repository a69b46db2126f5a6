#include "host/os/shared_library.h"

#include <dlfcn.h>

namespace berth::os {

std::optional<SharedLibrary> SharedLibrary::Load(std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL); handle != nullptr) return SharedLibrary(handle);
  return std::nullopt;
}

void* SharedLibrary::Symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace berth::os
