# Messages of a proto file, for the lite runtime.
pkg_check_modules(protobuf_lite REQUIRED IMPORTED_TARGET protobuf-lite)
find_program(BERTH_PROTOC protoc REQUIRED)

# berth_proto(NAME): library berth_NAME_proto of proto/NAME.proto. Code of protoc is a library of its own, so that it is
# compiled once and not by our rules for warnings.
function(berth_proto name)
  set(file ${PROJECT_SOURCE_DIR}/proto/${name}.proto)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${out}/${name}.pb.cc ${out}/${name}.pb.h
    COMMAND ${BERTH_PROTOC} --cpp_out=lite:${out} --proto_path=${PROJECT_SOURCE_DIR}/proto ${file}
    DEPENDS ${file} VERBATIM)
  add_library(berth_${name}_proto STATIC ${out}/${name}.pb.cc)
  target_include_directories(berth_${name}_proto SYSTEM PUBLIC ${out})
  target_link_libraries(berth_${name}_proto PUBLIC PkgConfig::protobuf_lite)
  add_dependencies(berth_ready_to_compile berth_${name}_proto)
  # 15 s at -O2 for the largest, and what it does costs nothing beside the calls.
  target_compile_options(berth_${name}_proto PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  if(BERTH_SANITIZE)
    target_compile_options(berth_${name}_proto PRIVATE -fsanitize=${BERTH_SANITIZE})
  endif()
endfunction()
