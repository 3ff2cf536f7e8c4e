/* The library in its process. */
#ifndef EPPROF_RUNTIME_RECORD_PROCESS_H
#define EPPROF_RUNTIME_RECORD_PROCESS_H

/* Sets the clock, the barrier, ids and fork handlers up, once: at load, or at the first session if another library's
 * constructor is quicker.  Naming it also brings the constructor along from the static library. */
void process_setup(void);

#endif
