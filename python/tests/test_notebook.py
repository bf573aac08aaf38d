"""The notebook runs from its beginning to its end."""

import pathlib

import pytest

NOTEBOOK = pathlib.Path(__file__).parent.parent / "notebooks" / "fstat2.ipynb"


def test_the_notebook_runs(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert (tmp_path / "fstat2.png").stat().st_size > 5000
    printed = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any(" cells" in str(output.get("data", "")) for output in printed)
    assert not any(output["output_type"] == "error" for output in printed)
