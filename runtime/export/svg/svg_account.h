/* Writes the account of a trace into its pictures: the losses in words, all of it as metadata. */
#ifndef EPPROF_RUNTIME_EXPORT_SVG_SVG_ACCOUNT_H
#define EPPROF_RUNTIME_EXPORT_SVG_SVG_ACCOUNT_H

#include "export/writer.h"

/* Writes the content of a text element: "none lost", or how many, with a title that names the producers and reasons. */
epp_status *svg_write_lost(struct export_run *run) EPP_MUST_CHECK;
/* Writes a metadata element with a JSON object: "facts", and "ledger", an array with an object for each producer. */
epp_status *svg_write_account(struct export_run *run) EPP_MUST_CHECK;

#endif
