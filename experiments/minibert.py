"""BERT's pre-training in one file: encoder, both losses, gradients by hand, AdamW.

docs/minibert.md walks through it, and trains with it. NumPy in float64, without dropout; nothing
else is imported. Section 3 of Devlin et al. 2019 is the model, appendix A.2 the training. Each part
of the model returns its result and `backward`, a function that takes the gradient by the result,
adds to the gradients of the part's weights, and returns the gradient by its input. Weights have
the original's names. Shapes: B rows, S tokens, H hidden units, N heads, P masked tokens in a row,
K sequences packed into a row (1 without packing), V words.
"""

import numpy as np

# Added to the score of two tokens that must not attend to each other.
FORBIDDEN = -10_000.0


class Parameters:
    """Weights by name, each with a gradient of its shape, to which backward passes add."""

    def __init__(self, weights):
        self.weights = weights
        self.gradients = {name: np.zeros_like(value) for name, value in weights.items()}

    def __getitem__(self, name):
        return self.weights[name], self.gradients[name]


def dense(x, parameters, name):
    """y = x W + b, for x [rows, tokens, inputs]."""
    kernel, kernel_gradient = parameters[f"{name}/kernel"]
    bias, bias_gradient = parameters[f"{name}/bias"]

    def backward(dy):
        kernel_gradient[:] += np.einsum("rti,rto->io", x, dy)
        bias_gradient[:] += dy.sum(axis=(0, 1))
        return dy @ kernel.T

    return x @ kernel + bias, backward


def layer_norm(x, parameters, name):
    """Gives each vector mean 0 and variance 1, then a learned scale and shift."""
    gamma, gamma_gradient = parameters[f"{name}/gamma"]
    beta, beta_gradient = parameters[f"{name}/beta"]
    centered = x - x.mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-12)
    normal = centered * scale

    def backward(dy):
        gamma_gradient[:] += (dy * normal).sum(axis=(0, 1))
        beta_gradient[:] += dy.sum(axis=(0, 1))
        d_normal = dy * gamma
        # Mean and variance are functions of x, too: what changes them does not change the result.
        along_mean = d_normal.mean(axis=-1, keepdims=True)
        along_normal = (d_normal * normal).mean(axis=-1, keepdims=True) * normal
        return scale * (d_normal - along_mean - along_normal)

    return normal * gamma + beta, backward


def gelu(x):
    """x times the probability that a normal number is below x, in the original's tanh form."""
    tanh = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))

    def backward(dy):
        slope = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
        return dy * 0.5 * (1 + tanh + x * (1 - tanh**2) * slope)

    return 0.5 * x * (1 + tanh), backward


def softmax(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attention(x, parameters, name, heads, bias):
    """Each token takes a mean of the values of the tokens that it may attend to, in N heads."""
    query, query_backward = dense(x, parameters, f"{name}/self/query")
    key, key_backward = dense(x, parameters, f"{name}/self/key")
    value, value_backward = dense(x, parameters, f"{name}/self/value")

    def split(y):  # [B, S, H] -> [B, N, S, H / N]
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    def join(y):  # [B, N, S, H / N] -> [B, S, H]
        return y.swapaxes(1, 2).reshape(x.shape)

    root = np.sqrt(x.shape[-1] // heads)
    probabilities = softmax(split(query) @ split(key).swapaxes(2, 3) / root + bias)  # [B, N, S, S]
    context = join(probabilities @ split(value))
    output, output_backward = dense(context, parameters, f"{name}/output/dense")

    def backward(dy):
        d_context = split(output_backward(dy))
        weighted = probabilities * (d_context @ split(value).swapaxes(2, 3))
        # A probability rises only as far as the others of its row fall.
        d_scores = (weighted - probabilities * weighted.sum(axis=-1, keepdims=True)) / root
        dx = query_backward(join(d_scores @ split(key)))
        dx = dx + key_backward(join(d_scores.swapaxes(2, 3) @ split(query)))
        return dx + value_backward(join(probabilities.swapaxes(2, 3) @ d_context))

    return output, backward


def encoder_layer(x, parameters, name, heads, bias):
    """Attention and a feed-forward network, each added to its input and normalized."""
    attended, attention_backward = attention(x, parameters, f"{name}/attention", heads, bias)
    x, norm_backward = layer_norm(x + attended, parameters, f"{name}/attention/output/LayerNorm")
    hidden, intermediate_backward = dense(x, parameters, f"{name}/intermediate/dense")
    hidden, gelu_backward = gelu(hidden)
    hidden, output_backward = dense(hidden, parameters, f"{name}/output/dense")
    y, output_norm_backward = layer_norm(x + hidden, parameters, f"{name}/output/LayerNorm")

    def backward(dy):
        dy = output_norm_backward(dy)
        dy = norm_backward(dy + intermediate_backward(gelu_backward(output_backward(dy))))
        return dy + attention_backward(dy)

    return y, backward


def cross_entropy(logits, labels, label_weights):
    """Returns the weighted mean of -log p(label), and its gradient by the logits [..., classes]."""
    probabilities = softmax(logits)
    is_label = np.eye(logits.shape[-1])[labels]
    shares = label_weights / label_weights.sum()
    loss = -(shares * np.log((probabilities * is_label).sum(axis=-1))).sum()
    return loss, shares[..., None] * (probabilities - is_label)


def masked_lm_loss(x, parameters, labels, label_weights):
    """Compares the vectors of the masked tokens, [B, P, H], with the table of words."""
    words, word_gradient = parameters["bert/embeddings/word_embeddings"]
    bias, bias_gradient = parameters["cls/predictions/output_bias"]
    y, dense_backward = dense(x, parameters, "cls/predictions/transform/dense")
    y, gelu_backward = gelu(y)
    y, norm_backward = layer_norm(y, parameters, "cls/predictions/transform/LayerNorm")
    loss, d_logits = cross_entropy(y @ words.T + bias, labels, label_weights)
    word_gradient += np.einsum("bpv,bph->vh", d_logits, y)
    bias_gradient += d_logits.sum(axis=(0, 1))
    return loss, dense_backward(gelu_backward(norm_backward(d_logits @ words)))


def next_sentence_loss(x, parameters, labels, label_weights):
    """Classifies the pairs by the vectors of their [CLS], [B, K, H]."""
    kernel, kernel_gradient = parameters["cls/seq_relationship/output_weights"]
    bias, bias_gradient = parameters["cls/seq_relationship/output_bias"]
    y, pooler_backward = dense(x, parameters, "bert/pooler/dense")
    pooled = np.tanh(y)
    loss, d_logits = cross_entropy(pooled @ kernel.T + bias, labels, label_weights)
    kernel_gradient += np.einsum("bkc,bkh->ch", d_logits, pooled)
    bias_gradient += d_logits.sum(axis=(0, 1))
    return loss, pooler_backward(d_logits @ kernel * (1 - pooled**2))


def losses_and_gradients(weights, batch, heads):
    """Returns (loss of masked words, loss of next sentences), and name -> gradient of their sum.

    The batch has the features of a record: "input_ids", "segment_ids", "input_mask" [B, S], in
    which tokens have the number of their sequence in the row, from 1, and padding 0;
    "masked_lm_positions", "masked_lm_ids", "masked_lm_weights" [B, P]; "next_sentence_labels"
    [B, K], and of packed rows "next_sentence_positions" and "next_sentence_weights" [B, K].
    """
    parameters = Parameters(weights)
    ids, sequences = batch["input_ids"], batch["input_mask"]
    rows = np.arange(len(ids))[:, None]
    labels = batch["next_sentence_labels"].reshape(len(ids), -1)
    starts = batch.get("next_sentence_positions", np.zeros_like(labels))
    # Positions count from the start of each sequence; tokens attend within their sequence.
    starts_of_tokens = starts[rows, np.maximum(sequences, 1) - 1]
    positions = np.maximum(np.arange(ids.shape[1]) - starts_of_tokens, 0)
    is_allowed = sequences[:, None, :, None] == sequences[:, None, None, :]
    bias = np.where(is_allowed, 0.0, FORBIDDEN)  # [B, 1, S, S]

    # A token is the sum of three vectors: its word's, its segment's and its position's.
    rows_of_tables = {
        "word_embeddings": ids,
        "token_type_embeddings": batch["segment_ids"],
        "position_embeddings": positions,
    }
    x = sum(weights[f"bert/embeddings/{name}"][of] for name, of in rows_of_tables.items())
    x, norm_backward = layer_norm(x, parameters, "bert/embeddings/LayerNorm")
    backwards = []
    while f"bert/encoder/layer_{len(backwards)}/output/dense/kernel" in weights:
        name = f"bert/encoder/layer_{len(backwards)}"
        x, layer_backward = encoder_layer(x, parameters, name, heads, bias)
        backwards.append(layer_backward)
    masked = (rows, batch["masked_lm_positions"])
    masked_loss, d_masked = masked_lm_loss(
        x[masked], parameters, batch["masked_lm_ids"], batch["masked_lm_weights"]
    )
    pair_weights = batch.get("next_sentence_weights", np.ones(labels.shape))
    next_loss, d_first = next_sentence_loss(x[rows, starts], parameters, labels, pair_weights)

    dx = np.zeros_like(x)
    np.add.at(dx, masked, d_masked)
    np.add.at(dx, (rows, starts), d_first)
    for layer_backward in reversed(backwards):
        dx = layer_backward(dx)
    dx = norm_backward(dx)
    for name, of in rows_of_tables.items():
        np.add.at(parameters.gradients[f"bert/embeddings/{name}"], of, dx)
    return (masked_loss, next_loss), parameters.gradients


def learning_rate(step, peak, num_steps, num_warmup_steps):
    """Returns the rate of step 0, 1, ...: a rise to the peak, then a line that ends at 0."""
    if step < num_warmup_steps:
        return peak * step / num_warmup_steps
    return peak * (1 - step / num_steps)


def adamw(weights, slots, gradients, rate):
    """Updates the weights and their slots, {} at first, in place; returns the gradient's norm.

    The gradient is cut to the norm 1. As in the original the moments' bias is not corrected, and
    matrices and tables decay, biases and LayerNorm do not.
    """
    norm = np.sqrt(sum((gradient**2).sum() for gradient in gradients.values()))
    for name, weight in weights.items():
        gradient = gradients[name] / max(norm, 1.0)
        mean, square = slots.get(name, (0.0, 0.0))
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        slots[name] = (mean, square)
        decay = 0.0 if name.endswith(("bias", "gamma", "beta")) else 0.01
        weight -= rate * (mean / (np.sqrt(square) + 1e-6) + decay * weight)
    return norm
