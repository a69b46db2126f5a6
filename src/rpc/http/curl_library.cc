#include "rpc/http/curl_library.h"

#include <optional>

#include "host/os/shared_library.h"

namespace berth::http {
namespace {

std::optional<CurlLibrary> Load() {
  const auto library = os::SharedLibrary::Load({"libcurl-gnutls.so.4", "libcurl.so.4"});
  if (!library) return std::nullopt;
  CurlLibrary curl;
  const bool all =
      library->Find("curl_easy_init", curl.easy_init) && library->Find("curl_easy_setopt", curl.easy_setopt) &&
      library->Find("curl_easy_getinfo", curl.easy_getinfo) &&
      library->Find("curl_easy_strerror", curl.easy_strerror) &&
      library->Find("curl_easy_cleanup", curl.easy_cleanup) && library->Find("curl_multi_init", curl.multi_init) &&
      library->Find("curl_multi_add_handle", curl.multi_add_handle) &&
      library->Find("curl_multi_perform", curl.multi_perform) && library->Find("curl_multi_poll", curl.multi_poll) &&
      library->Find("curl_multi_wakeup", curl.multi_wakeup) &&
      library->Find("curl_multi_info_read", curl.multi_info_read) &&
      library->Find("curl_multi_remove_handle", curl.multi_remove_handle) &&
      library->Find("curl_multi_cleanup", curl.multi_cleanup) &&
      library->Find("curl_slist_append", curl.slist_append) &&
      library->Find("curl_slist_free_all", curl.slist_free_all);
  if (!all) return std::nullopt;
  return curl;
}

}  // namespace

const CurlLibrary* FindCurl() {
  static const std::optional<CurlLibrary> curl = Load();
  return curl ? &*curl : nullptr;
}

}  // namespace berth::http
