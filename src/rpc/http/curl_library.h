// libcurl, loaded with the first request and not with the program.
//
// It brings some twenty other libraries: 1 MiB resident in a berthd that never asks anybody, which is nearly every one.
#ifndef BERTH_RPC_HTTP_CURL_LIBRARY_H_
#define BERTH_RPC_HTTP_CURL_LIBRARY_H_

#include <curl/curl.h>

namespace berth::http {

/// The functions used, by their names without "curl_".
struct CurlLibrary {
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&::curl_multi_perform) multi_perform = nullptr;
  decltype(&::curl_multi_poll) multi_poll = nullptr;
  decltype(&::curl_multi_wakeup) multi_wakeup = nullptr;
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
};

/// The library, which stays for as long as the program runs; nullptr: it is not installed, or too old.
/// Thread: any.
const CurlLibrary* FindCurl();

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_CURL_LIBRARY_H_
