"""The program of a TPU that TensorFlow has traced, as HLO for the compiler of a TPU.

What `TPUStrategy` runs on a core lies in a traced function, between the operations that give it its
inputs and those that take its outputs. TensorFlow's own compiler for TPUs is in no wheel for other
machines; the one for CPUs writes the same operations as HLO, and libtpu compiles it.
"""

import tensorflow as tf
from tensorflow.python.ops import handle_data_util

CLUSTER = "_tpu_replicate"
# Operations that hand a value to a TPU's program, or take one from it.
INPUT, OUTPUT = GATES = ("TPUReplicatedInput", "TPUReplicatedOutput")


def graphs_of(function) -> list[tf.Graph]:
    """The graphs of a traced function and of the functions that it calls."""
    graphs, found, seen = [function.graph], [], set()
    while graphs:
        graph = graphs.pop()
        found.append(graph)
        for name, called in graph._functions.items():
            if name not in seen:
                seen.add(name)
                graphs.append(called.graph)
    return found


def is_inside(operation: tf.Operation) -> bool:
    """Whether it computes on a core; those of TPUStrategy itself mark the borders."""
    return CLUSTER in operation.node_def.attr and not operation.type.startswith("TPU")


def write_replica(function, path) -> None:
    """Writes the program of one core, with its sums over all of them, as a serialized HLO module."""
    (graph,) = (one for one in graphs_of(function) if any(map(is_inside, one.get_operations())))
    nodes = graph.as_graph_def()
    inside = [one for one in nodes.node if is_inside(graph.get_operation_by_name(one.name))]
    gates = {one.name: one.outputs[0] for one in graph.get_operations() if one.type == INPUT}
    # An input by its name, or an operation to wait for by "^" and its name: those of the host are
    # left out.
    known = gates.keys() | {mark + one.name for one in inside for mark in ("", "^")}
    del nodes.node[:]
    for node in inside:
        given = [name for name in node.input if name.partition(":")[0] in known]
        del node.input[:]
        node.input.extend(given)
        nodes.node.append(node)
    for node in [
        *nodes.node,
        *(one for called in nodes.library.function for one in called.node_def),
    ]:
        for_any_compiler(node)
    results = [one.inputs[0].name for one in graph.get_operations() if one.type == OUTPUT]
    values, variables = {}, {}
    for name, gate in gates.items():
        if gate.dtype == tf.resource:
            of_cores = handle_data_util.get_resource_handle_data(gate.op.inputs[0])
            shape, dtype = of_cores.shape_and_type[0].shape, of_cores.shape_and_type[0].dtype
            variables[name] = tf.Variable(tf.zeros([one.size for one in shape.dim], dtype))
        else:
            values[name] = tf.zeros(gate.shape, gate.dtype)

    @tf.function(jit_compile=True, autograph=False)
    def program(values):
        capture = tf.compat.v1.get_default_graph().capture
        given = values | {name: capture(one.handle) for name, one in variables.items()}
        given = {f"{name}:0": value for name, value in given.items()}
        return tf.import_graph_def(nodes, input_map=given, return_elements=results)

    write = program.experimental_get_compiler_ir(values)
    path.write_bytes(write(stage="hlo_serialized", platform_name="CPU"))


def for_any_compiler(node) -> None:
    """Takes from an operation what only TensorFlow's compiler for TPUs reads or has."""
    node.device = ""
    for name in [name for name in node.attr if name.startswith("_")]:
        del node.attr[name]
    if node.op == "CrossReplicaSum":
        node.op = "XlaAllReduce"
        node.attr["reduce_op"].s, node.attr["mode"].s = b"Add", b"CrossReplica"
