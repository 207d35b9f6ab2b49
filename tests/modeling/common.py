import numpy as np

from modeling import BertConfig, BertForPreTraining
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.dropout import DropoutStream, stream_key, stream_of_key

# Small enough to be built in no time, and no two sizes alike.
SMALL = BertConfig(
    vocab_size=50,
    hidden_size=12,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=20,
    max_position_embeddings=16,
    type_vocab_size=2,
    initializer_range=0.5,
)


def golden_model(golden, **kwargs) -> BertForPreTraining:
    """The pre-training model with the weights of the golden checkpoint."""
    source = read_checkpoint(str(golden / "tf1_checkpoint"))
    model = BertForPreTraining(source.config, **kwargs)
    load_weights(model, source)
    return model


def arrays(path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return dict(file)


def random_features(
    config: BertConfig, batch: int, length: int, predictions: int, seed: int = 0
) -> dict:
    """A batch of pre-training records with padding in every row but the first."""
    rng = np.random.default_rng(seed)
    tokens = np.linspace(length, length // 2, batch).astype(int)
    mask = (np.arange(length) < tokens[:, None]).astype(np.int32)
    return {
        "input_ids": rng.integers(0, config.vocab_size, (batch, length), np.int32) * mask,
        "input_mask": mask,
        "segment_ids": rng.integers(0, config.type_vocab_size, (batch, length), np.int32) * mask,
        "masked_lm_positions": rng.integers(0, length // 2, (batch, predictions), np.int32),
        "masked_lm_ids": rng.integers(0, config.vocab_size, (batch, predictions), np.int32),
        "masked_lm_weights": (rng.random((batch, predictions)) < 0.7).astype(np.float32),
        "next_sentence_labels": rng.integers(0, 2, (batch, 1), np.int32),
    }


def dropout_stream(seed: int, step, first_example=0) -> DropoutStream:
    return stream_of_key(stream_key(seed, step), first_example)


def lamb_in_float64(weights, gradients, rates, betas, decay=0.01, epsilon=1e-6):
    """An independent calculation, as in section 3 of You et al., with MLPerf's exclusions."""
    weights = {name: value.astype(np.float64) for name, value in weights.items()}
    m = {name: 0.0 for name in weights}
    v = {name: 0.0 for name in weights}
    for t, (step_gradients, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        norm = np.sqrt(sum(np.sum(np.square(value)) for value in step_gradients.values()))
        for name, gradient in step_gradients.items():
            gradient = gradient / max(1.0, norm)
            m[name] = betas[0] * m[name] + (1 - betas[0]) * gradient
            v[name] = betas[1] * v[name] + (1 - betas[1]) * gradient**2
            update = m[name] / (1 - betas[0] ** t)
            update = update / (np.sqrt(v[name] / (1 - betas[1] ** t)) + epsilon)
            ratio = 1.0
            if not any(part in name for part in ("bias", "LayerNorm", "gamma", "beta")):
                update = update + decay * weights[name]
                lengths = np.linalg.norm(weights[name]), np.linalg.norm(update)
                if min(lengths) > 0:
                    ratio = lengths[0] / lengths[1]
            weights[name] = weights[name] - rate * ratio * update
    return weights
