/* epprof convert --run: writes traces as a folder of Parquet files. */
#ifndef EPPROF_CLI_DATASET_H
#define EPPROF_CLI_DATASET_H

#include "cli/shared/conversion.h"

/* Writes the traces as the folder OUTPUT/run=RUN, where OUTPUT is conversion->output.  Returns an enum cli_exit. */
int dataset_run(const struct conversion *conversion, const char *run, char *const *paths, size_t count);

#endif
