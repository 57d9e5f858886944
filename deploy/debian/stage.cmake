# cpack runs this on what it has installed into a folder for each package, before it packs them: to
# what every system gets it adds what Debian wants.
string(TIMESTAMP changelog_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  set(documents ${root}/usr/share/doc/${package})

  if(NOT package STREQUAL sextant)
    file(RENAME ${root}/usr/share/doc/sextant ${documents})
  endif()
  file(RENAME ${documents}/LICENSE ${documents}/copyright)
  file(READ ${CPACK_SEXTANT_FILES}/copyright copyright)
  file(WRITE ${documents}/copyright "${copyright}")

  # Debian has these libraries: nothing is bundled that the program could find beside it.
  if(EXISTS ${root}/usr/bin/sextantd)
    file(RPATH_REMOVE FILE ${root}/usr/bin/sextantd)
  endif()
  if(EXISTS ${root}/usr/lib/systemd)
    file(MAKE_DIRECTORY ${root}/lib ${root}/etc/default)
    file(RENAME ${root}/usr/lib/systemd ${root}/lib/systemd)
    file(REMOVE_RECURSE ${root}/usr/lib)
    configure_file(${CPACK_SEXTANT_FILES}/${package}.default
      ${root}/etc/default/${package} COPYONLY)
  endif()

  if(EXISTS ${root}/usr/share/sextant/slurm/slurm.lua)
    file(MAKE_DIRECTORY ${root}/etc/sextant)
    file(RENAME ${root}/usr/share/sextant/slurm/slurm.lua ${root}/etc/sextant/slurm.lua)
  endif()

  file(WRITE ${documents}/changelog.Debian
    "sextant (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * Version ${CPACK_PACKAGE_VERSION}.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${changelog_date}\n")
  # Names and times that are not in the files are left out, so that the same build packs the same.
  file(GLOB_RECURSE to_compress ${root}/usr/share/man/*.[18] ${documents}/changelog.Debian)
  foreach(file IN LISTS to_compress)
    execute_process(COMMAND gzip -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND chmod -R u=rwX,go=rX ${root} COMMAND_ERROR_IS_FATAL ANY)
  if(DEFINED ENV{SOURCE_DATE_EPOCH})
    execute_process(COMMAND find ${root} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
