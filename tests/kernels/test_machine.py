from tokenmill.kernels.machine import available_cores, free_memory


def test_memory_and_cores_are_positive():
    assert 1 << 20 < free_memory() < 1 << 50
    assert 1 <= available_cores() < 1 << 20
