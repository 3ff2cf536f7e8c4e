# An overlay port, which builds the tree that it is in.  The libraries that epprof uses are the system's, because vcpkg has no
# libbsd for Linux.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
set(VCPKG_BUILD_TYPE release)
get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(arguments
	"BUILD=${CURRENT_BUILDTREES_DIR}/${TARGET_TRIPLET}-rel"
	"PREFIX=${CURRENT_PACKAGES_DIR}"
	"BINDIR=${CURRENT_PACKAGES_DIR}/tools/epprof"
	"CMAKEDIR=${CURRENT_PACKAGES_DIR}/share/epprof"
	PYTHON=none
)
vcpkg_execute_required_process(
	COMMAND make -s "-j${VCPKG_CONCURRENCY}" all ${arguments}
	WORKING_DIRECTORY "${source}"
	LOGNAME "build-${TARGET_TRIPLET}-rel"
)
vcpkg_execute_required_process(
	COMMAND make -s install ${arguments}
	WORKING_DIRECTORY "${source}"
	LOGNAME "install-${TARGET_TRIPLET}-rel"
)

# The files of pkg-config have absolute paths; those of CMake have relative ones.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/pkgconfig")
file(REMOVE "${CURRENT_PACKAGES_DIR}/lib/libepprof.a" "${CURRENT_PACKAGES_DIR}/lib/libepprof-trace.a")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
