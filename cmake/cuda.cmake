# The CUDA language, where a compiler for it is found: then CMAKE_CUDA_COMPILER is set. Included at
# the top, because every folder whose programs link CUDA code needs the language.
if(NOT BITMMA_CUDA)
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA compiler not found: kernels are not built")
  return()
endif()

# This machine's GPUs, as far as they have tensor cores and the compiler knows them, wgmma's 90 as
# 90a; 90a alone where there is none.
function(native_targets result)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities ERROR_QUIET)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known)
  string(REGEX MATCHALL "[0-9]+[.][0-9]" capabilities "${capabilities}")
  set(targets)
  foreach(capability IN LISTS capabilities)
    string(REPLACE "." "" number ${capability})
    if(number GREATER_EQUAL 70 AND known MATCHES "compute_${number}\n")
      list(APPEND targets ${number})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES targets)
  list(TRANSFORM targets REPLACE "^90$" "90a")
  if(NOT targets)
    set(targets 90a)
  endif()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

native_targets(targets)
set(BITMMA_CUDA_TARGETS ${targets} CACHE STRING "CUDA targets of the kernels, such as 80;86;89;90a;100;120")
set(BITMMA_WGMMA_N 8 64 256 CACHE STRING "Every N of wgmma that gets a kernel")
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

# CUDA 13 compiles for sm_75 and later; sm_70 needs CUDA 12.
foreach(target IN LISTS BITMMA_CUDA_TARGETS)
  string(REGEX MATCH "^[0-9]+" number ${target})
  if(number LESS 75 AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION} compiles for sm_75 and later; "
      "sm_${number} needs CUDA 12")
  endif()
endforeach()

# -std: CMake 3.25 does not know nvcc's C++20. The host code of CUDA sources gets the project's
# warnings through nvcc, which itself prints a pointer to member in unnecessary parentheses.
add_library(bitmma_cuda_options INTERFACE)
target_compile_options(bitmma_cuda_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:
  -std=c++20 --expt-relaxed-constexpr --Werror=all-warnings
  -Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow,-Wno-parentheses>)
