# make WIN=1: epprof for Windows on x86-64, in build-windows/, with clang and the headers and libraries of MinGW (`./setup --dev
# --interop`).
#
#   libepprof.dll, libepprof.a               record
#   libepprof-trace.dll, libepprof-trace.a   read, export, merge, rewrite and import traces
#   libepprof_ort.dll                        the collector in ONNX Runtime
#   epprof.exe                               the command; it needs libepprof.dll, and for epprof run libepprof_ort.dll
#
# Left out: window_shrink.c (a finished trace keeps its window), control (`epprof ctl`), the search for plugins, the other
# bridges, and the commands that need these, other processes or sockets.  docs/windows.md describes it.

WIN_INCLUDE := runtime/base/os/windows/include
# Cargo fetches the sources of SQLite, zlib and zstd, which have no packages for MinGW everywhere; apt-get fetches yajl's.
WIN_FETCHED := $(BUILD)/libraries/fetched
WIN_VENDOR := $(BUILD)/libraries/vendor
WIN_SQLITE := $(WIN_VENDOR)/libsqlite3-sys/sqlite3
WIN_ZLIB := $(WIN_VENDOR)/libz-sys/src/zlib
WIN_ZSTD := $(WIN_VENDOR)/zstd-sys/zstd/lib
WIN_YAJL_FETCHED := $(BUILD)/libraries/debian/sources/complete
WIN_YAJL := $(BUILD)/libraries/debian/sources/yajl
WIN_LIBRARIES := $(addprefix $(BUILD)/libraries/,libsqlite3.a libyajl.a libz.a libzstd.a)
# Headers of libbsd that the C library lacks; they need nothing else.
WIN_COPIED := $(addprefix $(BUILD)/include/,sys/queue.h bsd/sys/tree.h)
# Headers of tests/windows/include take the place of others of the same path.
WIN_FLAGS := -Itests/windows/include -D__USE_MINGW_ANSI_STDIO=1 -D_WIN32_WINNT=0x0A00 -D_FILE_OFFSET_BITS=64 -D_POSIX_THREAD_SAFE_FUNCTIONS=200112L \
	$(addprefix -isystem ,$(BUILD)/include $(WIN_INCLUDE) $(WIN_SQLITE) $(WIN_ZLIB) $(WIN_ZSTD) $(WIN_YAJL)/include) -include $(WIN_INCLUDE)/libc.h
WIN_LIBS := -lsynchronization -pthread
# As large as on Linux.
WIN_STACK := -Wl,--stack,8388608

WIN_MAIN := runtime/base/os/windows/main.c
STATELESS := $(filter-out runtime/base/os/linux.c $(WIN_MAIN),$(call parts,containers encoding codec base/os))
EPPROF := $(filter-out runtime/base/os/% %/window_shrink.c runtime/record/control/%,$(call parts,base ort_abi storage record)) \
	$(filter-out $(addprefix %/,elf.c file_set.c load_trial.c path_check.c plugin_files.c plugin_path.c tf_shim_load.c),$(call parts,plugins)) \
	packaging/windows/left_out.c
TRACE := $(filter-out %/formats_xspace.c,$(call parts,files trace merge anonymize timeline analysis export sql import provider_events))
ORT_BRIDGE := $(filter-out $(addprefix %/,ort_hosted.c ort_profile.c ort_slots.c hosted_plugins.c),$(ORT_BRIDGE)) packaging/windows/left_out_bridge.c
CLI := $(filter-out $(addprefix cli/,conform/% ctl/% view/% bridge.c \
	shared/post.c shared/progress.c $(addprefix record/record_,estimate.c hooks.c program.c watch.c) run/run_folder.c run/run_search.c),$(CLI)) \
	packaging/windows/left_out_command.c packaging/windows/record_program.c packaging/windows/run_search.c $(WIN_MAIN)
WIN_SUPPORT := $(addprefix tests/support/,epp_builder.c epp_builder_records.c export_text.c parquet_text.c sql_text.c sqlite_text.c \
	strict_json.c thrift_text.c trace_scan.c trace_scan_ask.c xspace_text.c) tests/export/html_text.c tests/export/playback.c \
	$(TRUTH) tests/windows/check.c
# Tests of the recorder and the reader that use nothing of Linux.  Others make the system fail, fork, or need each test in a
# process of its own.
WIN_TESTS := $(wildcard $(addprefix tests/,analysis/check_histogram.c base/check_growing_structs.c containers/check_*.c codec/check_*.c \
	export/check_export.c export/check_export_merged.c export/check_html.c export/check_ndjson.c \
	$(addprefix import/check_,import_chrome.c json_events.c ort_round_trip.c repair.c) cli/check_import.c \
	$(addprefix plugin_abis/ort/check_ort_,events.c key_values.c memory_info.c tables.c) \
	record/check_recorder.c record/check_args_interned.c storage/check_kill.c \
	$(addprefix timeline/check_,device_clock.c host_clock.c late_parents.c nesting.c references.c references_events.c separate_ends.c \
	spill.c timeline.c timeline_damage.c timeline_devices.c timeline_random.c weights.c) \
	trace/check_columns.c $(addprefix trace/check_reader,.c _args.c _definitions.c _ledger.c _open_events.c _records.c _scan.c _tracks.c)))
WIN_PROGRAMS := $(patsubst %.c,$(BUILD)/tests/%.exe,$(notdir $(WIN_TESTS) tests/windows/trace_host.c))

.PHONY: windows windows-check
windows: $(BUILD)/libepprof.dll $(BUILD)/libepprof.a $(BUILD)/libepprof-trace.dll $(BUILD)/libepprof-trace.a $(BUILD)/libepprof_ort.dll $(BUILD)/epprof.exe

$(BUILD)/include/bsd/%: /usr/include/bsd/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/include/sys/queue.h: /usr/include/bsd/sys/queue.h
	@mkdir -p $(@D)
	$(Q)cp $< $@

# A change of this header is not in the lists of the compiler, which leave out system headers.
$(call objects,$(EPPROF) $(STATELESS) $(TRACE) $(ORT_BRIDGE) $(CLI) $(WIN_SUPPORT) $(WIN_TESTS) tests/windows/trace_host.c): $(WIN_INCLUDE)/libc.h | $(WIN_COPIED)
$(call objects,$(TRACE) $(WIN_SUPPORT)): | $(WIN_FETCHED) $(WIN_YAJL_FETCHED)
# The program begins in $(WIN_MAIN).
$(O)/cli/main.o: EXTRA = -Dmain=program_main -Wno-missing-prototypes

$(BUILD)/tests/libsupport.a: $(call objects,$(WIN_SUPPORT))

# ---- the libraries of others ----

# The two variables let cargo 1.65, which is Debian 12's, fetch the index by file instead of all of it by git; a newer cargo does so
# by itself.
$(WIN_FETCHED): packaging/windows/libraries/Cargo.toml
	@command -v cargo >/dev/null || { echo "make WIN=1: cargo is missing, which fetches the sources of SQLite, zlib and zstd" >&2; exit 1; }
	@echo "  FETCH	libraries"
	@rm -rf $(WIN_VENDOR) && mkdir -p $(@D)
	$(Q)cp $(<D)/Cargo.toml $(<D)/none.rs $(@D) && cd $(@D) && \
		RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_SPARSE_REGISTRY=true cargo vendor --quiet vendor >/dev/null
	@touch $@

$(WIN_YAJL_FETCHED): packaging/wheel/third_party.py
	@echo "  FETCH	yajl"
	$(Q)rm -rf $(@D) && python3 $< $(BUILD)/libraries/debian yajl

WIN_COMPILE_OTHERS = $(CC) -O2 -w -ffunction-sections -fdata-sections

$(BUILD)/libraries/libsqlite3.a: $(WIN_FETCHED)
	$(call say,CC)
	$(Q)$(WIN_COMPILE_OTHERS) -DSQLITE_OMIT_LOAD_EXTENSION -c -o $(@:.a=.o) $(WIN_SQLITE)/sqlite3.c && rm -f $@ && $(AR) rcs $@ $(@:.a=.o)

# The names are known when the sources are there.
$(BUILD)/libraries/libyajl.a: $(WIN_YAJL_FETCHED)
	$(call say,CC)
	$(Q)rm -rf $@ $(@D)/yajl && mkdir -p $(@D)/yajl && for source in $(WIN_YAJL)/src/yajl*.c; do \
		$(WIN_COMPILE_OTHERS) -I$(WIN_YAJL)/include -c -o $(@D)/yajl/$$(basename $$source .c).o $$source || exit 1; done && \
		$(AR) rcs $@ $(@D)/yajl/*.o
$(BUILD)/libraries/libz.a: $(WIN_FETCHED)
	$(call say,CC)
	$(Q)rm -rf $@ $(@D)/z && mkdir -p $(@D)/z && for name in adler32 crc32 deflate inffast inflate inftrees trees zutil; do \
		$(WIN_COMPILE_OTHERS) -c -o $(@D)/z/$$name.o $(WIN_ZLIB)/$$name.c || exit 1; done && $(AR) rcs $@ $(@D)/z/*.o
$(BUILD)/libraries/libzstd.a: $(WIN_FETCHED)
	$(call say,CC)
	$(Q)rm -rf $@ $(@D)/zstd && mkdir -p $(@D)/zstd && for source in $(WIN_ZSTD)/common/*.c $(WIN_ZSTD)/compress/*.c $(WIN_ZSTD)/decompress/*.c; do \
		$(WIN_COMPILE_OTHERS) -DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_ -c -o $(@D)/zstd/$$(basename $$source .c).o $$source || exit 1; done && \
		$(AR) rcs $@ $(@D)/zstd/*.o

# ---- what is linked ----

# What the public headers declare.
$(BUILD)/libepprof.def: $(call objects,$(EPPROF) $(STATELESS))
$(BUILD)/libepprof-trace.def: $(call objects,$(TRACE) $(STATELESS))
$(BUILD)/%.def:
	$(Q)grep -oh '\bepp_[a-z0-9_]*' api/epprof/*.h | sort -u >$@.names
	$(Q){ echo EXPORTS; $(NM) -g --defined-only $^ | sed -n 's/.* \([TBDR]\) \(epp_[a-z0-9_]*\)$$/\2 \1/p' | sort | join - $@.names | \
		sed 's/ T$$//; s/ .$$/ DATA/'; } >$@

$(BUILD)/libepprof.dll: $(BUILD)/libepprof.def $(call objects,$(EPPROF) $(STATELESS))
	$(call say,LD)
	$(Q)$(WIN_LD) -shared -static $(CFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--out-implib,$@.a $(WIN_LIBS)

$(BUILD)/libepprof-trace.dll: $(BUILD)/libepprof-trace.def $(call objects,$(TRACE) $(STATELESS)) $(BUILD)/libepprof.dll $(WIN_LIBRARIES)
	$(call say,LD)
	$(Q)$(WIN_LD) -shared -static $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.def %.o,$^) $(BUILD)/libepprof.dll.a $(WIN_LIBRARIES) \
		-Wl,--out-implib,$@.a -Wl,--gc-sections $(WIN_LIBS)

$(BUILD)/libepprof_ort.dll: $(call objects,$(ORT_BRIDGE) $(STATELESS)) $(BUILD)/libepprof-trace.a $(BUILD)/libepprof.dll $(WIN_LIBRARIES)
	$(call say,LD)
	$(Q)printf '%s\n' EXPORTS CreateEpFactories ReleaseEpFactory EpprofGetCollector >$(@:.dll=.def)
	$(Q)$(WIN_LD) -shared -static $(CFLAGS) $(LDFLAGS) -o $@ $(@:.dll=.def) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
		$(BUILD)/libepprof.dll.a -Wl,--gc-sections $(WIN_LIBS)

WIN_LINK = $(WIN_LD) -static $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(WIN_STACK) \
	-Wl,--gc-sections $(WIN_LIBS)

# It shares libepprof.dll with the collector, which records into the session of epprof run.
$(BUILD)/epprof.exe: $(call objects,$(CLI) $(STATELESS)) $(BUILD)/libepprof-trace.a $(BUILD)/libepprof.dll $(WIN_LIBRARIES)
	$(call say,LD)
	$(Q)$(WIN_LINK) $(BUILD)/libepprof.dll.a -municode

$(WIN_PROGRAMS): $(BUILD)/tests/libsupport.a $(BUILD)/libepprof-trace.a $(BUILD)/libepprof.a $(WIN_LIBRARIES)
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(WIN_LINK)
$(foreach test,$(WIN_TESTS) tests/windows/trace_host.c,$(eval $(BUILD)/tests/$(notdir $(basename $(test))).exe: $(call objects,$(test))))

# The same with the DLLs, which are beside it.
$(BUILD)/tests/trace_host_dll.exe: $(call objects,tests/windows/trace_host.c) $(BUILD)/libepprof-trace.dll $(BUILD)/libepprof.dll
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)cp $(filter %.dll,$^) $(@D)
	$(Q)$(WIN_LD) -static $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(addsuffix .a,$(filter %.dll,$^)) $(WIN_LIBS)

windows-check: windows $(BUILD)/tests/trace_host.exe $(BUILD)/tests/trace_host_dll.exe $(if $(T),$(filter $(T:%=$(BUILD)/tests/%.exe),$(WIN_PROGRAMS)),$(WIN_PROGRAMS))
	$(Q)BUILD='$(BUILD)' tests/windows/run $(if $(T),$(T),check_windows_trace check_windows_command check_windows_record $(notdir $(basename $(WIN_TESTS))))
