#include "http/curl_library.h"

#include <dlfcn.h>

#include <optional>

namespace berth::http {
namespace {

template <class Function>
bool Find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

std::optional<CurlLibrary> Load() {
  void* library = nullptr;
  for (const char* name : {"libcurl-gnutls.so.4", "libcurl.so.4"})
    if (library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr) break;
  if (library == nullptr) return std::nullopt;
  CurlLibrary curl;
  const bool all =
      Find(library, "curl_easy_init", curl.easy_init) && Find(library, "curl_easy_setopt", curl.easy_setopt) &&
      Find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
      Find(library, "curl_easy_strerror", curl.easy_strerror) &&
      Find(library, "curl_easy_cleanup", curl.easy_cleanup) && Find(library, "curl_multi_init", curl.multi_init) &&
      Find(library, "curl_multi_add_handle", curl.multi_add_handle) &&
      Find(library, "curl_multi_perform", curl.multi_perform) && Find(library, "curl_multi_poll", curl.multi_poll) &&
      Find(library, "curl_multi_wakeup", curl.multi_wakeup) &&
      Find(library, "curl_multi_info_read", curl.multi_info_read) &&
      Find(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
      Find(library, "curl_multi_cleanup", curl.multi_cleanup) &&
      Find(library, "curl_slist_append", curl.slist_append) &&
      Find(library, "curl_slist_free_all", curl.slist_free_all);
  if (!all) return std::nullopt;
  return curl;
}

}  // namespace

const CurlLibrary* FindCurl() {
  static const std::optional<CurlLibrary> curl = Load();
  return curl ? &*curl : nullptr;
}

}  // namespace berth::http
