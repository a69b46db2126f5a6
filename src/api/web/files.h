// The files the page is made of, as they were when berthd was built.
#ifndef BERTH_API_WEB_FILES_H_
#define BERTH_API_WEB_FILES_H_

#include <span>
#include <string_view>

namespace berth::web {

struct PageFile {
  std::string_view name;
  std::string_view text;
};
/// Those of src/api/web/page, by name.
std::span<const PageFile> PageFiles();

/// The media type of a file, by its name.
std::string_view TypeOf(std::string_view name);

}  // namespace berth::web

#endif  // BERTH_API_WEB_FILES_H_
