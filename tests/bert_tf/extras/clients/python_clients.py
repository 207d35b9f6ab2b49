"""Foreign programs in Python: `python python_clients.py CLIENT REQUESTS OUTPUT`, in an environment
that has the client.

REQUESTS: {name: {"directory", "inputs": [[text], [text, second text], …]}}. OUTPUT: {name: an
answer to each input} of those names that the client knows: vectors, probabilities by number of the
class, scores, labels of the tokens, answers without spaces, {token: probability} for the first
mask.
"""

import json
import sys


def best_span(start, end, first: int, last: int) -> tuple[int, int]:
    """The span within first...last whose logits have the largest sum."""
    return max(
        ((one, other) for one in range(first, last + 1) for other in range(one, last + 1)),
        key=lambda span: start[span[0]] + end[span[1]],
    )


def of_transformers(requests: dict, load, pipeline) -> dict:
    """What transformers' pipelines make of models that `load` has loaded, by the task of a
    pipeline."""
    import torch
    from transformers import AutoTokenizer

    found = {}
    for name, one in requests.items():
        tokenizer, inputs = AutoTokenizer.from_pretrained(one["directory"]), one["inputs"]
        if name == "features":
            model, vectors = load("feature-extraction", one["directory"]), []
            for (text,) in inputs:
                encoded = tokenizer(text, return_tensors="pt", truncation=True)
                vectors.append(model(**encoded).last_hidden_state[0].mean(0).tolist())
            found[name] = vectors
        elif name in ("classification", "pairs", "regression"):
            ask = pipeline(
                "text-classification",
                model=load("text-classification", one["directory"]),
                tokenizer=tokenizer,
            )
            given = [
                {"text": row[0], "text_pair": row[1]} if len(row) == 2 else row[0] for row in inputs
            ]
            ids = ask.model.config.label2id
            found[name] = [
                [
                    score["score"]
                    for score in sorted(ask(row, top_k=None), key=lambda score: ids[score["label"]])
                ]
                for row in given
            ]
        elif name == "token_classification":
            ask = pipeline(
                "token-classification",
                model=load("token-classification", one["directory"]),
                tokenizer=tokenizer,
                ignore_labels=[],
            )
            found[name] = [[token["entity"] for token in ask(text)] for (text,) in inputs]
        elif name == "fill_mask":
            ask = pipeline(
                "fill-mask", model=load("fill-mask", one["directory"]), tokenizer=tokenizer
            )
            found[name] = [
                {token["token_str"]: token["score"] for token in ask(text)} for (text,) in inputs
            ]
        elif name == "question_answering":
            model, answers = load("question-answering", one["directory"]), []
            for row in inputs:
                encoded = tokenizer(*row, return_tensors="pt", truncation="only_second")
                outputs, kinds = model(**encoded), encoded.sequence_ids()
                where = [number for number, kind in enumerate(kinds) if kind == 1]
                start, end = best_span(
                    outputs.start_logits[0].tolist(),
                    outputs.end_logits[0].tolist(),
                    where[0],
                    where[-1],
                )
                answers.append(
                    tokenizer.decode(encoded["input_ids"][0, start : end + 1]).replace(" ", "")
                )
            found[name] = answers
        elif name == "multiple_choice":
            model, scores = load("multiple-choice", one["directory"]), []
            for context, *choices in inputs:
                encoded = tokenizer(
                    [context] * len(choices),
                    choices,
                    return_tensors="pt",
                    padding=True,
                    truncation=True,
                )
                logits = model(**{key: value[None] for key, value in encoded.items()}).logits
                scores.append(torch.as_tensor(logits).softmax(-1)[0].tolist())
            found[name] = scores
    return found


def transformers(requests: dict) -> dict:
    import torch
    import transformers as library

    classes = {
        "feature-extraction": library.AutoModel,
        "text-classification": library.AutoModelForSequenceClassification,
        "token-classification": library.AutoModelForTokenClassification,
        "fill-mask": library.AutoModelForMaskedLM,
        "question-answering": library.AutoModelForQuestionAnswering,
        "multiple-choice": library.AutoModelForMultipleChoice,
    }
    with torch.no_grad():
        return of_transformers(
            requests, lambda task, path: classes[task].from_pretrained(path), library.pipeline
        )


def optimum(requests: dict) -> dict:
    from optimum import onnxruntime as library
    from transformers import pipeline

    classes = {
        "feature-extraction": library.ORTModelForFeatureExtraction,
        "text-classification": library.ORTModelForSequenceClassification,
        "token-classification": library.ORTModelForTokenClassification,
        "fill-mask": library.ORTModelForMaskedLM,
        "question-answering": library.ORTModelForQuestionAnswering,
        "multiple-choice": library.ORTModelForMultipleChoice,
    }
    return of_transformers(
        requests, lambda task, path: classes[task].from_pretrained(path), pipeline
    )


def sentence_transformers(requests: dict, backend: str = "torch") -> dict:
    from sentence_transformers import CrossEncoder, SentenceTransformer

    found = {
        name: SentenceTransformer(requests[name]["directory"], backend=backend, device="cpu")
        .encode([text for (text,) in requests[name]["inputs"]])
        .tolist()
        for name in ("features", "vectors", "truncated")
    }
    scores = CrossEncoder(
        requests["regression"]["directory"], backend=backend, device="cpu"
    ).predict(requests["regression"]["inputs"])
    return {**found, "regression": [[float(one)] for one in scores]}


def sentence_transformers_onnx(requests: dict) -> dict:
    return sentence_transformers(requests, "onnx")


def fastembed(requests: dict) -> dict:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    found = {}
    for name in ("features", "vectors", "truncated"):
        one = requests[name]
        TextEmbedding.add_custom_model(
            model=name,
            pooling=PoolingType.MEAN,
            normalization=name != "features",
            sources=ModelSource(hf=name),
            dim=12,
            model_file="onnx/model.onnx",
        )
        model = TextEmbedding(name, specific_model_path=one["directory"])
        found[name] = [
            vector.tolist() for vector in model.embed([text for (text,) in one["inputs"]])
        ]
    one = requests["regression"]
    TextCrossEncoder.add_custom_model(
        model="scores", sources=ModelSource(hf="scores"), model_file="onnx/model.onnx"
    )
    model = TextCrossEncoder("scores", specific_model_path=one["directory"])
    return {
        **found,
        "regression": [
            [score] for score in model.rerank_pairs([tuple(row) for row in one["inputs"]])
        ],
    }


def ctranslate2(requests: dict) -> dict:
    from ctranslate2 import Encoder
    from ctranslate2.converters import TransformersConverter
    from numpy import array
    from transformers import AutoTokenizer

    directory = requests["features"]["directory"]
    TransformersConverter(directory).convert(f"{directory}_ctranslate2")
    encoder = Encoder(f"{directory}_ctranslate2", compute_type="float32")
    tokenizer = AutoTokenizer.from_pretrained(directory)
    ids = [
        tokenizer(text, truncation=True)["input_ids"] for (text,) in requests["features"]["inputs"]
    ]
    rows = array(encoder.forward_batch(ids).last_hidden_state)
    return {
        "features": [row[: len(one)].mean(0).tolist() for row, one in zip(rows, ids, strict=True)]
    }


if __name__ == "__main__":
    client, source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        given = json.load(file)
    answers = globals()[client](given)
    with open(target, "w", encoding="utf-8") as file:
        json.dump(answers, file)
