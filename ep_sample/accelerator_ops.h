/* What the accelerator's commands do, apart from queues and threads; used by accelerator.c alone. */
#ifndef EPPROF_EP_SAMPLE_ACCELERATOR_OPS_H
#define EPPROF_EP_SAMPLE_ACCELERATOR_OPS_H

#include "accelerator.h"

/* True if `stream` can run the command and each buffer is there and large enough. */
bool accelerator_command_valid(const accelerator_command *command, accelerator_stream stream);

/* Keeps the command's buffers alive, until accelerator_command_forget. */
void accelerator_command_keep(const accelerator_command *command);
void accelerator_command_forget(const accelerator_command *command);

/* Computes or copies, on the calling thread. */
void accelerator_command_run(const accelerator_command *command);

/* All of a completion but stream and times. */
accelerator_completion accelerator_command_describe(const accelerator_command *command);

#endif
