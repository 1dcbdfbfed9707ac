# What every target of this project shares.

# Headers are included as "bitmma/folder/file.hpp", in the source tree as after installation.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/include/bitmma SYMBOLIC)

# Warnings and sanitizers of the project's own code; consumers do not inherit them.
add_library(bitmma_options INTERFACE)
target_compile_options(bitmma_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow -Werror>)
if(BITMMA_SANITIZE)
  target_compile_options(bitmma_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(bitmma_options INTERFACE -fsanitize=address,undefined)
endif()

# bitmma_library(<folder> [SOURCES …] [DEPENDS …]): the target bitmma::<folder>, header-only without
# sources. DEPENDS is the folder graph; tests/architecture checks every #include against it.
function(bitmma_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  set(target bitmma_${folder})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:bitmma_options>)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(bitmma::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${target} ${scope} ${ARG_DEPENDS})
  # "folder:other,folders", what tests/architecture reads
  set(folders ${ARG_DEPENDS})
  list(FILTER folders INCLUDE REGEX "^bitmma::")
  list(TRANSFORM folders REPLACE "^bitmma::" "")
  list(JOIN folders "," folders)
  set_property(GLOBAL APPEND PROPERTY BITMMA_FOLDER_GRAPH "${folder}:${folders}")
endfunction()
