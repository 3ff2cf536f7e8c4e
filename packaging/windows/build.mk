# make WIN=1: epprof for Windows on x86-64, in build-windows/, with clang and the headers and libraries of MinGW (`./setup --dev
# --interop`).
#
#   libepprof.dll, libepprof.a   record
#   libepprof-trace.a            reads and validates traces, except packed ones, which need zstd
#
# Left out: window_shrink.c (a finished trace keeps its window of 60 MiB), control (`epprof ctl`), plugins, the trace writer and
# all that needs timelines: exports, merging, the command and the bridges.  docs/windows.md describes it.

WIN_INCLUDE := runtime/base/os/windows/include
# The C library has no sys/queue.h; libbsd's needs nothing else.
WIN_QUEUE := $(BUILD)/include/sys/queue.h
# Headers of tests/windows/include take the place of others of the same path.
WIN_FLAGS := -Itests/windows/include -D__USE_MINGW_ANSI_STDIO=1 -D_WIN32_WINNT=0x0A00 -D_FILE_OFFSET_BITS=64 \
	-isystem $(BUILD)/include -isystem $(WIN_INCLUDE) -include $(WIN_INCLUDE)/libc.h
WIN_LIBS := -lsynchronization -pthread

STATELESS := $(filter-out runtime/base/os/linux.c,$(call parts,containers encoding codec base/os))
EPPROF := $(filter-out runtime/base/os/% %/window_shrink.c runtime/record/control/%,$(call parts,base ort_abi storage record)) \
	packaging/windows/left_out.c
TRACE := $(filter-out runtime/trace/writer/% %/columns_encode.c,$(call parts,trace)) runtime/trace/writer/trace_writer_index.c bridges/shared/no_zstd.c
WIN_SUPPORT := $(addprefix tests/support/,epp_builder.c epp_builder_records.c trace_scan.c trace_scan_ask.c) tests/windows/check.c
# Tests of the recorder and the reader that use nothing of Linux.  Others make the system fail, fork, or read a trace that is being
# recorded, which is read as one that was killed.
WIN_TESTS := $(wildcard $(addprefix tests/,containers/check_*.c codec/check_*.c base/check_growing_structs.c \
	record/check_recorder.c record/check_args_interned.c storage/check_kill.c trace/check_reader.c \
	trace/check_reader_ledger.c trace/check_reader_records.c))
WIN_PROGRAMS := $(patsubst %.c,$(BUILD)/tests/%.exe,$(notdir $(WIN_TESTS) tests/windows/trace_host.c))

.PHONY: windows windows-check
windows: $(BUILD)/libepprof.dll $(BUILD)/libepprof.a $(BUILD)/libepprof-trace.a

$(WIN_QUEUE): /usr/include/bsd/sys/queue.h
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(call objects,$(EPPROF) $(STATELESS) $(TRACE) $(WIN_SUPPORT) $(WIN_TESTS) tests/windows/trace_host.c): $(WIN_QUEUE)

$(BUILD)/tests/libsupport.a: $(call objects,$(WIN_SUPPORT))

# What the public headers declare.
$(BUILD)/libepprof.def: $(call objects,$(EPPROF) $(STATELESS))
	$(Q)grep -oh '\bepp_[a-z0-9_]*' api/epprof/*.h | sort -u >$@.names
	$(Q){ echo EXPORTS; $(NM) -g --defined-only $^ | sed -n 's/.* \([TBDR]\) \(epp_[a-z0-9_]*\)$$/\2 \1/p' | sort | join - $@.names | \
		sed 's/ T$$//; s/ .$$/ DATA/'; } >$@

$(BUILD)/libepprof.dll: $(BUILD)/libepprof.def $(call objects,$(EPPROF) $(STATELESS))
	$(call say,LD)
	$(Q)$(WIN_LD) -shared -static $(CFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--out-implib,$@.a $(WIN_LIBS)

$(WIN_PROGRAMS): $(BUILD)/tests/libsupport.a $(BUILD)/libepprof-trace.a $(BUILD)/libepprof.a
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(WIN_LD) -static $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(WIN_LIBS)
$(foreach test,$(WIN_TESTS) tests/windows/trace_host.c,$(eval $(BUILD)/tests/$(notdir $(basename $(test))).exe: $(call objects,$(test))))

windows-check: windows $(BUILD)/tests/trace_host.exe $(if $(T),$(filter $(T:%=$(BUILD)/tests/%.exe),$(WIN_PROGRAMS)),$(WIN_PROGRAMS))
	$(Q)BUILD='$(BUILD)' tests/windows/run $(if $(T),$(T),check_windows_trace $(notdir $(basename $(WIN_TESTS))))
