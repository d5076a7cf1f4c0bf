from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_data.csv_file import CsvFile


def write(folder: Path, content: str | bytes) -> str:
    path = folder / "y.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def load(folder: Path, content: str | bytes, column: str = "") -> LabelSet:
    return CsvFile(path=write(folder, content), column=column).load()


def complaint(folder: Path, content: str | bytes, column: str = "") -> str:
    with pytest.raises(InputError) as caught:
        load(folder, content, column)
    return str(caught.value).replace(str(folder) + "/", "")


@pytest.mark.parametrize(
    ("content", "column"),
    [
        ("label\nno\nyes\nno\n", ""),
        ("id,label\n1,no\n2,yes\n3,no\n", ""),
        ("id;Class\n1;no\n2;yes\n3;no\n", ""),
        ("id\ttarget\r\n1\tno\r\n2\tyes\r\n3\tno\r\n", ""),
        ("\ufeffid,truth\n1,no\n2,yes\n3,no\n", "truth"),
        ('"the, truth","id"\n"no",1\n"yes",2\n"no",3\n', "the, truth"),
        ("\n\nid,label\n1, no \n\n2, yes\n3,no\n\n", ""),
        ("id,label\r1,no\r2,yes\r3,no", ""),
        ("no\nyes\nno\n", ""),
    ],
    ids=["one column", "comma", "semicolon", "tab, CRLF", "BOM", "quoted", "blanks", "old Mac", "no header"],
)
def test_reads_the_labels_of_every_dialect(tmp_path: Path, content: str, column: str) -> None:
    data = load(tmp_path, content, column)

    assert data.class_names == ("no", "yes")
    assert data.labels.tolist() == [0, 1, 0]
    assert data.labels.dtype == np.intp
    assert (data.title, data.provenance) == ("y.csv", "user's file")


def test_numeric_class_names_sort_by_value_and_others_alphabetically(tmp_path: Path) -> None:
    assert load(tmp_path, "y\n10\n9\n-1.5\n").class_names == ("-1.5", "9", "10")
    assert load(tmp_path, "y\n10\n9\nlow\n").class_names == ("10", "9", "low")


def test_a_single_column_needs_no_header_when_its_first_row_is_a_number(tmp_path: Path) -> None:
    data = load(tmp_path, "3\n1\n3\n")

    assert (data.n_records, data.labels.tolist()) == (3, [1, 0, 1])


def test_the_first_row_of_a_single_column_is_its_header_when_asked_for(tmp_path: Path) -> None:
    assert load(tmp_path, "1\n0\n1\n", "1").labels.tolist() == [0, 1]


def test_a_label_may_hold_a_line_break_inside_quotes(tmp_path: Path) -> None:
    assert load(tmp_path, 'label\n"a\nb"\nc\n').class_names == ("a\nb", "c")


@pytest.mark.parametrize(
    ("content", "column", "message"),
    [
        ("", "", "y.csv is empty. It needs one row per record with its label."),
        ("\n \n".replace(" ", ""), "", "y.csv is empty. It needs one row per record with its label."),
        ("id,label\n", "", "y.csv has a header (id, label) and no rows. Add one row per record."),
        (
            "id,label\n1,a\n2,b\n",
            "labl",
            "y.csv has no column 'labl'; did you mean 'label'? Columns are 'id', 'label'.",
        ),
        ("id,label\n1,a\n2,b\n", "zebra", "y.csv has no column 'zebra'. Columns are 'id', 'label'."),
        (
            "id,kind\n1,a\n2,b\n",
            "",
            "y.csv has 2 columns; name the one with the labels, --column. Columns are 'id', 'kind'.",
        ),
        (
            "y,label\n1,a\n2,b\n",
            "",
            "y.csv has 2 columns; name the one with the labels, --column. Columns are 'y', 'label'.",
        ),
        ("label,label\na,a\nb,b\n", "label", "y.csv has 2 columns 'label'. Rename all but one."),
        (
            "id,label\n1,a\n2,\n3,b\n4, \n5,b\n6,nan\n7,\n",
            "",
            "y.csv: column 'label' has no label in 4 rows (3, 5, 7, ...): an empty cell, or nan. Drop them or fill "
            "them.",
        ),
        (
            "label\na\n\nb\n",
            "",
            "y.csv: column 'label' has no label in row 3: an empty cell, or nan. Drop them or fill them.",
        ),
        (
            'label\na\nb\n""\n',
            "",
            "y.csv: column 'label' has no label in row 4: an empty cell, or nan. Drop them or fill them.",
        ),
        (
            "id,label\n1,a\n2\n3,b,c\n4,b\n",
            "",
            "y.csv: 2 rows (3, 4) without the header's 2 cells. Mend or drop them.",
        ),
        (
            "id,label\n1,a\n2\n3,\n4,b\n",
            "",
            "y.csv: row 3 without the header's 2 cells. Mend or drop them. "
            "y.csv: column 'label' has no label in row 4: an empty cell, or nan. Drop them or fill them.",
        ),
        (
            "label\na\na\n",
            "",
            "y.csv: column 'label' has one class only in all 2 rows. Labels of at least two classes are needed.",
        ),
        ("1\n1\n", "", "y.csv has one class only in all 2 rows. Labels of at least two classes are needed."),
        (b"label\n\xff\n", "", "y.csv is not text in UTF-8 (byte 7). Save it as CSV in UTF-8."),
        (b"label\n\x00\n", "", "y.csv is not text (it contains zero bytes). Save it as CSV in UTF-8."),
        (
            'label\na\n"b\n',
            "",
            "y.csv: row 3 is not valid CSV (unexpected end of data). Check its quotes.",
        ),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, content: str | bytes, column: str, message: str) -> None:
    assert complaint(tmp_path, content, column) == message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent.csv cannot be read: No such file or directory\.$"):
        CsvFile(path=str(tmp_path / "absent.csv")).load()
    with pytest.raises(InputError, match=r"cannot be read: Is a directory\.$"):
        CsvFile(path=str(tmp_path)).load()


@pytest.mark.parametrize(
    ("features", "expected"),
    [("*", [[7, 0.5], [8, 1.5], [9, -2]]), ("b", [[0.5], [1.5], [-2]]), (" b , a", [[7, 0.5], [8, 1.5], [9, -2]])],
)
def test_reads_features_in_the_files_order(tmp_path: Path, features: str, expected: list[list[float]]) -> None:
    path = write(tmp_path, "a,label,b\n7,no,0.5\n8,yes,1.5\n9,no,-2\n")

    data = CsvFile(path=path, features=features).load()

    assert data.features is not None
    assert data.features.tolist() == expected
    assert data.labels.tolist() == [0, 1, 0]


def test_no_features_unless_asked_for(tmp_path: Path) -> None:
    assert load(tmp_path, "a,label\n7,no\n8,yes\n").features is None


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("c", "y.csv has no feature column 'c'. Columns are 'a', 'label', 'b'."),
        ("label", "no feature column 'label'"),
        ("*", "column 'a' has no finite number in row 2, as features must"),
        ("b", "column 'b' has no finite number in row 3"),
    ],
)
def test_faulty_features_are_one_sentence(tmp_path: Path, features: str, message: str) -> None:
    path = write(tmp_path, "a,label,b\nx,no,1\n8,yes,\n")

    with pytest.raises(InputError) as caught:
        CsvFile(path=path, features=features).load()
    assert message in str(caught.value)


def test_a_file_of_labels_only_has_no_features(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no column besides the labels"):
        CsvFile(path=write(tmp_path, "label\nno\nyes\n"), features="*").load()


def test_a_column_of_names_is_not_a_column_of_labels(tmp_path: Path) -> None:
    rows = "".join(f"r{i},{i % 2}\n" for i in range(30))

    message = complaint(tmp_path, "id,outcome\n" + rows, "id")

    assert "has 30 different values in 30 rows, too many for classes" in message
    assert load(tmp_path, "id,outcome\n" + rows, "outcome").n_classes == 2


def test_numbers_that_are_too_many_for_classes_are_real_labels(tmp_path: Path) -> None:
    rows = "".join(f"{i / 8},{i % 2}\n" for i in range(30))

    found = load(tmp_path, "amount,outcome\n" + rows, "amount")

    assert found.reals is not None
    assert found.reals.tolist() == [i / 8 for i in range(30)]
    assert load(tmp_path, "amount,outcome\n" + rows, "outcome").reals is None


VISITS = "label,patient\n1,a\n0,b\n1,a\n0,c\n1,c\n"


def test_a_column_says_which_records_belong_together(tmp_path: Path) -> None:
    data = CsvFile(path=write(tmp_path, VISITS), column="label", groups="patient").load()

    assert data.groups is not None
    assert data.groups.tolist() == [0, 1, 0, 2, 2]
    assert data.group_sizes == ((1, 1), (2, 2))


def test_groups_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    other = tmp_path / "who.csv"
    other.write_text("patient\nx\ny\nx\n")
    path = write(tmp_path, "label\n1\n0\n1\n")

    assert CsvFile(path=path, groups=f"{other}:patient").load().group_sizes == ((1, 1), (2, 1))
    with pytest.raises(InputError, match="names 3 groups for 2 labels"):
        CsvFile(path=write(tmp_path, "label\n1\n0\n"), groups=f"{other}:patient").load()


@pytest.mark.parametrize(
    ("groups", "said"),
    [("doctor", "no column 'doctor' for the groups"), ("label", "groups are told by another one")],
)
def test_groups_that_cannot_be_used_are_one_sentence(tmp_path: Path, groups: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        CsvFile(path=write(tmp_path, VISITS), column="label", groups=groups).load()


def test_a_record_without_a_group_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no group for 1 record"):
        CsvFile(path=write(tmp_path, VISITS.replace("0,b", "0,")), column="label", groups="patient").load()


@pytest.mark.parametrize("twin", ["07", "7.0"])
def test_one_group_under_two_names_is_refused(tmp_path: Path, twin: str) -> None:
    path = write(tmp_path, f"label,patient\n1,7\n0,{twin}\n1,8\n")

    with pytest.raises(InputError, match=r"column 'patient' has the number (7|07) also as (7|7.0): one or two"):
        CsvFile(path=path, column="label", groups="patient").load()


HOST = "patient_id,sick,Usage\n" + "".join(f"p{at},{at % 2},{'Public' if at < 6 else 'Private'}\n" for at in range(10))


def test_a_column_of_usage_says_which_rows_are_scored_and_the_title_says_so(tmp_path: Path) -> None:
    found = CsvFile(path=write(tmp_path, HOST)).load()

    assert found.n_records == 6
    assert found.title == "y.csv, the 6 of 10 rows that are Public"
    assert CsvFile(path=write(tmp_path, HOST), all_rows=True).load().n_records == 10


def test_rows_that_are_ignored_need_no_label_and_usage_without_public_rows_is_refused(tmp_path: Path) -> None:
    ignored = write(tmp_path, HOST.replace("p9,1,Private", "p9,,Ignored"))
    assert CsvFile(path=ignored).load().n_records == 6

    with pytest.raises(InputError, match="no row is Public in column 'Usage'"):
        CsvFile(path=write(tmp_path, HOST.replace("Public", "Private"))).load()


def test_a_column_of_that_name_with_other_words_says_nothing_of_rows(tmp_path: Path) -> None:
    other = HOST.replace("Private", "heavy").replace("Public", "light")
    found = CsvFile(path=write(tmp_path, other), column="sick").load()

    assert found.n_records == 10


def test_of_two_columns_the_one_that_names_the_rows_is_not_the_labels(tmp_path: Path) -> None:
    assert CsvFile(path=write(tmp_path, "key,sick\na,0\nb,1\nc,0\nd,1\n")).load().class_names == ("0", "1")

    with pytest.raises(InputError, match="name the one with the labels"):
        CsvFile(path=write(tmp_path, "sex,sick\na,0\nb,1\na,0\nb,1\n")).load()


@pytest.mark.parametrize("typed", ["Publc", "", "test"])
def test_a_row_whose_usage_is_mistyped_is_named(tmp_path: Path, typed: str) -> None:
    """The whole column was passed over in silence, and private rows were scored."""
    with pytest.raises(InputError, match="column 'Usage', line 3: neither Public, Private nor Ignored"):
        CsvFile(path=write(tmp_path, HOST.replace("p1,1,Public", f"p1,1,{typed}"))).load()
