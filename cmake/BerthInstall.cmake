# Installs the programs, and libberth: the rooms usable without the daemon, as static libraries with their headers, a CMake
# package (find_package(berth), target berth::berth) and a pkg-config file (pkg-config --static berth).
include(CMakePackageConfigHelpers)

set(libberth base model engine os machine manifest)
list(TRANSFORM libberth PREPEND berth_ OUTPUT_VARIABLE libberth_targets)

add_library(berth_all INTERFACE)
set_target_properties(berth_all PROPERTIES EXPORT_NAME berth)
target_link_libraries(berth_all INTERFACE ${libberth_targets})

install(TARGETS ${libberth_targets} berth_all EXPORT berthTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/berth)
foreach(room IN LISTS libberth)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${room}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/berth/${room}
    FILES_MATCHING PATTERN "*.h" PATTERN "*_test.h" EXCLUDE PATTERN "testing" EXCLUDE)
endforeach()
install(EXPORT berthTargets NAMESPACE berth:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/berthConfig.cmake.in ${PROJECT_BINARY_DIR}/berthConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/berthConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/berthConfig.cmake ${PROJECT_BINARY_DIR}/berthConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
configure_file(${PROJECT_SOURCE_DIR}/cmake/berth.pc.in ${PROJECT_BINARY_DIR}/berth.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/berth.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
