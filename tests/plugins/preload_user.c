/* A library that links ONNX Runtime (preload_ort.so), and creates a session without epprof. */
#include "preload_ort.h"

#define EXPORT __attribute__((visibility("default")))

extern const OrtApiBase *OrtGetApiBase(void);
EXPORT unsigned collectors_of_a_session(void);

/* Returns the number of collectors that the session has. */
unsigned collectors_of_a_session(void)
{
	const OrtApi *api = OrtGetApiBase()->GetApi(EPPROF_ORT_API_VERSION);
	OrtSession *session;

	OrtStatus *status = api->CreateSession((const OrtEnv *)api, "model", NULL, &session);
	if (status) {
		api->ReleaseStatus(status);
		return 0;
	}
	unsigned collectors_count = session->collectors_count;
	api->ReleaseSession(session);
	return collectors_count;
}
