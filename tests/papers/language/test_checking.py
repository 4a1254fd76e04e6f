"""What `check` and `audit` say of text."""

from multiway_papers.language import LanguageConfig
from multiway_papers.language.audit import audit_documents
from multiway_papers.language.source import looks_like_text
from multiway_papers.language.task import TASK
from papers.language.prepared import prepare_texts

LINE = "a line of eight words or even more than that\n"


def texts(count=20):
    return [f"text {row} says {row * row} in some words\n" for row in range(count)]


def check(source):
    return TASK.kind.check(LanguageConfig(), source)


def prepared(documents):
    return prepare_texts(documents, tokenizer="bytes")


def test_a_file_without_a_sound_line_says_so_and_counts_nothing(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('"no object"\n')
    report = check(path)
    assert [(each.kind, each.severity) for each in report.findings] == [("json", "error")]
    assert "documents" not in report.summary


def test_a_sound_text_is_counted():
    report = check(texts())
    assert report.is_usable and not report.findings
    assert report.summary["documents"] == 20 and report.summary["words"] == "140"
    assert report.summary["splits"] == "train 16, validation 2, test 2"


def test_repeats_and_replaced_words_are_named():
    report = check([*texts(), texts()[3], "the <unk> of <unk>\n"])
    kinds = {finding.kind: finding for finding in report.findings}
    assert "1 documents repeat" in kinds["duplicates"].rule and "2 words are written <unk>" in kinds["unknown"].rule


def test_a_text_that_is_cut_for_its_splits_counts_as_one(tmp_path):
    (tmp_path / "book.txt").write_text("a line of it\n" * 100)
    report = check(tmp_path / "book.txt")
    assert report.is_usable and (report.summary["documents"], report.summary["words"]) == (1, "400")
    assert report.summary["splits"] == "train 1, validation 1, test 1"
    assert report.summary["split by"] == "shares of the text in its order"


def test_a_text_too_short_for_its_splits_is_refused(tmp_path):
    (tmp_path / "book.txt").write_text("word")
    report = check(tmp_path / "book.txt")
    assert not report.is_usable and "each split needs text. Got 4 characters. Give a longer" in report.lines()[-2]


def test_too_few_documents_are_an_error_of_the_split():
    report = check(["one", "two"])
    assert not report.is_usable and "each split needs documents" in report.lines()[-2]


def test_a_sound_split_leaks_nothing():
    report = audit_documents(prepared(texts()))
    assert not report.leaks and len(report.passed) == 5


def test_a_document_in_two_splits_is_a_leak_whatever_its_white_space():
    report = audit_documents(prepared([*texts(19), texts()[2].replace(" ", "  ")]))
    assert report.leaks and "1 documents are in two splits" in report.findings[0].rule


def test_lines_of_the_test_that_were_learnt_are_a_leak():
    documents = [f"{text}{LINE}" if row in (1, 19) else text for row, text in enumerate(texts())]
    lines, near = audit_documents(prepared(documents)).findings
    assert lines.severity == near.severity == "error" and "of all eight words in a row of test" in near.rule
    assert "1 of 1 lines of 8 words or more of test stand in the training text (58.8% of its words)" in lines.rule


def test_text_that_was_learnt_is_a_leak_in_lines_of_another_width():
    learnt = " ".join(f"word{number}" for number in range(60))
    wrapped = "\n".join(learnt.split())
    every = [*texts(), wrapped]
    (found,) = audit_documents(prepared([f"{every[0]} {learnt}", *every[1:]])).findings
    assert (found.kind, found.severity) == ("near", "error")
    assert "of all eight words in a row of test stand in the training text" in found.rule


def test_headings_stand_in_many_texts_and_are_no_leak():
    heading = " = = = Early years = = = \n"
    assert not audit_documents(prepared([f"{text}{heading}" for text in texts()])).findings


def test_a_vocabulary_that_saw_other_text_is_a_leak():
    honest, other = (prepare_texts(each, vocabulary=300, context=8) for each in (texts(), ["zzzz zzzz"] * 20))
    assert not audit_documents(honest, honest.state.vocabulary).leaks
    assert "not that of the training text" in audit_documents(honest, other.state.vocabulary).findings[0].rule


def test_prose_is_told_from_tables_of_numbers(tmp_path):
    for name, text in (("book.txt", "It was the best of times.\n" * 9), ("ECG.txt", "1 0.25 0.75\n2 -1.5 0.3\n" * 9)):
        (tmp_path / name).write_text(text)
    assert looks_like_text(tmp_path / "book.txt") and not looks_like_text(tmp_path / "ECG.txt")
    assert not looks_like_text(tmp_path)
