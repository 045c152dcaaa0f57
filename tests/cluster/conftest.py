"""One Ray cluster for all tests here: starting it takes ten seconds."""

import os
from pathlib import Path

import pytest

import tokenmill

os.environ["RAY_AUTH_MODE"] = "disabled"  # newer versions want a token in the home directory; read when ray is imported


@pytest.fixture(scope="package")
def cluster():
    """Two nodes with one core each, to which this process is connected. A test that kills a node adds one for that.

    Gone before other tests begin: Ray prints what it has to say of dead nodes into whatever runs then.
    """
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    # What the nodes and the commands under test import, wherever they run.
    os.environ["PYTHONPATH"] = str(Path(tokenmill.__file__).parents[1])
    node = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    cluster.add_node(**node)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def third_node(cluster):
    """Call it to kill the third node, in the middle of a run."""
    node = cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    alive = [node]

    def kill():
        cluster.remove_node(alive.pop(), allow_graceful=False)

    yield kill
    if alive:
        kill()
