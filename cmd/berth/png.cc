#include "berth/png.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "host/os/shared_library.h"

namespace berth::cli {
namespace {

// What of the three libraries is used, as their documentation has it. Their values are only handed on.
struct Cairo;
struct CairoSurface;
struct RsvgDrawing;
struct Rectangle {
  double x, y, width, height;
};
struct GlibError {
  std::uint32_t domain;
  int code;
  char* message;
};
using CairoWrite = int(void* closure, const unsigned char* bytes, unsigned size);

struct DrawingLibrary {
  RsvgDrawing* (*read)(const std::uint8_t*, std::size_t, GlibError**) = nullptr;
  int (*size)(RsvgDrawing*, double* width, double* height) = nullptr;
  int (*render)(RsvgDrawing*, Cairo*, const Rectangle*, GlibError**) = nullptr;
  void (*unref)(void*) = nullptr;
  void (*free_error)(GlibError*) = nullptr;
  CairoSurface* (*make_surface)(int format, int width, int height) = nullptr;
  void (*free_surface)(CairoSurface*) = nullptr;
  Cairo* (*make_cairo)(CairoSurface*) = nullptr;
  void (*free_cairo)(Cairo*) = nullptr;
  int (*write_png)(CairoSurface*, CairoWrite*, void* closure) = nullptr;
};

std::optional<DrawingLibrary> LoadDrawing() {
  const auto rsvg = os::SharedLibrary::Load({"librsvg-2.so.2"});
  const auto cairo = os::SharedLibrary::Load({"libcairo.so.2"});
  const auto gobject = os::SharedLibrary::Load({"libgobject-2.0.so.0"});
  const auto glib = os::SharedLibrary::Load({"libglib-2.0.so.0"});
  if (!rsvg || !cairo || !gobject || !glib) return std::nullopt;
  DrawingLibrary out;
  const bool all =
      rsvg->Find("rsvg_handle_new_from_data", out.read) &&
      rsvg->Find("rsvg_handle_get_intrinsic_size_in_pixels", out.size) &&
      rsvg->Find("rsvg_handle_render_document", out.render) && gobject->Find("g_object_unref", out.unref) &&
      glib->Find("g_error_free", out.free_error) && cairo->Find("cairo_image_surface_create", out.make_surface) &&
      cairo->Find("cairo_surface_destroy", out.free_surface) && cairo->Find("cairo_create", out.make_cairo) &&
      cairo->Find("cairo_destroy", out.free_cairo) && cairo->Find("cairo_surface_write_to_png_stream", out.write_png);
  if (!all) return std::nullopt;
  return out;
}

Result<const DrawingLibrary*> FindDrawing() {
  static const std::optional<DrawingLibrary> library = LoadDrawing();
  if (library) return &*library;
  return Fail(
      Code::kUnsupported,
      "-o png: librsvg-2.so.2 (2.52 or newer) cannot be loaded; install the package librsvg2-2, or take -o svg");
}

constexpr double kZoom = 2;
constexpr double kMostPixels = 16'384;  // each way; cairo's own limit is 32767

/// Of a drawing's length, at `zoom`.
int PixelsOf(double length, double zoom) { return std::max(1, static_cast<int>(std::ceil(length * zoom))); }

std::unexpected<Error> CannotDraw(const DrawingLibrary& library, GlibError* error) {
  std::string why = error == nullptr ? "no reason is known" : error->message;
  if (error != nullptr) library.free_error(error);
  return Fail(Code::kInvalid, "-o png: librsvg cannot draw it: " + why);
}

}  // namespace

Result<std::string> PngOfSvg(const std::string& svg) {
  BERTH_TRY(const DrawingLibrary* const library, FindDrawing());
  const auto freed = [](auto* made, auto* free) {
    return std::unique_ptr<std::remove_pointer_t<decltype(made)>, decltype(free)>(made, free);
  };
  GlibError* error = nullptr;
  const auto drawing =
      freed(library->read(reinterpret_cast<const std::uint8_t*>(svg.data()), svg.size(), &error), library->unref);
  double width = 0;
  double height = 0;
  if (drawing == nullptr || library->size(drawing.get(), &width, &height) == 0) return CannotDraw(*library, error);
  const double zoom = std::min(kZoom, kMostPixels / std::max({width, height, 1.0}));
  const Rectangle page{.x = 0, .y = 0, .width = width * zoom, .height = height * zoom};
  constexpr int kWithAlpha = 0;  // CAIRO_FORMAT_ARGB32
  const auto surface =
      freed(library->make_surface(kWithAlpha, PixelsOf(width, zoom), PixelsOf(height, zoom)), library->free_surface);
  const auto cairo = freed(library->make_cairo(surface.get()), library->free_cairo);
  if (library->render(drawing.get(), cairo.get(), &page, &error) == 0) return CannotDraw(*library, error);
  std::string out;
  const auto write = [](void* closure, const unsigned char* bytes, unsigned size) {
    static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(bytes), size);
    return 0;  // CAIRO_STATUS_SUCCESS
  };
  if (library->write_png(surface.get(), write, &out) != 0)
    return Fail(Code::kInvalid, "-o png: cairo cannot make a picture of it; take -o svg");
  return out;
}

}  // namespace berth::cli
