"""Marks that the tests of other projects use."""


def pytest_configure(config):
    for name in ("slow", "generate", "flash_attn_test"):
        config.addinivalue_line("markers", f"{name}: of another project")
