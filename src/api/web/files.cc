#include "api/web/files.h"

namespace berth::web {
namespace {

constexpr PageFile kFiles[] = {
#include "page_files.inc"
};

}  // namespace

std::span<const PageFile> PageFiles() { return kFiles; }

std::string_view TypeOf(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/plain; charset=utf-8";
}

}  // namespace berth::web
