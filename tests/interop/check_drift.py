#!/usr/bin/env python3
"""A device whose clock is 200 ppm fast: where its events stand in the profile that ONNX Runtime writes."""
import unittest

import interop

interop.in_each_environment()
import ort

RUNS = 20000


def profile_with(library):
    images, _ = ort.digits()
    with ort.Library(library, "SampleEP") as sample:
        session = ort.session(str(interop.DATA / "digits.onnx"), sample, profiled=True, intra_op_num_threads=1)
        for _ in range(RUNS):
            session.run(None, {"x": images[:16]})
        profile = ort.profile_of(session)
        del session
    return profile


class Drift(unittest.TestCase):
    def test_fitted_all_events_lie_within_their_parents(self):
        profile = profile_with("libsample_ort_ep")
        self.assertEqual(len(profile.named("gemm")), 2 * RUNS)
        self.assertEqual(profile.lost, [])
        self.assertEqual(profile.outside()[:5], [])

    def test_by_one_reading_of_the_clock_most_lie_outside(self):
        profile = profile_with("tests/plugins/formula_ep")
        self.assertEqual(len(profile.named("gemm")), 2 * RUNS)
        self.assertGreater(len(profile.outside()), len(profile.kernels) / 2)


if __name__ == "__main__":
    interop.main()
