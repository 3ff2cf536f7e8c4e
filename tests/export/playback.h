/* Plays the events of a Chrome trace back as a viewer would. */
#ifndef EPPROF_TESTS_EXPORT_PLAYBACK_H
#define EPPROF_TESTS_EXPORT_PLAYBACK_H

#include "tests/support/strict_json.h"

/* Fails the test unless: on each row every slice lies inside the one around it; every row that is used has one name;
 * every arrow has both its ends, starts and ends in a slice, and does not lead back in time.  `parents`: it ends in a
 * slice that names the one it starts in as its parent.  Returns how many arrows there are. */
size_t playback(const struct json *events, bool parents);

#endif
