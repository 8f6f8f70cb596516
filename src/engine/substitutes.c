#include "engine/substitutes.h"

#include <string.h>

#include "base/cleanup.h"

/* The first row of a package whose `needs` is installed is taken; NULL: the standard library. */
/* clang-format off */
static const struct {
    const char *name, *needs, *instead;
} rows[] = {
    {"altair",       "matplotlib", "matplotlib.pyplot"},
    {"bokeh",        "matplotlib", "matplotlib.pyplot"},
    {"bs4",          "lxml",       "lxml.html, or html.parser"},
    {"bs4",          NULL,         "html.parser"},
    {"catboost",     "sklearn",    "sklearn.ensemble.HistGradientBoostingClassifier or …Regressor"},
    {"click",        NULL,         "argparse"},
    {"colorama",     NULL,         "print() with codes such as \"\\033[31m\""},
    {"cryptography", NULL,         "hashlib, hmac and secrets"},
    {"Crypto",       NULL,         "hashlib, hmac and secrets"},
    {"cv2",          "PIL",        "PIL.Image, with numpy.asarray(image)"},
    {"django",       NULL,         "http.server"},
    {"docx",         NULL,         "zipfile and xml.etree.ElementTree for such files, or write HTML"},
    {"dotenv",       NULL,         "os.environ; `--env NAME=VALUE` sets a variable"},
    {"duckdb",       NULL,         "sqlite3"},
    {"fastapi",      NULL,         "http.server"},
    {"fastparquet",  NULL,         "to_csv() and read_csv(), or sqlite3"},
    {"faker",        NULL,         "random.choice() of lists of your own"},
    {"flask",        NULL,         "http.server"},
    {"fpdf",         "matplotlib", "matplotlib.backends.backend_pdf.PdfPages"},
    {"gensim",       "sklearn",    "sklearn.feature_extraction.text and sklearn.decomposition"},
    {"imageio",      "PIL",        "PIL.Image"},
    {"ipywidgets",   NULL,         "ordinary variables: there is nobody to move a slider"},
    {"jinja2",       NULL,         "string.Template, or f-strings"},
    {"keras",        "sklearn",    "sklearn.neural_network, or numpy"},
    {"lightgbm",     "sklearn",    "sklearn.ensemble.HistGradientBoostingClassifier or …Regressor"},
    {"loguru",       NULL,         "logging"},
    {"lxml",         NULL,         "xml.etree.ElementTree, or html.parser"},
    {"marshmallow",  NULL,         "dataclasses, and check in __post_init__()"},
    {"mysql",        NULL,         "sqlite3"},
    {"nltk",         NULL,         "re.findall(r\"\\w+\", text) for words, and collections.Counter"},
    {"numba",        "numpy",      "numpy, without the decorators"},
    {"numexpr",      "numpy",      "numpy"},
    {"openpyxl",     NULL,         "to_csv() and read_csv(), or csv"},
    {"peewee",       NULL,         "sqlite3"},
    {"plotly",       "matplotlib", "matplotlib.pyplot"},
    {"plotnine",     "matplotlib", "matplotlib.pyplot"},
    {"polars",       "pandas",     "pandas"},
    {"prettytable",  NULL,         "print() with widths, as in f\"{name:<10}{count:>5}\""},
    {"psutil",       NULL,         "os.cpu_count(), os.getloadavg() and resource.getrusage()"},
    {"psycopg2",     NULL,         "sqlite3"},
    {"pyarrow",      NULL,         "to_csv() and read_csv(), or sqlite3"},
    {"pydantic",     NULL,         "dataclasses, and check in __post_init__()"},
    {"pygame",       "matplotlib", "matplotlib.pyplot: there is no screen"},
    {"pymongo",      NULL,         "sqlite3, or json"},
    {"pymysql",      NULL,         "sqlite3"},
    {"pytest",       NULL,         "unittest"},
    {"redis",        NULL,         "a dict, or sqlite3"},
    {"reportlab",    "matplotlib", "matplotlib.backends.backend_pdf.PdfPages"},
    {"rich",         NULL,         "print()"},
    {"seaborn",      "matplotlib", "matplotlib.pyplot, or `df.plot()` of pandas"},
    {"skimage",      "scipy",      "scipy.ndimage, and PIL.Image"},
    {"spacy",        NULL,         "re.findall(r\"\\w+\", text) for words, and collections.Counter"},
    {"sqlalchemy",   NULL,         "sqlite3"},
    {"sqlmodel",     NULL,         "sqlite3"},
    {"statsmodels",  "scipy",      "scipy.stats, or numpy.linalg.lstsq()"},
    {"streamlit",    "matplotlib", "print() and matplotlib.pyplot"},
    {"tabulate",     "pandas",     "df.to_string(), or print() with widths"},
    {"tensorflow",   "sklearn",    "sklearn.neural_network, or numpy"},
    {"termcolor",    NULL,         "print() with codes such as \"\\033[31m\""},
    {"textblob",     NULL,         "re and collections.Counter"},
    {"torch",        "sklearn",    "sklearn.neural_network, or numpy"},
    {"tqdm",         NULL,         "a plain loop"},
    {"transformers", "sklearn",    "sklearn.feature_extraction.text and sklearn.linear_model"},
    {"typer",        NULL,         "argparse"},
    {"wordcloud",    "matplotlib", "collections.Counter, and matplotlib.pyplot.barh()"},
    {"xgboost",      "sklearn",    "sklearn.ensemble.HistGradientBoostingClassifier or …Regressor"},
    {"xlrd",         NULL,         "read_csv() of a CSV file"},
    {"xlsxwriter",   NULL,         "to_csv(), or csv"},
    {"yaml",         NULL,         "json"},
};
/* clang-format on */

static bool is_installed(const char *name, const struct span *installed, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (span_is(installed[i], name))
            return true;
    return false;
}

/* The name between the quotes behind `begin`, up to its first dot. */
static struct span name_behind(struct span message, const char *begin)
{
    size_t n = strlen(begin);
    struct span name = {message.data ? message.data + n : "", 0};

    if (message.len < n || memcmp(message.data, begin, n) != 0)
        return (struct span){"", 0};
    while (name.len < message.len - n && !strchr(".'", name.data[name.len]))
        name.len++;
    return name;
}

const char *substitute_in(struct span message, const struct span *installed, size_t n_installed)
{
    struct span name = name_behind(message, "No module named '");

    if (!name.len)
        name = name_behind(message, "Missing optional dependency '");
    for (size_t i = 0; name.len && i < ARRAY_SIZE(rows); i++)
        if (span_is(name, rows[i].name) &&
            (!rows[i].needs || is_installed(rows[i].needs, installed, n_installed)))
            return rows[i].instead;
    return NULL;
}
