"""Compiles a program for a device that is not here; `aot.py` runs it with a Python that has JAX.

Arguments: the program, the device, a folder, "plan" or "costs", and the number of chips, by default
one. Nothing is run. For a GPU the optimized HLO and the buffer assignment go into the folder; for a
TPU the optimized HLO, or with "costs" the costs to standard output as JSON.
"""

import glob
import json
import os
import sys
import threading
import time

_GPU = """gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32
  shared_memory_per_block: 49152 shared_memory_per_core: 233472 threads_per_core_limit: 2048
  core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535
  block_dim_limit_z: 65535 memory_bandwidth: %d l2_cache_size: 52428800
  clock_rate_ghz: 1.98 device_memory_size: %d shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 } registers_per_core_limit: 65536
  registers_per_block_limit: 65536 }
platform_name: "CUDA" dnn_version_info { major: 9 minor: 8 patch: 0 }
runtime_version { major: 12 minor: 8 patch: 0 } device_description_str: "%s"
"""
# Bytes per second, bytes, name: one die with different memories.
_GPUS = {
    "h100": (3352320000000, 84978434048, "NVIDIA H100 80GB HBM3"),
    "h200": (4800000000000, 151397597184, "NVIDIA H200 141GB HBM3e"),
}
_TOPOLOGIES = {"v4": "v4:2x2x1", "v5e": "v5e:2x2", "v5e of 8": "v5e:2x4", "v6e": "v6e:2x2"}


# The last file that each compiler writes before it makes machine code, which takes several times as
# long.
_LAST_FILES = {"gpu": "*memory-usage-report.txt", "tpu": "*TLP-hlo.txt"}


def main(program: str, device: str, folder: str, extent: str, chips: int = 1) -> None:
    is_gpu = device in _GPUS
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
    os.environ["TPU_SKIP_MDS_QUERY"] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    if is_gpu:
        # Kernels can't be tuned without a device: products are calls of cuBLAS, as they are on a
        # device by default.
        os.environ["XLA_FLAGS"] = (
            "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false "
            f"--xla_dump_to={folder} --xla_dump_hlo_as_text --xla_dump_large_constants=false"
        )
    elif extent == "plan":
        os.environ["LIBTPU_INIT_ARGS"] = (
            f"--xla_jf_dump_to={folder} --xla_jf_dump_hlo_text=true --xla_jf_dump_llo_text=false"
        )
    # JAX reads the variables when it is imported.
    import numpy as np
    from jax.experimental import topologies
    from jaxlib import _jax, xla_client

    if is_gpu:
        topology = topologies.get_topology_desc(
            platform="cuda",
            topology_name=device,
            topology="1x1x1",
            target_config=_GPU % _GPUS[device],
        )
    else:
        topology = topologies.get_topology_desc(platform="tpu", topology_name=_TOPOLOGIES[device])
    devices = tuple(topology.devices[:chips])
    with open(program, "rb") as file:
        module = _jax.mlir.hlo_to_stablehlo(file.read())
    # JAX needs an assignment: by default it looks for devices of this machine.
    options = xla_client.CompileOptions()
    options.num_replicas = options.executable_build_options.num_replicas = chips
    device_ids = np.asarray([[one.id] for one in devices], np.int32)
    options.device_assignment = xla_client.DeviceAssignment.create(device_ids)
    if is_gpu or extent == "plan":
        pattern = os.path.join(folder, _LAST_FILES["gpu" if is_gpu else "tpu"])
        threading.Thread(target=_exit_after_planning, args=(pattern,), daemon=True).start()
    executable = devices[0].client.compile(module, _jax.DeviceList(devices), options)
    cost = executable.cost_analysis()
    costs = {
        "temp": executable.get_compiled_memory_stats().temp_size_in_bytes,
        "bytes": cost["bytes accessed"],
        "flops": cost["flops"],
        "optimal_seconds": cost["optimal_seconds"],
    }
    print(json.dumps(costs))


def _exit_after_planning(pattern: str) -> None:
    """Ends the process when a file of that name is there."""
    while not glob.glob(pattern):
        time.sleep(0.2)
    # Let the compiler finish writing its files.
    time.sleep(1.0)
    os._exit(0)


if __name__ == "__main__":
    chips = int(sys.argv[5]) if sys.argv[5:] else 1
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], chips)
