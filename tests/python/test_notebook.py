# SPDX-License-Identifier: MIT
"""docs/python.md as a notebook: its examples run as cells, and headless Chromium shows the page of a run and a graph's picture.

Skips where a package is missing: python3-nbconvert, python3-ipykernel (scripts/deps --python), selenium and Chromium (--report).
"""

import doctest
import pathlib
import shutil

import pytest

nbformat = pytest.importorskip("nbformat", reason="no nbconvert: scripts/deps --python")
nbconvert = pytest.importorskip("nbconvert", reason="no nbconvert: scripts/deps --python")
pytest.importorskip("ipykernel", reason="no ipykernel: scripts/deps --python")
pytest.importorskip("selenium", reason="no selenium: scripts/deps --report")
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait


@pytest.fixture
def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000"):
        options.add_argument(argument)
    try:
        driver = webdriver.Chrome(options=options)
    except Exception as error:
        pytest.skip(f"no browser: {str(error).splitlines()[0]}")
    yield driver
    driver.quit()


def cells():
    """The examples of the page that raise nothing, and then what a notebook shows of a run and of a graph."""
    examples = doctest.DocTestParser().get_examples(pathlib.Path("docs/python.md").read_text())
    sources = [each.source for each in examples if each.exc_msg is None]
    return [nbformat.v4.new_code_cell(source) for source in [*sources, "run", "graph"]]


def test_a_notebook_shows_the_report_of_a_run_and_the_picture_of_a_graph(browser, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path("python").resolve()))
    notebook = nbformat.v4.new_notebook(cells=cells())
    nbconvert.preprocessors.ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(tmp_path)}})
    run, graph = ("".join(notebook.cells[place].outputs[0]["data"].get("text/html", "")) for place in (-2, -1))
    if not run:
        pytest.skip("a build without what draws: scripts/deps --report")
    assert ("<svg" in graph) == (shutil.which("dot") is not None) and "rectified" in graph
    page = tmp_path / "notebook.html"
    page.write_text(nbconvert.HTMLExporter().from_notebook_node(notebook)[0])

    browser.get(page.as_uri())
    browser.switch_to.frame(browser.find_element("tag name", "iframe"))
    state = "return document.documentElement.dataset.ready"
    WebDriverWait(browser, 120).until(lambda driver: driver.execute_script(state) in ("all", "failed"))
    assert browser.execute_script(state) == "all"
    assert "tiles" in browser.find_element("id", "title").text
    assert "bound" in browser.find_element("id", "verdict").text.lower()
    if shutil.which("dot"):
        browser.switch_to.default_content()
        assert browser.find_element("css selector", "svg text").is_displayed()
