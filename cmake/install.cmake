# find_package(bitmma) gives bitmma::isa, bitmma::emulator, bitmma::reference, bitmma::compare.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

foreach(folder isa emulator reference compare)
  if(TARGET bitmma_${folder})
    install(TARGETS bitmma_${folder} EXPORT bitmma_targets
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bitmma
            FILES_MATCHING PATTERN "*.hpp")
  endif()
endforeach()
install(EXPORT bitmma_targets NAMESPACE bitmma:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bitmma)
configure_package_config_file(cmake/bitmma-config.cmake.in bitmma-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bitmma)
write_basic_package_version_file(bitmma-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/bitmma-config.cmake
              ${PROJECT_BINARY_DIR}/bitmma-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bitmma)
if(BITMMA_BUILD_APPS)
  install(TARGETS bitmma)
endif()
