/* The plugin of tf_ep.c with the table of the proposal's first revision: 48 bytes, with an entry for RunMetadata before
 * the one for XSpace.  As plugins of that time did, it ignores the host's struct_size, so the host must have room for
 * its table. epprof's hosts have room.  TensorFlow has none, and `epprof conform` reports this as a failure of
 * 1.tf.room. */
#define TF_EP_FIRST_REVISION
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same plugin with an older table */
#include "tf_ep.c"
