# Debian packages of the components:
#
#   cpack --config build/release/CPackConfig.cmake -D CPACK_PACKAGE_CONTACT="NAME <ADDRESS>"
#
# The contact is who answers for these packages. $SOURCE_DATE_EPOCH is their time: with it two runs
# pack the same bytes.
#
# sextantd is in a package of its own, without a service: planners and agents need it, and so does a
# `sextant` that starts a server for the length of a call. Nothing is bundled: what the programs
# load comes from Debian, with its security updates.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sextant)
set(CPACK_PACKAGE_VENDOR "The Sextant Authors")
set(CPACK_PACKAGE_CONTACT "The Sextant Authors <root@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/stage.cmake)
set(CPACK_SEXTANT_FILES ${CMAKE_CURRENT_LIST_DIR})
set(CPACK_COMPONENTS_ALL client server planner probe slurm)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0sextant1)  # before Debian's own first
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# A package of `component`, with its one-line and its long description.
macro(sextant_package component name summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${description}")
endmacro()

# A package that runs sextantd as a service by the name of the package.
macro(sextant_service_package component name summary description)
  sextant_package(${component} ${name} "${summary}" "${description}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS
    "sextant-server (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), adduser")
  set(package ${name})
  set(control ${CMAKE_CURRENT_BINARY_DIR}/${name})
  foreach(script postinst prerm postrm)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${script}.in ${control}/${script} @ONLY)
  endforeach()
  file(WRITE ${control}/conffiles "/etc/default/${name}\n")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA
    ${control}/postinst ${control}/prerm ${control}/postrm ${control}/conffiles)
endmacro()

sextant_package(client sextant
  "says what a training run of a large model costs before it starts"
  "Counts FLOPs, memory of each GPU, days, money and energy of a training run,
says whether it fits, and finds the layout that is fastest. It asks a
sextantd; where none is at the usual address and sextant-server is installed,
it starts one for the length of a call.")
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS sextant-server)
sextant_package(server sextant-server
  "plans training runs of large models: the program"
  "sextantd answers the sextant command, schedulers and other programs by gRPC
and HTTP. This package starts no service: sextant-planner and sextant-agent
do.")
sextant_service_package(planner sextant-planner
  "plans training runs of large models: the service"
  "Runs sextantd as a service that answers schedulers, and reaches no device.
Its flags are in /etc/default/sextant-planner.")
sextant_service_package(probe sextant-agent
  "measures the devices that train large models"
  "Runs sextantd as a service on a host whose GPUs or processor are measured,
by sextant-probe, which is in this package, too. It plans as well. Its flags
are in /etc/default/sextant-agent.")
sextant_package(slurm sextant-slurm
  "has Slurm ask what a training job needs before it is queued"
  "Hooks of Slurm that ask a sextantd whether a job's run fits the GPUs that it
asks for: job_submit.lua and cli_filter.lua, and sextant-sbatch for those who
can change nothing in Slurm. sextant-slurm doctor says what slurm.conf needs.
The site's settings are in /etc/sextant/slurm.lua, and refuse nothing at
first.")
set(CPACK_DEBIAN_SLURM_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_SLURM_PACKAGE_DEPENDS "lua5.1, lua-socket, lua-cjson")
set(CPACK_DEBIAN_SLURM_PACKAGE_RECOMMENDS "slurmctld | slurm-client")
set(CPACK_DEBIAN_SLURM_PACKAGE_SUGGESTS "sextant, sextant-planner")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/sextant-slurm/conffiles "/etc/sextant/slurm.lua\n")
set(CPACK_DEBIAN_SLURM_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_BINARY_DIR}/sextant-slurm/conffiles)
# By default both listen at the same addresses.
set(CPACK_DEBIAN_PROBE_PACKAGE_CONFLICTS sextant-planner)
set(CPACK_DEBIAN_PLANNER_PACKAGE_CONFLICTS sextant-agent)
# The probe's own kernel is slower.
set(CPACK_DEBIAN_PROBE_PACKAGE_RECOMMENDS libdnnl2)

include(CPack)
