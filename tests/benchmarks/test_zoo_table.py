"""The zoo's table and page say what the rows say."""

from feynkac.benchmarks.zoo import Zoo, ZooRow
from feynkac.benchmarks.zoo_table import COLUMNS, page, summary_text, table

GOOD = ZooRow(
    "good",
    "version",
    60.0,
    0,
    area="rates",
    method="closed form",
    inputs=5,
    threads=2,
    seconds=58.2,
    megabytes=101.0,
    steps=400,
    own_l1=0.00021,
    l1=0.00031,
    l1_se=0.00001,
    relative=0.004,
    largest=0.01,
    mean_baseline=0.2,
    alarms=[],
)
BAD = ZooRow("bad", "version", 60.0, 0, error="Bad is\nrefused.", area="physics", alarms=["growth"])


def test_a_table_has_a_row_for_each_family():
    columns, rows = table(Zoo((GOOD, BAD)))
    assert columns == COLUMNS
    assert all(len(row) == len(columns) for row in rows)
    assert rows[0][2] == "3.10e-04 ± 1.0e-05"
    assert rows[1][2] == "refused"


def test_the_page_shows_areas_errors_and_remarks():
    text = page(Zoo((GOOD, BAD)))
    assert "2 families; L1 ≤ 0.001: 50%, L1 ≤ 0.005: 50%, refused: 50%, over budget: 0%." in text
    assert "defaults, 60 s of budget, 2 threads, seed 0. Each family" in text
    assert text.index("## Physics") < text.index("## Rates")
    assert "| good | closed form | 5 | 3.10e-04 ± 1.0e-05 |" in text
    assert "| bad | – | – | **refused** |" in text
    assert "- bad: error: Bad is refused.\n- bad: `check`, growth" in text
    assert summary_text(Zoo((GOOD, BAD))) in text


def test_a_page_without_remarks_has_no_section_for_them():
    assert "What the program said" not in page(Zoo((GOOD,)))
