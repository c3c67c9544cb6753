"""The explorer's files, by path."""

from feynkac.interfaces.server.pages import read_pages


def test_files_are_read_once_with_their_types(tmp_path):
    (tmp_path / "index.html").write_text("<p>")
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "app.js").write_text("1")
    (tmp_path / "secret.py").write_text("1")
    found = read_pages(tmp_path)
    assert set(found) == {"", "index.html", "assets/app.js"}
    assert found["assets/app.js"].media_type == "text/javascript; charset=utf-8"
    assert found[""].content == b"<p>"


def test_without_a_page_one_says_so(tmp_path):
    assert b"no explorer page" in read_pages(tmp_path / "none")[""].content
