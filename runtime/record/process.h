/* Setup of the library in its process. */
#ifndef EPPROF_RUNTIME_RECORD_PROCESS_H
#define EPPROF_RUNTIME_RECORD_PROCESS_H

/* Sets up the clock, the barrier, ids and fork handlers once: at load, or at the first session if another library's
 * constructor runs earlier. A reference to it also links the constructor from the static library. */
void process_setup(void);

#endif
