// A real web server on the loopback with one page, for tests of what asks for it.
#ifndef BERTH_TESTING_WEB_PAGE_H_
#define BERTH_TESTING_WEB_PAGE_H_

#include <memory>
#include <string>
#include <vector>

namespace berth::testkit {

/// Thread: any. Ends with the object.
class WebPage {
 public:
  /// Listens on a free port; the page is empty.
  WebPage();
  ~WebPage();
  WebPage(const WebPage&) = delete;
  WebPage& operator=(const WebPage&) = delete;

  std::string url() const;
  /// From now on. A status of 300 to 399 leads to another page of this server.
  void Answer(int status, const std::string& body);
  int requests() const;
  int requests_elsewhere() const;  ///< of the other page
  /// Values of a header in the last request.
  std::vector<std::string> SeenHeader(const std::string& name) const;

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTING_WEB_PAGE_H_
