/* The plugin of tf_ep.c as the first revision of the proposal had it: its table has 48 bytes, with an entry for RunMetadata
 * in front of the one for XSpace.  TensorFlow never had room for that; epprof's hosts have. */
#define TF_EP_FIRST_REVISION
#include "tf_ep.c"
