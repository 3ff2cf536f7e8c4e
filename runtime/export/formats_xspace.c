/* The table of formats of a bridge, which hands its framework an XSpace: the writers of other formats, and the libraries that
 * these need (SQLite, zlib, zstd), are not linked into the framework's process. */
#include "export/writer.h"

const struct export_writer *const export_writers[] = { &export_xspace };
const size_t export_writers_count = sizeof export_writers / sizeof *export_writers;
