/* The parts of fake_ort.so, a library that answers as ONNX Runtime's does, as far as `epprof run` calls it: it registers EP
 * libraries, makes sessions with their profilers, shows these its events, and writes a profile.  It computes nothing.
 *
 * A model is a text: "fake model", then lines "input NAME TYPE DIMS" (a name with blanks is quoted: 'a b'; a type's number;
 * "2,N,?", or "-" for a scalar) and "node NAME PROVIDER"; a node that is not the CPU's has a kernel in the profile.
 *
 * FAKE_ORT      words: version=1.30.0; no_tables; log=TEXT; fail=ENTRY (CreateSession or Run); needs=256,
 *               the last dimension of the first input without which Run fails; run_ms=20, how long a run
 *               lasts; kernels=late, a second after their cause; kernels=lost, and they do not tell it;
 *               kernels=alone, which name no cause;
 *               kernels=broken, what ONNX Runtime makes of args that it does not escape, one with a negative duration, and the
 *               kit's epprof.lost of 30 events; end_fails, EndProfiling of SampleEP fails and its kernels are dropped;
 *               kernels=first, only of the first runs; kernels=some, not in each fifth profile;
 *               twins, nodes of two threads begin together and one lasts longer, with kernels at their ends; twins=told,
 *               and kernels tell their thread
 * FAKE_ORT_LOG  a file for what was asked for, a line each */
#ifndef EPPROF_TESTS_FAKE_ORT_FAKE_ORT_H
#define EPPROF_TESTS_FAKE_ORT_FAKE_ORT_H

#include <pthread.h>

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/status.h"

#define FAKE_LIST_MAX 8
#define FAKE_LINES_MAX 1000000 /* as ONNX Runtime */

/* What is handed out: libepprof's tables with a host's entries put in. */
extern OrtApi api;
extern OrtEpApi ep_api;
extern OrtHardwareDevice *cpu;

/* ---- fake_ort.c ---- */

EPP_EXPORT const OrtApiBase *OrtGetApiBase(void);

/* What stands behind a key in FAKE_ORT, or NULL. */
const char *word(const char *key);
OrtStatus *failure_of(const char *entry);
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- fake_libraries.c: EP libraries, and the EPs that the session has ---- */

struct fake_ep {
	OrtEpFactory *factory;
	OrtEpDevice *device;
	OrtEp *ep;
};
extern struct fake_ep fake_eps[FAKE_LIST_MAX];
extern size_t fake_eps_count;

/* Logs as an error. */
void fake_log(const char *message);
OrtStatus *fake_eps_create(const OrtSessionOptions *options);
void fake_eps_release(void);
void fake_libraries_fill(void);

/* ---- fake_profile.c: one profile, of the session or of a run ---- */

struct profile {
	unsigned number; /* in the process, from 0 */
	int64_t began_us;
	OrtEpProfilerImpl *profilers[FAKE_LIST_MAX];
	size_t profilers_count;
	pthread_mutex_t lock;
	char **lines;
	size_t lines_count;
	char path[600];
};

int64_t now_us(void);
void begin_profile(struct profile *profile, const char *prefix);
void end_profile(struct profile *profile);
int64_t begin_event(struct profile *profile);
/* In the microsecond in which another thread's event begins too; one of the two is to last until the other has
 * ended. */
int64_t begin_twin(struct profile *profile, bool *lasts);
void wait_for_twin(void);
void release_twin(void);
void end_event(struct profile *profile, int64_t start_us, OrtProfilingEventCategory category, const char *name);
/* As a provider that knows nothing of epprof gives it: `late_us` after its cause began. */
void add_kernel(struct profile *profile, int64_t cause_us, int64_t late_us, const char *name);

/* ---- fake_model.c, fake_values.c ---- */

/* An error unless the last dimension is `size`. */
OrtStatus *check_size(const OrtValue *value, int64_t size);
OrtStatus *create_tensor(OrtAllocator *allocator, const int64_t *dims, size_t rank, ONNXTensorElementDataType type,
                         OrtValue **out);
void tell_values(const char *const *names, const OrtValue *const *values, size_t count);
void fake_values_fill(void);
void fake_model_fill(void);

#endif
