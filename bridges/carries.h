/* What bridges know each other by: each that opens what EPPROF_PROFILERS names exports this.  One that is named there itself
 * would open all of that again, itself among it. */
#ifndef EPPROF_BRIDGES_CARRIES_H
#define EPPROF_BRIDGES_CARRIES_H

#define CARRIES_SYMBOL "epprof_carries"

extern __attribute__((visibility("default"))) const char epprof_carries[];

#endif
