import threadpoolctl

from qufur.threads import one_thread


def most():
    return max(pool["num_threads"] for pool in threadpoolctl.threadpool_info())


def test_the_inner_of_two_holds_leaves_the_outer_one():
    with threadpoolctl.threadpool_limits(2):
        with one_thread():
            with one_thread():
                assert most() == 1
            assert most() == 1
        assert most() == 2
        with one_thread():
            assert most() == 1
