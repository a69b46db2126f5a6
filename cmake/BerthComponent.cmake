# Components: one static library per folder of src/, with explicit links. See ARCHITECTURE.md.

if(BERTH_WERROR)
  set(berth_werror -Werror)
endif()
add_library(berth_flags INTERFACE)
target_compile_options(berth_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wcast-align
  -Wdouble-promotion -Wformat=2 -Wimplicit-fallthrough ${berth_werror}
  # Designated initialisers name what differs from the defaults; the rest is meant to be left out.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12 about std::string at -O2 (GCC bugs 105329, 105651); the sanitizer lane looks for real ones.
  target_compile_options(berth_flags INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
  # The compiler collects its garbage from 1 GB on, not from 128 MB: a sixth less of its CPU time, 1 GB for each job.
  target_compile_options(berth_flags INTERFACE "SHELL:--param ggc-min-expand=200" "SHELL:--param ggc-min-heapsize=1000000")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12's own stable_sort calls what it calls deprecated.
  target_compile_options(berth_flags INTERFACE -Wthread-safety -Wno-deprecated-declarations)
endif()
if(BERTH_UNITY)
  # These two speak of one file. tools/check_alone reads each file by itself and has them on.
  target_compile_options(berth_flags INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  # What a program takes of a component is no longer a few files of it: berth-shim, which has to be small, leaves the rest out.
  target_compile_options(berth_flags INTERFACE -ffunction-sections -fdata-sections)
endif()
if(BERTH_SANITIZE)
  target_compile_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE})
  set(berth_fast -fno-sanitize=undefined)
else()
  set(berth_fast $<$<CONFIG:RelWithDebInfo>:-O1>)
endif()
# What a test program itself does is not under test: it need only be built fast.
target_compile_options(berth_flags INTERFACE "$<$<BOOL:$<TARGET_PROPERTY:BERTH_TEST_PROGRAM>>:${berth_fast}>")

# The standard headers every component uses, parsed once. Components still include what they need.
set(berth_precompiled <algorithm> <array> <chrono> <compare> <cstdint> <expected> <map> <memory> <optional> <set> <span>
  <string> <string_view> <utility> <variant> <vector>)
if(NOT BERTH_UNITY)
  # Where each file is read by itself these take most of its time.
  list(APPEND berth_precompiled <atomic> <condition_variable> <filesystem> <functional> <mutex> <thread> <nlohmann/json.hpp>)
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "")
add_library(berth_precompiled STATIC EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cc)
target_link_libraries(berth_precompiled PRIVATE berth_flags)
target_precompile_headers(berth_precompiled PRIVATE ${berth_precompiled})
# All that has to be made before any one source can be read: for tools/check_alone.
add_custom_target(berth_ready_to_compile DEPENDS berth_precompiled)
if(BERTH_TESTS)
  add_custom_target(berth_unit_tests)
  # What only slow lanes run is built when they do.
  add_custom_target(berth_slow_tests)
  # Test programs share one more: GoogleTest takes a second to parse. A program, because its flags have to be theirs.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_precompiled.cc CONTENT "int main() { return 0; }\n")
  add_executable(berth_test_precompiled EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_precompiled.cc)
  target_link_libraries(berth_test_precompiled PRIVATE berth_flags GTest::gmock GTest::gtest)
  set_target_properties(berth_test_precompiled PROPERTIES BERTH_TEST_PROGRAM ON)
  target_precompile_headers(berth_test_precompiled PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${berth_precompiled})
  add_dependencies(berth_ready_to_compile berth_test_precompiled)
endif()

# Some fifty programs are linked that nobody installs: by a fast linker, where there is one. Not mold, whose version in Debian
# 12 makes a program that does not start, or hangs, if a section of thread-local variables happens to end on a page's border
# (rui314/mold issue 1151).
find_program(BERTH_LLD ld.lld HINTS /usr/lib/llvm-19/bin)
function(berth_link_fast target)
  if(BERTH_LLD)
    cmake_path(GET BERTH_LLD PARENT_PATH folder)
    target_link_options(${target} PRIVATE -fuse-ld=lld -B${folder})
  endif()
endfunction()

# Several sources of a component compiled as one: most of the time goes into headers and into the same templates once more for
# each file. A component's files therefore have no two different things of one name, also in anonymous namespaces.
# tools/check_alone holds that each file can be compiled by itself.
function(berth_unity target)
  if(NOT BERTH_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0
    UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")
endfunction()

# berth_component(NAME [DEPS components...] [PART_OF component] [LIBS libraries...] [TEST_LIBS libraries...])
# Sources: every .cc below the folder; *_test.cc become berth_NAME_test. PART_OF: where several files are compiled as one,
# these are compiled with those of that component, which is added later and without which nobody links them.
function(berth_component name)
  cmake_parse_arguments(ARG "" "PART_OF" "DEPS;LIBS;TEST_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  get_property(parts GLOBAL PROPERTY BERTH_PARTS_OF_${name})
  get_property(part_sources GLOBAL PROPERTY BERTH_SOURCES_OF_${name})
  get_property(part_deps GLOBAL PROPERTY BERTH_DEPS_OF_${name})
  get_property(part_libs GLOBAL PROPERTY BERTH_LIBS_OF_${name})
  list(APPEND sources ${part_sources})
  list(APPEND ARG_DEPS ${part_deps})
  list(APPEND ARG_LIBS ${part_libs})
  list(REMOVE_ITEM ARG_DEPS ${parts} "")
  list(REMOVE_DUPLICATES ARG_DEPS)
  list(REMOVE_DUPLICATES ARG_LIBS)
  list(TRANSFORM ARG_DEPS PREPEND berth_ OUTPUT_VARIABLE deps)
  if(BERTH_UNITY AND ARG_PART_OF)
    set_property(GLOBAL APPEND PROPERTY BERTH_PARTS_OF_${ARG_PART_OF} ${name})
    set_property(GLOBAL APPEND PROPERTY BERTH_SOURCES_OF_${ARG_PART_OF} ${sources})
    set_property(GLOBAL APPEND PROPERTY BERTH_DEPS_OF_${ARG_PART_OF} ${ARG_DEPS})
    set_property(GLOBAL APPEND PROPERTY BERTH_LIBS_OF_${ARG_PART_OF} ${ARG_LIBS})
    add_library(berth_${name} INTERFACE)
    target_link_libraries(berth_${name} INTERFACE berth_${ARG_PART_OF})
  elseif(sources)
    add_library(berth_${name} STATIC ${sources})
    target_link_libraries(berth_${name} PUBLIC ${deps} PRIVATE berth_flags ${ARG_LIBS})
    target_include_directories(berth_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_precompile_headers(berth_${name} REUSE_FROM berth_precompiled)
    berth_unity(berth_${name})
  endif()
  if(BERTH_TESTS AND tests)
    berth_test(berth_${name}_test SOURCES ${tests} LINK berth_${name} ${ARG_TEST_LIBS})
  endif()
endfunction()

# berth_test(NAME SOURCES files... [LINK targets...] [LABELS labels...] [TIMEOUT seconds])
# One ctest test per GoogleTest case. BERTH_SOURCE_DIR points at the checkout.
function(berth_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
    if("root" IN_LIST ARG_LABELS)
      set(ARG_TIMEOUT 300)  # longer than a fixture's patience, so that it can say what never came true
    endif()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} berth_flags GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE BERTH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BERTH_BUILD_DIR="${PROJECT_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES BERTH_TEST_PROGRAM ON)
  berth_link_fast(${name})
  target_precompile_headers(${name} REUSE_FROM berth_test_precompiled)
  berth_unity(${name})
  if(ARG_LABELS MATCHES "^(containerd|vm|attack|cluster|shipped)$")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(berth_slow_tests ${name})
  endif()
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(berth_unit_tests ${name})
    set_property(GLOBAL APPEND_STRING PROPERTY BERTH_UNIT_PROGRAMS "$<TARGET_FILE:${name}>\n")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  if("unit" IN_LIST ARG_LABELS)
    # Read by ctest once the cases are known. A million steps of a property take up to 130 s on slow CPUs.
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_property_timeout.cmake)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "if(DEFINED ENV{BERTH_PROPERTY_STEPS})
  set_tests_properties(\${@name@_TESTS} PROPERTIES TIMEOUT 300)
endif()
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
  endif()
endfunction()
