import importlib.util
import re

import pytest

from benchmarks.finetuning import FinetuningOptions, main

SMALL = {"size": "L1-H32", "train_batch_size": 4, "max_seq_length": 24, "one_process": True}
SWAG = (
    "video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
)


@pytest.mark.parametrize(
    "task, name, text, title, peer, turns, steps",
    [
        # At most so many steps a turn; the whole epoch in fewer turns than were asked for, and in
        # unequal parts.
        (
            "classification",
            "MRPC/train.tsv",
            "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
            + "".join(
                f"{number % 2}\t1\t2\tA boat left.\t{'The bay. ' * number}\n"
                for number in range(1, 10)
            ),
            "8 examples, 8 sequences of ",
            "pytorch",
            {"turns": 1, "max_steps": 1},
            "1 steps in 1 turns",
        ),
        (
            "multiple_choice",
            "train.csv",
            SWAG + "0,0,a boat,a boat,,gold,left,is here,is there,came,2\n" * 9,
            "8 examples, 32 sequences of ",
            "pytorch",
            {"turns": 3},
            "2 steps in 2 turns",
        ),
        (
            "token_classification",
            "train.conll",
            "a O\nboat B-X\n\nleft O\n\n" * 6,
            "12 examples, 12 sequences of ",
            "pytorch",
            {"turns": 2},
            "3 steps in 2 turns",
        ),
    ],
)
def test_the_command(task, name, text, title, peer, turns, steps, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    for file in (name, name.replace("train", "dev")):
        (tmp_path / file).write_text(text)
    given = {"data_dir": str(tmp_path)} if "/" in name else {"train_file": str(tmp_path / name)}
    has_peer = importlib.util.find_spec("transformers" if peer == "pytorch" else peer)
    programs = ("ours", *(("pytorch", "pytorch_grouped") if has_peer else ()))
    main(FinetuningOptions(**SMALL, **turns, task=task, **given, programs=programs))
    printed = capsys.readouterr().out
    assert f"L1-H32, batch 4, limit 24, {title}" in printed and f"; {steps}\n" in printed
    assert re.search(r"^ours +[1-9][\d.,]* .* 1\.00x$", printed, re.MULTILINE), printed
    for one in programs[1:]:
        assert re.search(rf"^{one} +[1-9][\d.,]* .*x +[\d.]+ to [\d.]+$", printed, re.MULTILINE), (
            printed
        )
    if not has_peer:
        pytest.skip(f"{peer} is not installed (pip install --group peers); ours ran")
