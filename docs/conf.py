"""How the site is built: `make docs`. Nothing is fetched, warnings are errors, and all code on the pages runs."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import gplens  # noqa: E402

project = "gplens"
author = "The gplens developers"
project_copyright = author
version = release = gplens.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "plain_docstrings",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "katex_math",
    "run_code",
    "run_plain_blocks",
    "repository_links",
]
exclude_patterns = ["_build", "_extensions", "stand_ins", "examples", "auto_examples/**/*.py.md5"]
nitpick_ignore_regex = [(r"py:(class|obj|exc)", r".*")]  # annotations name torch, numpy and rooms that are not public

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_inherit_docstrings = False  # what every kernel or link has in common is said once, at the base class
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
maximum_signature_line_length = 120
napoleon_numpy_docstring = False

html_math_renderer = "katex"
html_theme = "pydata_sphinx_theme"
html_title = "gplens"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "gplens"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "search_bar_text": "Type a question ...",
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "show_toc_level": 1,
    "secondary_sidebar_items": {
        page: ["page-toc"]  # long pages; the others have room for code instead
        for page in ("[A-Z]*", "api/**", "project/**")
    },
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": [], "start": []}
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = "div:not(.output) > div.highlight > pre"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("axes_scraper",),
    "reset_modules": (),
    "capture_repr": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 10**6,  # seconds: times are those of the machine that builds the site
    "remove_config_comments": True,
    "within_subsection_order": "gallery_order.GalleryOrder",
    "thumbnail_size": (640, 440),
}
