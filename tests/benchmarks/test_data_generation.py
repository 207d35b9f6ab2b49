import re

from benchmarks import data_generation


def test_it_runs(golden, capsys):
    folder = golden / "pretraining_data"
    data_generation.main(
        data_generation.DataGenerationOptions(
            corpus_file=str(folder / "sample_corpus.txt"),
            vocab_file=str(golden / "bert" / "uncased_vocab.txt"),
            corpus_mb=0.2,
            repetitions=1,
            threads=1,
            one_process=True,
        )
    )
    printed = capsys.readouterr().out
    assert re.search(r"^ours +[\d.,]+ .* 1\.00x$", printed, re.MULTILINE), printed
    assert re.search(r"^original +[\d.,]+ .*x +[\d.]+ to [\d.]+$", printed, re.MULTILINE), printed
