#include "model/resources.h"

namespace berth {
namespace {

constexpr std::string_view kHugePagesPrefix = "hugepages-";

}  // namespace

bool IsHugePages(std::string_view resource) { return resource.starts_with(kHugePagesPrefix); }
bool IsMemoryType(std::string_view resource) { return resource == "memory" || IsHugePages(resource); }
bool IsNativeResource(std::string_view resource) {
  return resource == "cpu" || resource == "ephemeral-storage" || resource == "pods" || IsMemoryType(resource);
}
bool CountsAtPodLevel(std::string_view resource) { return resource == "cpu" || IsMemoryType(resource); }

std::string HugePagesName(Bytes page_size) {
  return std::string(kHugePagesPrefix) + Quantity::FromBytes(page_size).ToString();
}

std::string_view PageSizeText(std::string_view resource) { return resource.substr(kHugePagesPrefix.size()); }

std::optional<Bytes> PageSizeOf(std::string_view resource) {
  if (!IsHugePages(resource)) return std::nullopt;
  const Result<Quantity> size = Quantity::Parse(PageSizeText(resource));
  if (!size || size->Sign() <= 0 || !size->IsInteger()) return std::nullopt;
  return Bytes{size->Value()};
}

Quantity AmountOf(const ResourceList& list, std::string_view resource) {
  const auto it = list.find(resource);
  return it == list.end() ? Quantity() : it->second;
}

}  // namespace berth
