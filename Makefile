# epprof: one Makefile, no recursion, no configure.  `make help` lists the targets.
#
#   V=1        shows the commands               WERROR=1  makes warnings errors
#   SAN=...    address,undefined or thread; each variant has a build tree of its own (BUILD)
#   ARM64=1    builds for arm64 in build-arm64; check runs the programs under qemu-user (./setup --arm64)
#   T=...      with check and check-interop: only these programs, "check_codec check_ring"
#   TIME=...   with soak: seconds; with fuzz: seconds for each target; its T names targets, "trace json"
#   SEED=1     with fuzz: the same inputs in each run; without it others
#   TORCH=...  with kineto: the folder of the package torch
#   B=...      with bench: only these cases, "'kit emit' timeline", or --quick, --json
#   HOST=...   with run and bench: digits (the default), onnxruntime or browser; python with bench
#   ORT=...    with bench HOST=onnxruntime: its version, 1.26.0; the newest if there is none
#   WIN=1      for Windows, with MinGW and Wine: packaging/windows/build.mk
#   CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS belong to the caller, as do DESTDIR PREFIX LIBDIR INCLUDEDIR
#   BINDIR MANDIR CMAKEDIR.

# A sanitizer takes longer to compile what is optimised than it saves; a line in a report needs no more than -g1.
CFLAGS ?= $(if $(SAN),-O1 -g1,-O2 -g)
CXXFLAGS ?= $(CFLAGS)
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
CMAKEDIR ?= $(LIBDIR)/cmake/epprof
INSTALL ?= install

comma := ,
# The compiler and the libraries of `./setup --arm64`.
ifdef ARM64
CC := aarch64-linux-gnu-gcc
CXX := aarch64-linux-gnu-g++
AR := aarch64-linux-gnu-ar
PKG_CONFIG := PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config
# This machine's Python has headers for this machine.
PYTHON := false
BUILD := build-arm64$(addprefix -,$(subst $(comma),-,$(SAN)))
EMULATE := tests/emulate
endif
ifdef WIN
include packaging/windows/compiler.mk
endif
COMPILER := $(filter-out cc gcc,$(notdir $(firstword $(CC))))
BUILD ?= build$(addprefix -,$(COMPILER))$(addprefix -,$(subst $(comma),-,$(SAN)))
O := $(BUILD)/objects
VERSION := $(shell sed -n 's/^\#define EPPROF_VERSION "\(.*\)"/\1/p' api/epprof/epprof.h)
SOVERSION := 0

# Headers of ONNX Runtime itself, for the test plugins that are built on them alone; without them these are left out.
ORT_HEADERS ?= $(wildcard ../shared/third_party/onnxruntime)

# OpenCL and Vulkan, for the sample EPs on their devices; without them these EPs are left out, and with sanitizers, which find
# faults in drivers.
OPENCL := $(if $(SAN),,$(shell $(PKG_CONFIG) --libs OpenCL 2>/dev/null))
VULKAN := $(if $(SAN),,$(shell $(PKG_CONFIG) --libs vulkan 2>/dev/null))

# ---- what is made of what ----

sources = $(sort $(shell find $(1) -name '*.c'))
objects = $(patsubst %.c,$(O)/%.o,$(patsubst %.cc,$(O)/%.o,$(1)))
parts = $(call sources,$(addprefix runtime/,$(1)))

# Without state: hidden in both shared libraries, and once in the static libepprof.a.
STATELESS := $(filter-out runtime/base/os/windows/%,$(call parts,containers encoding codec base/os))
EPPROF := $(filter-out runtime/base/os/%,$(call parts,base ort_abi storage control record plugins))
TRACE := $(filter-out %/formats_xspace.c,$(call parts,files trace merge anonymize timeline analysis export sql import provider_events))
# A bridge links what it needs of reading, with a table of formats that has XSpace alone.
BRIDGE_TRACE := $(filter-out %/formats.c,$(TRACE)) runtime/export/formats_xspace.c bridges/shared/no_zstd.c \
	bridges/shared/no_yajl.c
KIT := $(call sources,ep_kit)
CLI := $(call sources,cli)
ACCELERATOR := $(sort $(wildcard ep_sample/accelerator*.c))
# NAME_ep.c is a plugin of its own; NAME_ep_*.c belong to it.  Those for APIs of devices are ort_ep with another device.
API_EPS := opencl_ep vulkan_ep
sample_ep = $(wildcard ep_sample/$(1).c ep_sample/$(1).cc) $(sort $(wildcard ep_sample/$(1)_*.c)) \
	$(if $(filter $(API_EPS),$(1)),ep_sample/device_queue.c $(filter-out %_accelerator.c,$(call sample_ep,ort_ep)))
ORT_BRIDGE := $(addprefix bridges/shared/,hosted_plugins.c ort_slots.c) $(call sources,bridges/onnxruntime)
BENCHES := $(call sources,bench)
# A simulation that bench and tests share.
TRUTH := $(filter bench/clock_%,$(BENCHES))
TEST_SOURCES := $(filter-out tests/windows/% tests/plugins/% tests/hostile/% tests/fake_ort/% tests/interop/%,$(call sources,tests)) \
	$(filter-out tests/interop/%,$(sort $(shell find tests -name 'check_*.cc')))
TESTS := $(foreach source,$(TEST_SOURCES),$(if $(filter check_%,$(notdir $(source))),$(source)))
TEST_SHARED := $(filter-out $(TESTS),$(TEST_SOURCES))
SCRIPTS := $(sort $(shell find tests -name 'check_*' -not -name '*.[ch]' -not -name '*.cc' -not -path 'tests/interop/*' -not -path 'tests/windows/*'))
TEST_PLUGINS := $(filter-out $(if $(ORT_HEADERS),,tests/plugins/official_%),$(call sources,tests/plugins))

LIBEPPROF := $(BUILD)/libepprof.so
LIBTRACE := $(BUILD)/libepprof-trace.so
LIBKIT := $(BUILD)/libepprof_ep.a
KIT_FILES := $(addprefix $(BUILD)/kit/,ep_kit.c epprof_ep.h epprof_ep.hpp)
# Headers to copy, one for each API of devices.
CLOCKS := $(wildcard ep_kit/clocks/*.h)
XSPACE_BRIDGES := $(BUILD)/libepprof_tf.so $(BUILD)/libepprof_pjrt.so
BRIDGES := $(BUILD)/libepprof_ort.so $(XSPACE_BRIDGES)
BRIDGE_PYTHON := $(addprefix $(BUILD)/python/,jax_plugins/epprof/__init__.py epprof_host.py epprof_kineto.py epprof_tensorflow.py \
	$(patsubst bridges/record/%,%,$(wildcard bridges/record/*/*.py)))
# Python's package, which needs the headers of a Python; one build serves Python 3.10 and later.  A Python that is not
# sanitized cannot load a module that is.
PYTHON ?= python3
PYTHON_INCLUDE := $(if $(SAN),,$(patsubst %/Python.h,%,$(wildcard $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h)))
PYTHON_MODULES := $(if $(PYTHON_INCLUDE),$(addprefix $(BUILD)/python/epprof/,_record.abi3.so _trace.abi3.so))
PYTHON_FILES := $(if $(PYTHON_INCLUDE),$(patsubst python/%,$(BUILD)/python/%,$(wildcard python/epprof/*.py python/epprof/*.pyi python/epprof/py.typed)))
LIBRARIES := $(LIBEPPROF) $(BUILD)/libepprof.a $(LIBTRACE) $(BUILD)/libepprof-trace.a $(LIBKIT)
# Those for OpenCL and Vulkan only where these can be compiled and linked.
SAMPLE_EPS := $(filter-out $(if $(OPENCL),,%_opencl_ep.so) $(if $(VULKAN),,%_vulkan_ep.so),$(patsubst ep_sample/%,$(BUILD)/libsample_%.so,$(basename $(wildcard ep_sample/*_ep.c ep_sample/*_ep.cc))))
TF_SHIM := $(BUILD)/libepprof_tf_shim.so
PRELOAD := $(BUILD)/libepprof_preload.so
# Plugins for NVIDIA's GPUs: for all hosts of epprof, and for ONNX Runtime alone.
CUPTI := $(BUILD)/libepprof_cupti.so $(BUILD)/libepprof_cupti_ort.so
PROGRAMS := $(if $(CLI),$(BUILD)/epprof) $(patsubst ep_sample/%.c,$(BUILD)/%,$(wildcard ep_sample/digits.c))
# The programs of all test folders are in one folder, so their names differ.
test_program = $(BUILD)/tests/$(notdir $(basename $(1)))
TEST_PROGRAMS := $(foreach test,$(TESTS),$(call test_program,$(test)))
TEST_LIBRARIES := $(TEST_PLUGINS:tests/plugins/%.c=$(BUILD)/tests/plugins/%.so) \
	$(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/hostile/*.c)) $(BUILD)/tests/fake_ort.so
BENCH := $(if $(BENCHES),$(BUILD)/bench/bench)

ifdef WIN
include packaging/windows/build.mk
endif

# ---- flags ----

WARNINGS := -Wall -Wextra -Wshadow -Wundef -Wvla -Wpointer-arith -Wwrite-strings $(if $(WERROR),-Werror)
C_WARNINGS := -Wstrict-prototypes -Wmissing-prototypes
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
COMMON := $(WARNINGS) $(SANITIZE) $(if $(WIN),,-fPIC) -fvisibility=hidden -pthread -MMD -MP $(WIN_FLAGS)

# Only the runtime and the tests may see more than api/ (tests/lint checks the includes one by one).
# The kit is dropped into the trees of others, so it gets no feature macro from here.
FLAGS_runtime := -D_GNU_SOURCE -Iapi -Iruntime -I.
FLAGS_packaging := $(FLAGS_runtime)
FLAGS_cli := -D_GNU_SOURCE -Iapi -I.
# A call of a library without a detour: of a bridge, which is called with cold caches; of the bench, for what it costs is the
# library's then.
FLAGS_bridges := -D_GNU_SOURCE -Iapi -Iruntime -I. -fno-plt
FLAGS_ep_kit := -Iapi
FLAGS_cupti := -D_GNU_SOURCE -Iapi -Iruntime -I.
FLAGS_python := -D_GNU_SOURCE -Iapi -isystem $(PYTHON_INCLUDE) -fno-plt
FLAGS_ep_sample := -D_GNU_SOURCE -Iapi -I.
FLAGS_bench := -D_GNU_SOURCE -Iapi -Iruntime -I. -fno-plt
FLAGS_tests := -D_GNU_SOURCE -Iapi -Iruntime -I. -DCHECK_BUILD='"$(abspath $(BUILD))"' -DCHECK_SOURCE='"$(CURDIR)"'
FLAGS_tests/plugins := -D_GNU_SOURCE -Iapi -I.
FLAGS_tests/hostile := -D_GNU_SOURCE -Iapi -I.
FLAGS_tests/fake_ort := -D_GNU_SOURCE -Iapi -I.
top = $(firstword $(subst /, ,$(1)))
flags = $(FLAGS_$(or $(filter tests/plugins tests/hostile tests/fake_ort,$(patsubst %/,%,$(dir $(1)))),$(top)))

BASE_LIBS := -lbsd -lpthread -ldl
COMMAND_LIBS := -lbsd -lmd -lm
TRACE_LIBS := -lyajl -lsqlite3 -lzstd -lz -lm
CHECK_CFLAGS = $(shell $(PKG_CONFIG) --cflags check)
CHECK_LIBS = $(shell $(PKG_CONFIG) --libs check)
SHARED := -shared $(SANITIZE) $(if $(SAN),,-Wl,-z,defs)
LIBRARY = $(SHARED) -Wl,-z,nodelete -Wl,-soname,$(@F).$(SOVERSION) $(if $(SAN),,-Wl,--version-script=epprof.map)

Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@echo "  $(1)	$(patsubst $(BUILD)/%,%,$@)")

# ---- targets ----

# What shells put into the environment under this name is not meant.
HOST := digits
HOSTS := digits onnxruntime browser
DEPS := build/deps

.PHONY: fuzz all lib man dist dist-needs-scdoc kineto kineto-torch kineto-needs-torch tests check check-interop run run-digits run-browser run-onnxruntime bench bench-digits
.PHONY: wheel wheel-tree bench-onnxruntime bench-browser bench-python vulkan-kernels coverage valgrind lint analyze abi format install uninstall clean help
.DELETE_ON_ERROR:
.SECONDARY:

ifdef WIN
all: windows
else
all: lib $(BRIDGES) $(PRELOAD) $(CUPTI) $(BRIDGE_PYTHON) $(PYTHON_MODULES) $(PYTHON_FILES) $(PROGRAMS) $(SAMPLE_EPS)
endif

lib: $(LIBRARIES) $(TF_SHIM) $(KIT_FILES)

tests: all $(TEST_PROGRAMS) $(TEST_LIBRARIES)

help:
	@echo "all (default)  the libraries, the command epprof, the sample"
	@echo "run            the main job: the sample recognises digits under a session, then its summary"
	@echo "               HOST=onnxruntime: in ONNX Runtime, which is fetched from PyPI"
	@echo "               HOST=browser: the sample, and a report of it in a browser"
	@echo "check          builds and runs the tests; T=check_codec runs one"
	@echo "check-long     the tests of kills and of sessions one after another, 10,000 of each"
	@echo "soak           many sessions, threads and plugins at once, for TIME=600 seconds"
	@echo "check-interop  runs the tests in frameworks and viewers themselves, from PyPI; T=check_drift.py runs one"
	@echo "bench          measures, and compares with the bounds"
	@echo "               HOST=onnxruntime: what the collector adds to a profiled run there, ORT=1.26.0: in that version"
	@echo "               HOST=browser: a report of a million events in chromium"
	@echo "               HOST=python: what an event costs a program in Python"
	@echo "fuzz           runs the fuzz targets with libFuzzer of clang, TIME=60 seconds each; T='trace json': only these"
	@echo "coverage       runs the tests with gcov; lines and branches by folder, with lcov"
	@echo "valgrind       runs tests of the recorder and the readers under memcheck; T=check_codec runs one"
	@echo "lint, format   checks the sources; formats them"
	@echo "analyze        gcc -fanalyzer, clang-tidy and cppcheck on what has changed"
	@echo "abi            compares the ABI with the released one, and the layouts of foreign ABIs on x86-64 and arm64"
	@echo "kineto         libepprof_kineto.so, the bridge into PyTorch; TORCH=.../site-packages/torch, with headers"
	@echo "man            the manual, with scdoc"
	@echo "dist           build/epprof-VERSION.tar.gz: what is committed, with the manual made"
	@echo "wheel          dist/epprof-*.whl, for pip: with zig's compiler, which is fetched from PyPI"
	@echo "install, uninstall, clean, lib, tests"

$(O)/%.o: %.c
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(COMMON) $(C_WARNINGS) $(call flags,$<) $(EXTRA) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(O)/%.o: %.cc
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 $(COMMON) $(call flags,$<) $(EXTRA) $(CPPFLAGS) $(CXXFLAGS) -c -o $@ $<

# The files of the page are in the object.
$(O)/runtime/export/report/html.o: $(wildcard runtime/export/report/page/*)

$(call objects,$(TESTS) $(TEST_SHARED)): EXTRA = $(CHECK_CFLAGS)
$(O)/tests/plugins/official_%.o: EXTRA = -isystem $(ORT_HEADERS)

$(BUILD)/%.a:
	$(call say,AR)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libepprof.a: $(call objects,$(EPPROF) $(STATELESS))
$(BUILD)/libepprof-trace.a: $(call objects,$(TRACE))
$(LIBKIT): $(call objects,$(KIT))
# The kit as one C file and one header, and a second header for C++, to drop in.
$(KIT_FILES): ep_kit/amalgamate LICENSE $(wildcard ep_kit/*.[ch] api/epprof/*.h api/epprof/ep.hpp api/epprof/abi/*.h)
	@mkdir -p $(@D)
	$(Q)ep_kit/amalgamate $(or $(patsubst .%,%,$(filter-out .h,$(suffix $@))),header) >$@

# Tests see private symbols: everything, once, and what several of them share.
$(BUILD)/tests/libeverything.a: $(call objects,$(EPPROF) $(STATELESS) $(TRACE) $(KIT) $(ACCELERATOR) $(TEST_SHARED) $(TRUTH))

$(LIBEPPROF): $(call objects,$(EPPROF) $(STATELESS)) epprof.map
	$(call say,LD)
	$(Q)$(CC) $(LIBRARY) $(CFLAGS) $(LDFLAGS) -o $@.$(SOVERSION) $(filter %.o,$^) $(BASE_LIBS)
	$(Q)ln -sf $(@F).$(SOVERSION) $@

$(LIBTRACE): $(call objects,$(TRACE) $(STATELESS)) $(LIBEPPROF) epprof.map
	$(call say,LD)
	$(Q)$(CC) $(LIBRARY) $(CFLAGS) $(LDFLAGS) -o $@.$(SOVERSION) $(filter %.o,$^) -L$(BUILD) -lepprof $(BASE_LIBS) $(TRACE_LIBS)
	$(Q)ln -sf $(@F).$(SOVERSION) $@

# A framework opens a bridge by its path, which may be a copy or a link in a folder of the framework's.  So the bridge finds
# libepprof beside itself, or where that was built or installed: $(1) is the output, $(2) the folder of libepprof, $(3) the objects.
# All bridges of a process share the one libepprof, and with it its sessions; of libepprof-trace each has the parts that it
# uses, hidden, so that a framework's process gets no further library.
BRIDGE_READING := $(O)/bridges/libreading.a
HIDE_READING := -Wl,--exclude-libs,ALL
LINK_BRIDGE = $(SHARED) -Wl,-z,nodelete -pthread $(CFLAGS) $(LDFLAGS) -o $(1) $(3) $(BRIDGE_READING) $(HIDE_READING) \
	-L$(BUILD) -Wl,-rpath,'$$ORIGIN' $(if $(filter $(LOADERS_FOLDERS),$(2)),,-Wl$(comma)-rpath$(comma)$(2)) -lepprof \
	-Wl,--as-needed $(BASE_LIBS) -lm
# The loader searches these folders by itself, and a package must not name them.
LOADERS_FOLDERS := '/usr/lib' '/usr/lib64' '/usr/lib/%-linux-gnu'
$(BRIDGE_READING): $(call objects,$(BRIDGE_TRACE) $(STATELESS))

OBJECTS_libepprof_ort := $(call objects,$(ORT_BRIDGE))
$(foreach bridge,tf pjrt,$(eval OBJECTS_libepprof_$(bridge) := \
	$(call objects,$(wildcard bridges/*/$(bridge)_bridge.c) bridges/shared/hosted_plugins.c $(sort $(wildcard bridges/shared/xspace_*.c)))))
$(BUILD)/libepprof_ort.so: $(OBJECTS_libepprof_ort)
$(BUILD)/libepprof_tf.so: $(OBJECTS_libepprof_tf)
$(BUILD)/libepprof_pjrt.so: $(OBJECTS_libepprof_pjrt)
$(BRIDGES): $(BRIDGE_READING) $(LIBEPPROF)
	$(call say,LD)
	$(Q)$(CC) $(call LINK_BRIDGE,$@,'$(abspath $(BUILD))',$(filter %.o,$^))

# What `epprof record` puts into every program: it links libc alone, and no sanitizer, which a program would have to link too.
OBJECTS_PRELOAD := $(call objects,$(call sources,bridges/record) bridges/shared/ort_slots.c)
$(OBJECTS_PRELOAD): COMMON := $(filter-out $(SANITIZE),$(COMMON))
$(PRELOAD): $(OBJECTS_PRELOAD)
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-z,defs -Wl,-z,nodelete -pthread $(CFLAGS) $(LDFLAGS) -o $@ $^ -ldl

# They link libc alone, and find CUPTI where they run.
OBJECTS_CUPTI := $(call objects,$(filter-out cupti/ort_cupti.c,$(call sources,cupti)) runtime/containers/hash_index.c)
$(BUILD)/libepprof_cupti.so: $(OBJECTS_CUPTI)
	$(call say,LD)
	$(Q)$(CC) $(SHARED) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $^ -ldl
$(BUILD)/libepprof_cupti_ort.so: $(OBJECTS_CUPTI) $(call objects,cupti/ort_cupti.c) $(LIBKIT) cupti/ort_cupti.map
	$(call say,LD)
	$(Q)$(CC) $(SHARED) -Wl,--version-script=cupti/ort_cupti.map -pthread $(CFLAGS) $(LDFLAGS) -o $@ $(filter-out %.map,$^) -ldl -lm

# What the bridges have in Python, for PYTHONPATH; it finds the bridges above itself.
vpath %.py bridges/jax:bridges/pytorch:bridges/record:bridges/shared:bridges/tensorflow
$(BRIDGE_PYTHON): $(BUILD)/python/%: %
	$(Q)$(INSTALL) -D -m 644 $< $@

# Extension modules take Python's own functions from the Python that loads them.  $(1): the output, $(2): from its folder to the
# libraries' folder, $(3): the objects.
OBJECTS__record := $(call objects,$(addprefix python/,record.c args.c python.c))
OBJECTS__trace := $(call objects,$(addprefix python/,trace.c trace_arrow.c trace_events.c python.c))
LINK_MODULE = $(CC) -shared $(SANITIZE) -pthread $(CFLAGS) $(LDFLAGS) -o $(1) $(3) -L$(BUILD) -Wl,-rpath,'$$ORIGIN/$(2)' \
	$(if $(findstring _trace,$(1)),-lepprof-trace) -lepprof
$(BUILD)/python/epprof/_record.abi3.so: $(OBJECTS__record) $(LIBEPPROF)
$(BUILD)/python/epprof/_trace.abi3.so: $(OBJECTS__trace) $(LIBTRACE) $(LIBEPPROF)
$(PYTHON_MODULES):
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(call LINK_MODULE,$@,../..,$(filter %.o,$^))
$(PYTHON_FILES): $(BUILD)/python/%: python/%
	$(Q)$(INSTALL) -D -m 644 $< $@

# The bridge into PyTorch needs a torch to be compiled against, so it is not part of `all`.  A program that loads it has
# torch's libraries already.  Their structs have other members without NDEBUG, with which torch is released.  Which torch that was is kept for `install`, which links the bridge again.
KINETO := $(BUILD)/libepprof_kineto.so
KINETO_TORCH := $(O)/bridges/kineto.torch
OBJECTS_libepprof_kineto := $(call objects,$(sort $(wildcard bridges/pytorch/*.cc)))
LINK_KINETO = $(CXX) $(call LINK_BRIDGE,$(1),$(2),$(OBJECTS_libepprof_kineto) $(O)/bridges/shared/hosted_plugins.o) -Wl,--allow-shlib-undefined \
	-Wl,--no-as-needed "-L$$(cat $(KINETO_TORCH))/lib" -ltorch_cpu -lc10

$(KINETO_TORCH): kineto-torch
	@mkdir -p $(@D)
	@echo '$(TORCH)' | cmp -s - $@ || echo '$(TORCH)' >$@

$(OBJECTS_libepprof_kineto): $(O)/%.o: %.cc $(KINETO_TORCH)
	$(call say,CXX)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++20 $(COMMON) -Wno-shadow -DUSE_KINETO -DFMT_HEADER_ONLY -DNDEBUG $(FLAGS_bridges) -isystem $(TORCH)/include \
		-isystem $(TORCH)/include/kineto $(CPPFLAGS) $(CXXFLAGS) -c -o $@ $<

$(KINETO): $(OBJECTS_libepprof_kineto) $(O)/bridges/shared/hosted_plugins.o $(BRIDGE_READING) $(LIBEPPROF)
	$(call say,LD)
	$(Q)$(call LINK_KINETO,$@,'$(abspath $(BUILD))')

kineto: $(if $(TORCH),$(KINETO),kineto-needs-torch)

kineto-needs-torch:
	@echo "make kineto TORCH=.../site-packages/torch: the bridge is compiled against a torch" >&2; exit 2

# The build tree runs from where it is.
LINKER = $(CC)
PROGRAM = $(LINKER) $(SANITIZE) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^)

# Its name, and where it finds the libraries from where it lies.
LINK_COMMAND = $(CC) $(SANITIZE) -pthread $(CFLAGS) $(LDFLAGS) -o $(1) $(call objects,$(CLI)) \
	-L$(BUILD) -Wl,-rpath,'$$ORIGIN/$(2)' -lepprof-trace -lepprof $(COMMAND_LIBS)

$(BUILD)/epprof: $(call objects,$(CLI)) $(LIBTRACE) $(LIBEPPROF)
	$(call say,LD)
	$(Q)$(call LINK_COMMAND,$@,.)

$(BUILD)/digits: $(call objects,$(wildcard ep_sample/digits*.c)) $(LIBEPPROF)
	$(call say,LD)
	$(Q)$(PROGRAM) -L$(BUILD) -Wl,-rpath,'$$ORIGIN' -lepprof -lm

# Plugins that link TensorFlow find it by this name.
$(TF_SHIM): $(O)/bridges/tensorflow/tf_shim.o
	$(call say,LD)
	$(Q)$(CC) $(SHARED) -Wl,-soname,libtensorflow_framework.so.2 $(CFLAGS) $(LDFLAGS) -o $@ $^

# The software accelerator is in all but those for APIs of devices, which use what is above its device.
sample_accelerator = $(if $(filter $(API_EPS),$(1)),$(addprefix ep_sample/accelerator_,chain.c node.c),$(ACCELERATOR))

.SECONDEXPANSION:
$(SAMPLE_EPS): $(BUILD)/libsample_%.so: $$(call objects,$$(call sample_ep,$$*) $$(call sample_accelerator,$$*)) $(LIBKIT)
	$(call say,LD)
	$(Q)$(if $(wildcard ep_sample/$*.cc),$(CXX),$(CC)) $(SHARED) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm $(if $(filter opencl_ep,$*),$(OPENCL)) $(if $(filter vulkan_ep,$*),$(VULKAN))

# The sample EP with a stand-in for the kit.
$(BUILD)/tests/plugins/formula_ep.so: $(call objects,$(call sample_ep,ort_ep) $(ACCELERATOR))

# It writes traces.
$(BUILD)/tests/plugins/ranks.so: $(LIBTRACE) $(LIBEPPROF)

# Programs without a sanitizer load it, too.
$(O)/tests/plugins/slow_load.o: COMMON := $(filter-out $(SANITIZE),$(COMMON))
$(BUILD)/tests/plugins/slow_load.so: SHARED := $(filter-out $(SANITIZE),$(SHARED))

# The bridge into ONNX Runtime with nothing behind it, for the bench.
NULL_EPS := $(BUILD)/tests/plugins/null_ep.so $(BUILD)/tests/plugins/asking_ep.so
$(NULL_EPS): $(LIBEPPROF)

# It links what it takes for TensorFlow.
$(BUILD)/tests/plugins/tf_needs.so: $(TF_SHIM)

# The plugin for NVIDIA's GPUs looks for the driver by its name.
$(BUILD)/tests/plugins/fake_cupti.so: LDFLAGS += -Wl,-soname,libcuda.so.1

# A library in the place of ONNX Runtime, and one that links it.
$(BUILD)/tests/plugins/preload_ort.so: LDFLAGS += -Wl,-soname,libonnxruntime.so.1
$(BUILD)/tests/plugins/preload_user.so: $(BUILD)/tests/plugins/preload_ort.so

$(BUILD)/tests/plugins/%.so: $(O)/tests/plugins/%.o $(LIBKIT)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SHARED) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

# Plugins with the faults that `epprof conform` finds.
$(BUILD)/tests/hostile/%.so: $(O)/tests/hostile/%.o
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SHARED) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $^

# It finds libepprof in the command that opens it.
$(BUILD)/tests/fake_ort.so: $(call objects,$(call sources,tests/fake_ort))
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SHARED) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $^

$(foreach test,$(TESTS),$(eval $(call test_program,$(test)): $(call objects,$(test))))
$(foreach test,$(filter %.cc,$(TESTS)),$(call test_program,$(test))): LINKER = $(CXX)
$(TEST_PROGRAMS): $(BUILD)/tests/libeverything.a
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(PROGRAM) $(BUILD)/tests/libeverything.a $(CHECK_LIBS) $(BASE_LIBS) $(TRACE_LIBS)

# It makes traces to measure reading by, so it has the format's writing half of its own.
$(BENCH): $(call objects,$(BENCHES) $(STATELESS) runtime/trace/columns/columns_decode.c ep_sample/accelerator_clock.c) $(LIBTRACE) $(LIBEPPROF) $(LIBKIT)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(PROGRAM) $(LIBKIT) -L$(BUILD) -Wl,-rpath,'$$ORIGIN/..' -lepprof-trace -lepprof -lbsd -lzstd -lm

# The manual: its list of commands is what the command itself says.
MANUAL := $(BUILD)/man/epprof.1 $(BUILD)/man/epprof.5
SCDOC := $(shell command -v scdoc)

man: $(MANUAL)

$(MANUAL): $(BUILD)/man/%: docs/man/%.scd docs/man/commands $(BUILD)/epprof
	$(call say,MAN)
	@mkdir -p $(@D)
	$(Q)sh docs/man/commands $(BUILD)/epprof $< | scdoc >$@

# A tarball has the manual beside its sources, for machines without scdoc.
PAGES := $(if $(SCDOC),$(MANUAL),$(wildcard docs/man/epprof.1 docs/man/epprof.5))
DIST := epprof-$(VERSION)

dist: $(if $(SCDOC),$(MANUAL),dist-needs-scdoc)
	$(Q)rm -rf $(BUILD)/dist && mkdir -p $(BUILD)/dist/$(DIST)
	$(Q)git archive HEAD | tar -x -C $(BUILD)/dist/$(DIST)
	$(Q)cp $(MANUAL) $(BUILD)/dist/$(DIST)/docs/man
	$(Q)tar -czf $(BUILD)/$(DIST).tar.gz -C $(BUILD)/dist $(DIST)
	$(Q)rm -rf $(BUILD)/dist

dist-needs-scdoc:
	@echo "make dist: a tarball has the manual, which needs scdoc" >&2; exit 2

# ---- running ----

ifdef WIN
check: windows-check
else
# With T, only what that needs is built.  The scripts come first: one that builds and installs at the end would run alone.
check: all $(TEST_LIBRARIES) $(if $(T),$(filter $(T:%=$(BUILD)/tests/%),$(TEST_PROGRAMS)),$(TEST_PROGRAMS))
	$(Q)BUILD='$(BUILD)' SAN='$(SAN)' CC='$(CC)' CXX='$(CXX)' MAKE='$(MAKE)' ORT_HEADERS='$(ORT_HEADERS)' \
		$(EMULATE) tests/run $(if $(T),$(T),$(notdir $(SCRIPTS) $(basename $(TESTS))))
endif

# Tests with many repetitions, of which check runs fewer; it takes hours.
LONG_TESTS := check_kill check_kill_pushed check_many_sessions

.PHONY: check-long
check-long:
	$(Q)CHECK_KILLS=10000 CHECK_SESSIONS=10000 CHECK_LIMIT_S=36000 CK_TIMEOUT_MULTIPLIER=60 $(MAKE) check T='$(LONG_TESTS)'

# Many sessions, threads and plugins at once.
.PHONY: soak
soak: all $(BUILD)/tests/check_soak
	$(Q)SOAK_S='$(or $(TIME),600)' $(BUILD)/tests/check_soak

# Tests in real frameworks, which are fetched from PyPI; the others need neither them nor a network.
check-interop: all $(TEST_LIBRARIES)
	$(Q)BUILD='$(BUILD)' $(if $(SAN),$(error a Python that is not sanitized cannot load SAN=$(SAN))) tests/interop/run $(T)

run: $(if $(filter $(HOST),$(HOSTS)),run-$(HOST),$(error HOST=$(HOST) is none of: $(HOSTS)))

run-digits: all
	@mkdir -p $(BUILD)/run
	$(Q)$(BUILD)/digits --force -o $(BUILD)/run/digits.epp
	$(Q)$(BUILD)/epprof summary $(BUILD)/run/digits.epp

run-browser: run-digits
	$(Q)$(BUILD)/epprof view --report $(BUILD)/run/digits.epp

run-onnxruntime: $(SAMPLE_EPS)
	@mkdir -p $(BUILD)/run
	$(Q)python=$$(tests/interop/environment.py --under $(DEPS) onnxruntime numpy) && \
		$$python ep_sample/digits_onnxruntime.py $(BUILD)/libsample_ort_ep.so $(BUILD)/run/digits

bench: $(if $(filter $(HOST),$(HOSTS) python),bench-$(HOST),$(error HOST=$(HOST) is none of: $(HOSTS) python))

bench-digits: $(BENCH)
	$(Q)$(BENCH) $(B)

bench-browser: all
	$(Q)bench/bench_browser.py $(BUILD)/epprof

bench-python: $(PYTHON_MODULES) $(PYTHON_FILES)
	$(Q)bench/bench_python.py $(BUILD)

bench-onnxruntime: $(BRIDGES) $(NULL_EPS)
	$(Q)python=$$(tests/interop/environment.py onnxruntime$(ORT:%===%) numpy onnx) && $$python bench/bench_onnxruntime.py $(BUILD)

# The kernels of the sample EP for Vulkan, from their GLSL; needs Debian's glslang-tools.
vulkan-kernels:
	$(Q)cd ep_sample && { echo '/* Made of vulkan_kernels.comp by "make vulkan-kernels". */' && \
		printf '#%s EPPROF_EP_SAMPLE_VULKAN_KERNELS_H\n' ifndef define && echo && printf '#include <stdint.h>\n\n' && \
		echo 'static const uint32_t vulkan_kernels[] = {' && glslangValidator --quiet -V --target-env vulkan1.2 -g0 -x -o /dev/stdout \
		vulkan_kernels.comp | grep 0x && printf '};\n\n#endif\n'; } >vulkan_kernels.new && mv vulkan_kernels.new vulkan_kernels.h

# LDFLAGS is no argument, because some rules add to it.
COVERAGE := BUILD=build-coverage CFLAGS='-O0 -g --coverage'
COVERAGE_EXIT := build-coverage/objects/tests/support/coverage_exit.o

coverage:
	$(Q)$(MAKE) $(COVERAGE) $(COVERAGE_EXIT)
	$(Q)LDFLAGS='--coverage -Wl,--wrap=_exit $(CURDIR)/$(COVERAGE_EXIT)' $(MAKE) $(COVERAGE) check; code=$$?; \
		tests/coverage build-coverage; exit $$code

# Programs that take below a minute each under memcheck; T names others.
VALGRIND_TESTS := check_args check_codec check_csv check_timeline check_trace_reader

valgrind:
	$(Q)VALGRIND=1 $(MAKE) check T='$(or $(T),$(VALGRIND_TESTS))'

# The tree has its own flags: libFuzzer is clang's, and finds its way by instrumented code.
FUZZ_FLAGS := -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined

fuzz:
	$(Q)$(MAKE) BUILD=build-fuzz CC=clang CFLAGS='$(FUZZ_FLAGS)' build-fuzz/fuzz
	$(Q)tests/fuzz/run build-fuzz/fuzz '$(or $(TIME),60)' $(T)

$(BUILD)/fuzz: $(call objects,tests/fuzz/fuzz_main.c) $(BUILD)/tests/libeverything.a
	$(call say,LD)
	$(Q)$(PROGRAM) -fsanitize=fuzzer $(BUILD)/tests/libeverything.a $(CHECK_LIBS) $(BASE_LIBS) $(TRACE_LIBS)

lint:
	$(Q)tests/lint

abi: lib
	$(Q)ORT_HEADERS='$(ORT_HEADERS)' CC='$(CC)' tests/abi/run $(BUILD)

# What has not changed is not analysed again: a stamp for each file, and the cache of cppcheck.
ANALYZED := $(filter-out runtime/base/os/windows/% $(if $(OPENCL),,ep_sample/opencl_ep.c) $(if $(VULKAN),,ep_sample/vulkan_ep.c),$(call sources,runtime bridges cli cupti ep_kit ep_sample))
ANALYSIS := $(O)/analysis

analyze: $(ANALYZED:%.c=$(ANALYSIS)/%.ok) $(ANALYSIS)/cppcheck.ok

$(ANALYSIS)/%.ok: %.c .clang-tidy tests/analysis/run tests/analysis/gcc
	$(call say,ANALYZE)
	@mkdir -p $(@D)
	$(Q)tests/analysis/run file $(@:.ok=.d) $@ $< $(call flags,$<)

$(ANALYSIS)/cppcheck.ok: $(ANALYZED) tests/analysis/run tests/analysis/cppcheck
	$(call say,CPPCHECK)
	$(Q)tests/analysis/run cppcheck $(@D)/cppcheck $(ANALYZED)
	@touch $@

format:
	$(Q)clang-format -i $$(tests/lint --list)

# ---- installing ----

DIRS_bin := '$(DESTDIR)$(BINDIR)'
DIRS_lib := '$(DESTDIR)$(LIBDIR)'
DIRS_pc := '$(DESTDIR)$(LIBDIR)/pkgconfig'
DIRS_cmake := '$(DESTDIR)$(CMAKEDIR)'
DIRS_api := '$(DESTDIR)$(INCLUDEDIR)/epprof'
DIRS_kit := '$(DESTDIR)$(PREFIX)/share/epprof'
DIRS_man := '$(DESTDIR)$(MANDIR)'
DIRS_bash := '$(DESTDIR)$(PREFIX)/share/bash-completion/completions'
DIRS_zsh := '$(DESTDIR)$(PREFIX)/share/zsh/site-functions'
DIRS_python := '$(DESTDIR)$(LIBDIR)/epprof'
PACKAGES := epprof epprof-trace epprof-ep
# The installed command finds the libraries next to it, wherever the two were put together.
from_to = $(shell realpath -ms --relative-to='$(1)' '$(2)')
FROM_BIN_TO_LIB = $(call from_to,$(BINDIR),$(LIBDIR))

define PC_epprof
Description: Records events of hosts and of execution providers on one timeline
Libs: "-L$${libdir}" -lepprof
Libs.private: $(BASE_LIBS)
endef
define PC_epprof-trace
Description: Reads, merges and exports traces of epprof
Requires: epprof
Libs: "-L$${libdir}" -lepprof-trace
Libs.private: $(TRACE_LIBS)
endef
define PC_epprof-ep
Description: The kit for execution providers that embed OrtEpProfilerImpl
Libs: "-L$${libdir}" -lepprof_ep -lpthread
endef
define PC
prefix=$(PREFIX)
libdir=$(LIBDIR)
includedir=$(INCLUDEDIR)

Name: $(1)
Version: $(VERSION)
Cflags: "-I$${includedir}"
$(PC_$(1))
endef
$(foreach package,$(PACKAGES),$(eval export PC_TEXT_$(subst -,_,$(package)) = $$(call PC,$(package))))

# For find_package(epprof) of CMake, with paths relative to these files.
CMAKE_FILES := $(patsubst packaging/cmake/%.in,%,$(wildcard packaging/cmake/*.in))
as_cmake_list = $(subst $() ,;,$(strip $(1)))
CMAKE_FILL = sed -e 's|@VERSION@|$(VERSION)|g; s|@SOVERSION@|$(SOVERSION)|' \
	-e 's|@BASE_LIBS@|$(call as_cmake_list,$(BASE_LIBS))|; s|@TRACE_LIBS@|$(call as_cmake_list,$(TRACE_LIBS))|' \
	-e 's|@TO_INCLUDE@|$(call from_to,$(CMAKEDIR),$(INCLUDEDIR))|' \
	-e 's|@TO_KIT@|$(call from_to,$(CMAKEDIR),$(PREFIX)/share/epprof)|; s|@TO_LIB@|$(call from_to,$(CMAKEDIR),$(LIBDIR))|'

install: all $(PAGES)
	$(Q)$(INSTALL) -d $(DIRS_bin) $(DIRS_lib) $(DIRS_pc) $(DIRS_cmake) $(DIRS_api) $(DIRS_api)/abi $(DIRS_kit) $(DIRS_bash) $(DIRS_zsh)
	$(Q)$(INSTALL) -m 644 cli/completion/epprof.bash $(DIRS_bash)/epprof
	$(Q)$(INSTALL) -m 644 cli/completion/_epprof $(DIRS_zsh)
	$(if $(PAGES),,@echo "make install: WITHOUT THE MANUAL PAGES: install scdoc, or build from a tarball of make dist" >&2)
	$(if $(PAGES),$(Q)$(foreach page,$(PAGES),$(INSTALL) -D -m 644 $(page) $(DIRS_man)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)) &&) :)
	$(Q)$(INSTALL) -m 644 api/epprof/*.h api/epprof/*.hpp $(DIRS_api)
	$(Q)$(INSTALL) -m 644 api/epprof/abi/*.h $(DIRS_api)/abi
	$(Q)$(INSTALL) -m 644 $(filter %.a,$(LIBRARIES)) $(DIRS_lib)
	$(Q)$(INSTALL) -m 644 $(KIT_FILES) $(DIRS_kit)
	$(Q)$(INSTALL) -D -m 644 -t $(DIRS_kit)/clocks $(CLOCKS)
	$(Q)$(INSTALL) -m 755 $(TF_SHIM) $(PRELOAD) $(CUPTI) $(DIRS_lib)
	$(Q)for lib in $(basename $(notdir $(filter %.so,$(LIBRARIES)))); do \
		$(INSTALL) -m 755 $(BUILD)/$$lib.so.$(SOVERSION) $(DIRS_lib)/$$lib.so.$(VERSION) && \
		ln -sf $$lib.so.$(VERSION) $(DIRS_lib)/$$lib.so.$(SOVERSION) && \
		ln -sf $$lib.so.$(SOVERSION) $(DIRS_lib)/$$lib.so || exit 1; done
	$(Q)$(foreach bridge,$(basename $(notdir $(BRIDGES))),$(CC) $(call LINK_BRIDGE,$(DIRS_lib)/$(bridge).so,'$(LIBDIR)',$(OBJECTS_$(bridge))) &&) :
	$(Q)test ! -e $(KINETO) || $(call LINK_KINETO,$(DIRS_lib)/$(notdir $(KINETO)),'$(LIBDIR)')
	$(Q)$(foreach file,$(BRIDGE_PYTHON:$(BUILD)/%=%),$(INSTALL) -D -m 644 $(BUILD)/$(file) $(DIRS_python)/$(file) &&) :
	$(Q)$(foreach file,$(PYTHON_FILES:$(BUILD)/%=%),$(INSTALL) -D -m 644 $(BUILD)/$(file) $(DIRS_python)/$(file) &&) :
	$(Q)$(foreach module,$(basename $(basename $(notdir $(PYTHON_MODULES)))),$(call LINK_MODULE,$(DIRS_python)/python/epprof/$(module).abi3.so,../../..,$(OBJECTS_$(module))) &&) :
	$(Q)$(call LINK_COMMAND,$(DIRS_bin)/epprof,$(FROM_BIN_TO_LIB))
	$(Q)$(foreach package,$(PACKAGES),printf '%s\n' "$$PC_TEXT_$(subst -,_,$(package))" >$(DIRS_pc)/$(package).pc &&) :
	$(Q)$(foreach file,$(CMAKE_FILES),$(CMAKE_FILL) packaging/cmake/$(file).in >$(DIRS_cmake)/$(file) &&) :

# ---- the wheel ----

# `wheel` asks packaging/wheel/backend.py, which calls make again for what is in it, with zig's compiler.  The command and the
# bridges lie beside the libraries.
WHEEL := $(BUILD)/wheel/epprof
WHEEL_LIB := $(WHEEL)/lib
# The bridge into PyTorch is compiled where the wheel is installed (epprof_kineto.py).
WHEEL_KINETO := $(wildcard bridges/pytorch/*.cc bridges/pytorch/*.h bridges/shared/hosted_plugins.* api/epprof/*.h api/epprof/abi/*.h)

wheel:
	$(Q)python=$$(tests/interop/environment.py build ziglang) && $$python -m build --wheel --no-isolation --outdir dist .

wheel-tree: lib $(BRIDGES) $(PRELOAD) $(CUPTI) $(BRIDGE_PYTHON) $(PYTHON_MODULES) $(PYTHON_FILES) $(BUILD)/epprof
	$(Q)rm -rf $(BUILD)/wheel && $(INSTALL) -d $(WHEEL_LIB)
	$(Q)$(INSTALL) -m 755 $(LIBEPPROF).$(SOVERSION) $(LIBTRACE).$(SOVERSION) $(TF_SHIM) $(PRELOAD) $(CUPTI) $(WHEEL_LIB)
	$(Q)$(foreach bridge,$(basename $(notdir $(BRIDGES))),$(CC) $(call LINK_BRIDGE,$(WHEEL_LIB)/$(bridge).so,'$$ORIGIN',$(OBJECTS_$(bridge))) &&) :
	$(Q)$(call LINK_COMMAND,$(WHEEL_LIB)/epprof,.)
	$(Q)$(foreach module,$(basename $(basename $(notdir $(PYTHON_MODULES)))),$(call LINK_MODULE,$(WHEEL)/$(module).abi3.so,lib,$(OBJECTS_$(module))) &&) :
	$(Q)$(foreach file,$(PYTHON_FILES:$(BUILD)/python/%=%),$(INSTALL) -m 644 $(BUILD)/python/$(file) $(WHEEL) &&) :
	$(Q)$(foreach file,$(filter-out epprof_record/%,$(BRIDGE_PYTHON:$(BUILD)/python/%=%)),$(INSTALL) -D -m 644 $(BUILD)/python/$(file) $(BUILD)/wheel/$(file) &&) :
	$(Q)$(foreach file,$(filter epprof_record/%,$(BRIDGE_PYTHON:$(BUILD)/python/%=%)),$(INSTALL) -D -m 644 $(BUILD)/python/$(file) $(WHEEL_LIB)/python/$(file) &&) :
	$(Q)$(foreach file,$(WHEEL_KINETO),$(INSTALL) -D -m 644 $(file) $(WHEEL_LIB)/kineto/$(file) &&) :
	$(Q)$(INSTALL) -m 644 packaging/wheel/epprof_command.py $(BUILD)/wheel
	$(Q)$(INSTALL) -D -m 644 -t $(WHEEL)/kit $(KIT_FILES)
	$(Q)$(INSTALL) -D -m 644 -t $(WHEEL)/kit/clocks $(CLOCKS)
	$(Q)$(INSTALL) -D -m 644 -t $(WHEEL)/completion cli/completion/epprof.bash cli/completion/_epprof

uninstall:
	rm -f $(DIRS_bash)/epprof $(DIRS_zsh)/_epprof $(DIRS_man)/man1/epprof.1 $(DIRS_man)/man5/epprof.5
	rm -f $(DIRS_bin)/epprof $(PACKAGES:%=$(DIRS_pc)/%.pc) $(DIRS_lib)/libepprof_ep.a \
		$(DIRS_lib)/$(notdir $(TF_SHIM)) $(DIRS_lib)/$(notdir $(PRELOAD)) $(addprefix $(DIRS_lib)/,$(notdir $(CUPTI))) $(foreach bridge,$(notdir $(BRIDGES) $(KINETO)),$(DIRS_lib)/$(bridge))
	rm -f $(foreach lib,libepprof libepprof-trace,$(DIRS_lib)/$(lib).a $(DIRS_lib)/$(lib).so $(DIRS_lib)/$(lib).so.$(SOVERSION) \
		$(DIRS_lib)/$(lib).so.$(VERSION))
	rm -rf $(DIRS_api) $(DIRS_kit) $(DIRS_python) $(DIRS_cmake)

clean:
	rm -rf build build-*

-include $(shell find $(O) -name '*.d' 2>/dev/null)
