# Installs the programs, and libberth: the shared library, its public headers, a CMake package (find_package(berth), target
# berth::berth) and a pkg-config file (pkg-config berth).
include(CMakePackageConfigHelpers)

# The public headers: what include/berth declares, and the values that it is about. There are few, and no other types
# than Berth's and the standard library's in them (tests/install/check holds both).
file(GLOB berth_public CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/berth/*.h)
list(APPEND berth_public ${PROJECT_BINARY_DIR}/include/berth/version.h)
foreach(header IN ITEMS base/result base/id_set base/units base/quantity model/machine model/kubelet_version model/kubelet_config model/device
    model/own_rules model/pod model/placement model/ledger model/decision model/trace)
  list(APPEND berth_public ${PROJECT_SOURCE_DIR}/src/${header}.h)
endforeach()

# All in one folder, where they find each other as "berth/….h".
install(CODE "set(berth_public \"${berth_public}\")\nset(berth_made \"${PROJECT_BINARY_DIR}/public/berth\")")
install(CODE [[
  file(REMOVE_RECURSE ${berth_made})
  foreach(header IN LISTS berth_public)
    cmake_path(GET header FILENAME name)
    file(READ ${header} text)
    string(REGEX REPLACE "#include \"(base|model)/" "#include \"berth/" text "${text}")
    if(EXISTS ${berth_made}/${name})
      message(FATAL_ERROR "two public headers are called ${name}")
    endif()
    file(WRITE ${berth_made}/${name} "${text}")
  endforeach()]])
install(DIRECTORY ${PROJECT_BINARY_DIR}/public/berth DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

target_compile_features(berth_shared INTERFACE cxx_std_23)
target_include_directories(berth_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS berth_shared EXPORT berthTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT berthTargets NAMESPACE berth:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/berthConfig.cmake.in ${PROJECT_BINARY_DIR}/berthConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/berthConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/berthConfig.cmake ${PROJECT_BINARY_DIR}/berthConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
configure_file(${PROJECT_SOURCE_DIR}/cmake/berth.pc.in ${PROJECT_BINARY_DIR}/berth.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/berth.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# All that is installed.
add_custom_target(berth_programs DEPENDS berth_shared berth berthd berth-shim berth-scheduler
  berth_completion berth_man_pages berthd_man_page berth_scheduler_man_page)
