"""Sphinx's settings for the site; build.py stages the pages beside it."""

from importlib.metadata import version as version_of

project, author = "Rampion", "The Rampion authors"
copyright = author  # noqa: A001 - Sphinx asks for this name
release = version_of("rampion")
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.autosectionlabel",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
]
autosectionlabel_prefix_document = True
exclude_patterns = ["_build"]
suppress_warnings = ["autosectionlabel.*", "myst.header", "mystnb.unknown_mime_type"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_show_tb = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False

smartquotes = False  # -- is an option
html_theme = "furo"
html_title, html_favicon, html_logo = "Rampion", "_static/rampion.svg", "_static/rampion.svg"
html_static_path = ["_static"]
html_css_files, html_js_files = ["site.css"], ["site.js"]
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
