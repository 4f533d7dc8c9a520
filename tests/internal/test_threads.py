import threadpoolctl

from qufur._internal.threads import single_blas_thread


def max_blas_threads():
    """Return the largest number of threads of a BLAS library; OpenMP loaded later is not limited."""
    pools = threadpoolctl.threadpool_info()
    return max(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")


def test_inner_limit_keeps_the_outer_one():
    with threadpoolctl.threadpool_limits(2):
        with single_blas_thread():
            with single_blas_thread():
                assert max_blas_threads() == 1
            assert max_blas_threads() == 1
        assert max_blas_threads() == 2
        with single_blas_thread():
            assert max_blas_threads() == 1
