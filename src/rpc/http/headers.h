// Headers as a list of names and values.
#ifndef BERTH_RPC_HTTP_HEADERS_H_
#define BERTH_RPC_HTTP_HEADERS_H_

#include <string>
#include <utility>
#include <vector>

namespace berth::http {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_HEADERS_H_
