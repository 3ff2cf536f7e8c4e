/* The table of formats for a bridge.  A bridge only writes XSpace, so the writers of other formats, and the libraries
 * that they need (SQLite, zlib, zstd), are not in the framework's process. */
#include "export/writer.h"

const struct export_writer *const export_writers[] = { &export_xspace };
const size_t export_writers_count = sizeof export_writers / sizeof *export_writers;
