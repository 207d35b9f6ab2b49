"""TensorBoard's page HParams, as its plugin reads it from event files."""

from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api_pb2, get_experiment, list_session_groups
from tensorboard.plugins.hparams.backend_context import Context


def read_hparams_page(directory) -> tuple:
    """What TensorBoard's HParams page gets: the experiment and its session groups."""
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(directory))
    multiplexer.Reload()
    provider = MultiplexerDataProvider(multiplexer, str(directory))
    context = Context(TBContext(logdir=str(directory), data_provider=provider))
    experiment = get_experiment.Handler(
        RequestContext(), context, "", api_pb2.GetExperimentRequest()
    ).run()
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=1000,
        allowed_statuses=[api_pb2.STATUS_SUCCESS, api_pb2.STATUS_RUNNING, api_pb2.STATUS_UNKNOWN],
    )
    return experiment, list_session_groups.Handler(
        RequestContext(), context, "", request
    ).run().session_groups
