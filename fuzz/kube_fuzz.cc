// What an API server answers, and kubeconfigs: read or refused, whatever they hold.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/codec/shallow_json.h"
#include "base/result.h"
#include "kubernetes/kube_client/access.h"
#include "kubernetes/kube_client/kube_object.h"
#include "kubernetes/kube_client/line_reader.h"

namespace {

namespace k = berth::kube;

bool IsWithin(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void LookAtAnswer(std::string_view text) {
  if (const auto list = k::ReadList(text)) {
    BERTH_CHECK(IsWithin(list->items, text));
    if (!list->items.empty())
      static_cast<void>(berth::codec::EachItem(list->items, [&](std::string_view item) -> berth::Result<void> {
        BERTH_CHECK(IsWithin(item, list->items) && !item.empty());
        if (const auto object = k::ReadObject(item)) BERTH_CHECK(object->json == item);
        return {};
      }));
  }
  const k::Status status = k::ReadStatus(500, text);
  BERTH_CHECK(status.code >= 400 && status.code <= 599);
  BERTH_CHECK(status.message.find('\n') == std::string::npos);
  BERTH_CHECK(!status.retry_after || status.retry_after->count() > 0);
}

void LookAtStream(std::string_view text) {
  // However it is cut into pieces, the lines are the same.
  constexpr std::size_t kLongest = 64;
  std::string whole;
  std::string piecewise;
  k::LineReader one(kLongest);
  k::LineReader many(kLongest);
  one.Take(text, [&](std::string_view line) {
    BERTH_CHECK(line.size() <= kLongest);
    whole.append(line).push_back('\n');
    if (const auto event = k::ReadWatchLine(line)) {
      BERTH_CHECK(IsWithin(event->object, line));
      static_cast<void>(k::EndsInitialEvents(event->object));
    }
    return true;
  });
  for (const char& byte : text)
    many.Take({&byte, 1}, [&](std::string_view line) {
      piecewise.append(line).push_back('\n');
      return true;
    });
  BERTH_CHECK(whole == piecewise && one.left_out() == many.left_out());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 3) {
    case 0: LookAtAnswer(text); break;
    case 1: LookAtStream(text); break;
    default:
      if (const auto access = k::ReadKubeconfig({{.path = "/etc/kube/config", .text = std::string(text)}})) {
        BERTH_CHECK(access->server.starts_with("http"));
        BERTH_CHECK(access->certificate.empty() == access->key.empty());
        BERTH_CHECK(access->verify || access->authorities.empty());
      }
  }
  return 0;
}
