/* The plugin of tf_ep.c with the table of the proposal's first revision: 48 bytes, with an entry for RunMetadata before
 * the one for XSpace.  As plugins of that time it does not look at the host's struct_size: it needs a host
 * with room for its table.  epprof's hosts have it; TensorFlow has not, and `epprof conform` reports that as a failure of
 * 1.tf.room. */
#define TF_EP_FIRST_REVISION
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same plugin with an older table */
#include "tf_ep.c"
